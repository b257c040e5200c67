"""Models, backbones and classifiers: what all of them can do.
The classes by name are in `families`, the Auto classes in `auto`."""

from __future__ import annotations

import contextlib
import copy
import json
import operator
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from . import _native
from .checks import checked_count
from .configuration import AutoConfig, PreTrainedConfig, from_native
from .hub import hub_options, refuse_upload
from .loading import Loading, checked_attention
from .messages import logger, tell
from .outputs import ModelOutput
from .randomness import MAX_SEED, draw_seed
from .tensors import dtype_name, like, loaded_torch, numeric

__all__ = ["Device", "PreTrainedModel", "inference_mode", "no_grad"]

Output = TypeVar("Output", bound=ModelOutput)
Self = TypeVar("Self", bound="PreTrainedModel[Any]")


class Device(str):
    """Where a model is: always `cpu`."""

    __slots__ = ()

    @property
    def type(self) -> str:
        """`cpu`."""
        return str(self)

    @property
    def index(self) -> None:  # type: ignore[override]
        """None, as of torch's `cpu`."""
        return None


@contextlib.contextmanager
def no_grad() -> Iterator[None]:
    """Stands in for torch's where torch is not there. It does nothing: no forward keeps a graph."""
    yield


inference_mode = no_grad


class PreTrainedModel(Generic[Output]):
    """A model with its weights, ready to run. Made by `from_pretrained`, or with random weights by
    `Class(config)`.

    Runs on the CPU, in f32 unless `dtype` or `quantization_config` says otherwise, on all cores unless
    `num_threads` says otherwise; the interpreter is free meanwhile, and Ctrl-C stops a forward. A model may
    be called from several threads, and in forked processes.
    """

    config_class: ClassVar[type[PreTrainedConfig]]
    main_input_name: ClassVar[str] = "pixel_values"
    #: What stands on the body: `model`, `backbone` or `classifier`.
    head: ClassVar[str]
    #: What a forward gives.
    output_class: ClassVar[type[ModelOutput]]

    config: PreTrainedConfig
    training: bool

    def __init__(
        self,
        config: PreTrainedConfig,
        *,
        seed: int | None = None,
        num_threads: int | None = None,
        attn_implementation: str | None = None,
    ) -> None:
        """Random weights for `config`; `seed` decides them (default: see `set_seed`)."""
        if not isinstance(config, self.config_class):
            expected, got = (
                f"{kind.__module__}.{kind.__name__}" for kind in (self.config_class, type(config))
            )
            raise TypeError(f"{type(self).__name__} takes a {expected}, got a {got}")
        seed = draw_seed() if seed is None else checked_count(seed, "seed", MAX_SEED)
        num_threads = None if num_threads is None else checked_count(num_threads, "num_threads")
        network = _native.Network.from_config(config._to_native(), self.head, seed, num_threads)
        self._set_up(network, checked_attention(attn_implementation or config._attn_implementation), config)

    def _set_up(
        self, network: _native.Network, attn_implementation: str, config: PreTrainedConfig | None = None
    ) -> None:
        self._network = network
        self._loaded_config = network.config
        self.config = from_native(self._loaded_config) if config is None else config
        self.attn_implementation = attn_implementation
        self.training = False
        self._origin: tuple[str, dict[str, Any]] | None = None

    # --- loading and saving ---------------------------------------------------------------------------------

    @classmethod
    def from_pretrained(
        cls: type[Self],
        pretrained_model_name_or_path: str | os.PathLike[str],
        *,
        config: PreTrainedConfig | str | os.PathLike[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Opens a checkpoint: a folder, a hub id, or `builtin:tiny`.

        - `dtype`: what weights are rounded to and held in: `"auto"` (default: as the checkpoint says),
          `"float32"`, `"bfloat16"`, `"float16"`, or torch's dtypes.
        - `quantization_config`: `Int4WeightOnlyConfig(group_size=128)`,
          `Int8DynamicActivationInt8WeightConfig()`, …, in a `TorchAoConfig` or not.
        - `attn_implementation`: `"sdpa"` or `"eager"`.
        - `revision`, `subfolder`, `cache_dir`, `local_files_only`, `token`: where the files are.
        - `num_threads`: threads to run on; default, and 0: all cores. `isa`: a level of instructions, such as
          `"avx2"`.
        - `ignore_mismatched_sizes`, `output_loading_info` (gives the model and a dictionary), `config`.
        - any other is a setting of the config: `num_labels=`, `id2label=`, `out_features=`,
          `output_hidden_states=`, ….
        - `device_map` and the like have no effect.

        Raises `OSError` where there is no such checkpoint or it cannot be read, `ValueError` where it is of
        another family or an argument does not fit, `TypeError` for a setting that there is not.
        """
        source = os.fspath(pretrained_model_name_or_path)
        got, expected = model_type_of(source, kwargs), cls.config_class.model_type
        if got != expected:  # before its weights are read
            raise ValueError(f"a {got} checkpoint, expected {expected}\nhint: `AutoModel` takes any family")
        return cls._opened(source, config, kwargs)

    @classmethod
    def _opened(cls: type[Self], source: str, config: Any, kwargs: dict[str, Any]) -> Self:
        """`from_pretrained` of a checkpoint of this family."""
        if isinstance(config, (str, os.PathLike)):
            config = AutoConfig.from_pretrained(config)
        if config is not None and not isinstance(config, PreTrainedConfig):
            raise TypeError(
                f"config must be a config of this package or its folder, got a {type(config).__name__}"
            )
        origin = (source, {"config": config, **kwargs})
        loading = Loading.of(kwargs, config)
        network, told = _native.Network.from_pretrained(source, cls.head, loading.options)
        tell(told)
        model = cls.__new__(cls)
        model._set_up(network, loading.attn_implementation)
        model.config._name_or_path = source
        model._origin = origin
        info: dict[str, Any] = {name: set(keys) for name, keys in network.loading_info.items()}
        info["error_msgs"] = []  # what cannot be loaded is an exception
        model._tell(source, info)
        return (model, info) if loading.output_loading_info else model  # type: ignore[return-value]

    def _tell(self, source: str, info: dict[str, Any]) -> None:
        """Tells of weights that were made anew."""
        fresh = sorted(name for name in info["missing_keys"] if name.startswith("classifier."))
        fresh += sorted(name for name, *_ in info["mismatched_keys"])
        if fresh:
            logger.warning(
                "%s of %s were not in the checkpoint in this shape and are random: "
                "the classifier has to be trained",
                ", ".join(fresh),
                source,
            )

    def save_pretrained(
        self,
        save_directory: str | os.PathLike[str],
        *,
        max_shard_size: int | str | None = None,
        **kwargs: Any,
    ) -> None:
        """Writes `config.json`, weights and, where there is one, `preprocessor_config.json` to a folder, as
        Transformers does: the weights are those of the checkpoint, to the bit, or their codes where
        `quantization_config` was given."""
        refuse_upload(kwargs)
        for name in (
            "is_main_process",
            "safe_serialization",
            "save_original_format",
            "variant",
            "token",
            "state_dict",
        ):
            kwargs.pop(name, None)
        if kwargs:
            raise TypeError(f"save_pretrained() got an unexpected keyword argument {next(iter(kwargs))!r}")
        size = None if max_shard_size is None else str(max_shard_size)
        self._network.save_pretrained(os.fspath(save_directory), size)
        if (config := self.config._to_native()) != from_native(self._loaded_config)._to_native():
            self._save_config(config, os.fspath(save_directory))

    def _save_config(self, config: str, folder: str) -> None:
        """Writes a config that was changed, with what the saved one says of codes."""
        saved: dict[str, Any] = json.loads(_native.open_config(folder, hub_options({}))[0])
        if (codes := saved.get("quantization_config")) is not None:
            config = json.dumps({**json.loads(config), "quantization_config": codes})
        _native.save_config(config, folder)

    def __reduce__(self) -> Any:
        if self._origin is None:
            raise TypeError(
                f"a {type(self).__name__} with random weights cannot be pickled: "
                "save it and pickle its folder's name"
            )
        own = ("_network", "_loaded_config", "_origin")
        state = {name: value for name, value in self.__dict__.items() if name not in own}
        return _reopened, (type(self), *self._origin), state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if (count := state.get("_num_threads")) is not None:
            self._network.set_num_threads(count)
        if (stages := state.get("_stages")) is not None:
            self._network.select_stages(*stages)

    def __copy__(self: Self) -> Self:
        """Another model with the same weights in memory, and the same config."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__, _network=self._network.share())
        return other

    def __deepcopy__(self: Self, memo: dict[int, Any]) -> Self:
        """Another model with a config of its own; the weights, which nothing changes, are the same in
        memory."""
        other = type(self).__new__(type(self))
        memo[id(self)] = other
        own = {name: value for name, value in self.__dict__.items() if name != "_network"}
        other.__dict__.update(copy.deepcopy(own, memo), _network=self._network.share())
        return other

    def _select(self, names: list[str] | None, places: list[int] | None) -> None:
        """Chooses the stages of a backbone."""
        self._network.select_stages(names, places)
        self._stages = (names, places)

    # --- what it is -----------------------------------------------------------------------------------------

    @property
    def device(self) -> Any:
        """`cpu`: torch's where torch is there."""
        torch = loaded_torch()
        return Device("cpu") if torch is None else torch.device("cpu")

    @property
    def dtype(self) -> Any:
        """What the config says that weights are held in: torch's dtype where torch is there, else its name.
        Outputs are f32 always."""
        name = self.config.dtype or "float32"
        torch = loaded_torch()
        return name if torch is None else getattr(torch, str(name), name)

    @property
    def name_or_path(self) -> str:
        """Where it was loaded from."""
        return "" if self._origin is None else self._origin[0]

    @property
    def num_threads(self) -> int:
        """Threads that a forward runs on."""
        return self._network.num_threads

    @num_threads.setter
    def num_threads(self, count: int) -> None:
        count = checked_count(count, "num_threads")
        self._network.set_num_threads(count)
        self._num_threads = count

    @property
    def isa(self) -> str:
        """The level of instructions in use."""
        return self._network.isa

    def linears(self) -> list[tuple[str, str, str | None]]:
        """For each linear layer its weight's name, what it is held in, and why, where that is not what was
        asked."""
        return self._network.linears

    def num_parameters(self, only_trainable: bool = False, exclude_embeddings: bool = False) -> int:
        """How many numbers the weights are."""
        del only_trainable, exclude_embeddings  # all are trainable, and there are no embeddings of words
        return self._network.num_parameters

    def get_memory_footprint(self, return_buffers: bool = True) -> int:
        """Bytes of the weights in memory."""
        del return_buffers
        return self._network.weight_bytes

    def __repr__(self) -> str:
        source = self.name_or_path or "random weights"
        precisions = "/".join(sorted({precision for _, precision, _ in self.linears()}))
        return f"{type(self).__name__}({source!r}, {precisions}, {self.isa}, {self.num_threads} threads)"

    # --- modes ----------------------------------------------------------------------------------------------

    def eval(self: Self) -> Self:
        """Turns train mode off, which it is at first."""
        return self.train(False)

    def train(self: Self, mode: bool = True) -> Self:
        """Turns train mode on: dropout, drop path and RoPE's augmentation, as the config says.
        There is no backward pass."""
        self.training = mode
        return self

    def requires_grad_(self: Self, requires_grad: bool = True) -> Self:
        """Itself: there are no gradients."""
        del requires_grad
        return self

    def to(self: Self, *args: Any, **kwargs: Any) -> Self:
        """Itself: everything runs on the CPU, of which other devices are warned. A dtype other than the
        model's is a `ValueError`: it is chosen when loading."""
        for argument in (*args, *kwargs.values()):
            name = dtype_name(argument)
            is_index = isinstance(argument, int) and not isinstance(argument, bool)  # not `non_blocking=True`
            if is_index or str(argument).partition(":")[0] in ("cuda", "mps", "xpu"):
                warnings.warn(
                    f"there is no device {argument}: everything runs on the CPU", UserWarning, stacklevel=2
                )
            if name in ("float32", "float16", "bfloat16", "float64") and name != (
                self.config.dtype or "float32"
            ):
                raise ValueError(
                    f'the weights\' format is chosen when loading: from_pretrained(..., dtype="{name}")'
                )
        return self

    def cpu(self: Self) -> Self:
        """Itself."""
        return self

    def float(self: Self) -> Self:
        """Itself, when it is in f32."""
        return self.to("float32")

    def half(self: Self) -> Self:
        """Itself, when it is in f16."""
        return self.to("float16")

    def bfloat16(self: Self) -> Self:
        """Itself, when it is in bf16."""
        return self.to("bfloat16")

    def cuda(self: Self, device: Any = None) -> Self:
        """Itself, on the CPU, with a warning."""
        return self.to("cuda" if device is None else device)

    def set_attn_implementation(self, attn_implementation: str) -> None:
        """`"sdpa"`, fused, whose memory is linear in the tokens, or `"eager"`, which makes all
        probabilities."""
        self.attn_implementation = checked_attention(attn_implementation)

    # --- running --------------------------------------------------------------------------------------------

    forward: Callable[..., Output]

    def __call__(self, *args: Any, **kwargs: Any) -> Output:
        """See `forward`."""
        return self.forward(*args, **kwargs)

    def _run(
        self,
        pixel_values: Any,
        *,
        output_hidden_states: bool | list[int] | None = None,
        output_attentions: bool | None = None,
        return_dict: bool | None = None,
        **inputs: Any,
    ) -> Output:
        """Runs, with what the config says where the caller leaves it open; `inputs` are the engine's.
        A tuple where that is asked."""
        if pixel_values is None:
            raise ValueError("pixel_values is missing")
        pixels = numeric(pixel_values, "pixel_values", np.float32)
        if pixels.ndim != 4:
            raise ValueError(f"pixel_values has shape {tuple(pixels.shape)}, expected [B, C, H, W]")
        asked: dict[str, Any] = {name: value for name, value in inputs.items() if value is not None}
        asked["eager"] = self.attn_implementation == "eager"
        asked["output_hidden_states"] = _states(output_hidden_states, self.config.output_hidden_states)
        asked["output_attentions"] = bool(
            self.config.output_attentions if output_attentions is None else output_attentions
        )
        if self.training:
            asked["train_seed"] = draw_seed()
        given = self._network.forward(pixels, asked)
        outputs = self.output_class(**{name: _like(pixel_values, value) for name, value in given.items()})
        as_output = self.config.return_dict if return_dict is None else return_dict
        return outputs if as_output else outputs.to_tuple()  # type: ignore[return-value]


def model_type_of(source: str, kwargs: dict[str, Any]) -> str:
    """The family of a checkpoint, which arguments of `from_pretrained` say where to find."""
    config, _ = _native.open_config(source, hub_options(dict(kwargs)))
    return from_native(config).model_type


def mask(value: Any, name: str) -> Any:
    """A mask [B, N] as the engine takes it: truth values."""
    if value is None:
        return None
    array = numeric(value, name)
    if array.ndim != 2:
        raise ValueError(f"{name} has shape {tuple(array.shape)}, expected [B, N]")
    return array.astype(np.bool_, copy=False)


def _states(asked: Any, config: Any) -> bool | list[int]:
    """`output_hidden_states`: all, none, or a list of places; a number alone counts as in Transformers, 0 as
    none."""
    which = config if asked is None else asked
    if which is None or isinstance(which, (bool, np.bool_)):
        return bool(which)
    if isinstance(which, (int, np.integer)):
        return [int(which)] if which else False
    return [operator.index(place) for place in which]


def _like(reference: object, value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(like(reference, array) for array in value)
    return like(reference, np.asarray(value, dtype=np.float32))


def _reopened(cls: type[PreTrainedModel[Any]], source: str, kwargs: dict[str, Any]) -> PreTrainedModel[Any]:
    """What pickling a model comes to: opening its checkpoint again."""
    kwargs = {name: value for name, value in kwargs.items() if name != "output_loading_info"}
    model: PreTrainedModel[Any] = cls.from_pretrained(source, **kwargs)
    return model
