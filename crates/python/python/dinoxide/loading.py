"""Keyword arguments of `from_pretrained`, and what they are to the engine."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from .checks import checked_count, checked_text
from .configuration import PreTrainedConfig
from .configuration_utils import encode_floats
from .hub import hub_options
from .quantization import precision_of
from .tensors import dtype_name

__all__ = ["Loading", "checked_attention"]

# What has no effect here, because there is one device and one reader of weights.
_WITHOUT_EFFECT = frozenset(
    {
        "device_map",
        "max_memory",
        "offload_folder",
        "offload_state_dict",
        "offload_buffers",
        "low_cpu_mem_usage",
        "weights_only",
        "use_safetensors",
        "tp_plan",
        "tp_size",
        "adapter_kwargs",
        "adapter_name",
        "device_mesh",
        "distributed_config",
        "disable_mmap",
        "experts_implementation",
        "generation_config",
        "mirror",
        "tqdm_class",
        "use_kernels",
        "allow_all_kernels",
        "kernel_config",
        "_commit_hash",
        "_fast_init",
    }
)
# What other libraries call it, and what to say.
_IN_BITS = ("load_in_8bit", "load_in_4bit")
_CODES = "8 and 4 bits: quantization_config=Int8DynamicActivationInt8WeightConfig() or Int4WeightOnlyConfig()"
# What cannot be done; absent or falsy values of it are fine.
_REFUSED = ("variant", "from_tf", "from_flax", "state_dict", "gguf_file", "key_mapping")
# Config settings that a config of its own does not bring along.
_NOT_OVERRIDDEN = ("model_type", "transformers_version", "architectures", "quantization_config")


@dataclass
class Loading:
    """How a model is loaded."""

    options: dict[str, Any]
    attn_implementation: str
    output_loading_info: bool

    @classmethod
    def of(cls, kwargs: dict[str, Any], config: PreTrainedConfig | None) -> Loading:
        """Takes what is known out of `kwargs`; what is left are settings of the config."""
        for name in _IN_BITS:
            if kwargs.pop(name, None):
                raise ValueError(f"{name} is not supported\nhint: {_CODES}")
        for name in _REFUSED:
            if kwargs.pop(name, None):
                raise ValueError(f"{name} is not supported")
        for name in _WITHOUT_EFFECT & kwargs.keys():
            del kwargs[name]
        attn_implementation = checked_attention(
            kwargs.pop("attn_implementation", None) or getattr(config, "_attn_implementation", None)
        )
        output_loading_info = bool(kwargs.pop("output_loading_info", False))
        options = hub_options(kwargs)
        options.update(_numbers(kwargs))
        options["ignore_mismatched_sizes"] = bool(kwargs.pop("ignore_mismatched_sizes", False))
        options["fresh_classifier"] = True
        threads = kwargs.pop("num_threads", None)
        options["num_threads"] = None if threads is None else checked_count(threads, "num_threads")
        options["isa"] = checked_text(kwargs.pop("isa", None), "isa")
        overrides = _settings(config) if config is not None else {}
        overrides.update(kwargs)
        options["overrides"] = json.dumps(encode_floats(overrides), default=plain_number)
        return cls(options, attn_implementation, output_loading_info)


def checked_attention(name: str | dict[str, str] | None) -> str:
    """`attn_implementation`, which is `sdpa` when none is named: here a fused attention of its own."""
    if isinstance(name, dict) and list(name) == [""]:
        name = name[""]  # for the whole model
    if name is None or name == "sdpa":
        return "sdpa"
    if name == "eager":
        return name
    raise ValueError(f'attn_implementation must be "sdpa" or "eager", got {name!r}: the others need a GPU')


def plain_number(value: Any) -> Any:
    """A number or an array of numpy's as Python's; what JSON cannot hold otherwise as its
    `repr`, for the engine to refuse."""
    return value.tolist() if hasattr(value, "tolist") else repr(value)


def _numbers(kwargs: dict[str, Any]) -> dict[str, Any]:
    """What the weights are held in: `dtype` (older: `torch_dtype`) or `quantization_config`."""
    dtype, old = kwargs.pop("dtype", None), kwargs.pop("torch_dtype", None)
    dtype = old if dtype is None else dtype
    quantization = kwargs.pop("quantization_config", None)
    if quantization is not None:
        precision, group_size = precision_of(quantization)
        return {"precision": precision, "group_size": group_size}
    if dtype is None or dtype == "auto":
        return {}
    name = dtype_name(dtype)
    if name is None:
        raise ValueError(f"dtype must be a dtype or its name, got {dtype!r}")
    if name.startswith("int"):
        raise ValueError(f"dtype must be a dtype of floats, got {dtype!r}\nhint: {_CODES}")
    return {"dtype": name}


def _settings(config: PreTrainedConfig) -> dict[str, Any]:
    """A config as settings over a checkpoint's own."""
    settings: dict[str, Any] = json.loads(config._to_native())
    return {name: value for name, value in settings.items() if name not in _NOT_OVERRIDDEN}
