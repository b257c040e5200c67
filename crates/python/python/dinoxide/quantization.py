"""What `quantization_config=` of `from_pretrained` may be: torchao's configs, by their names and options.

| config | precision | a weight |
| --- | --- | --- |
| `Int4WeightOnlyConfig` | `int4` | 4 bits, a scale and a zero for each output and group of inputs |
| `Int8WeightOnlyConfig` | `int8` | 8 bits, one scale an output; activations in 8 bits |
| `Int8DynamicActivationInt8WeightConfig` | `int8` | the same |
| `Int8DynamicActivationInt4WeightConfig` | `int4-a8` | as `int4`; activations in 8 bits |

torchao's own objects work as well, and so do those that hold them in Transformers: what counts is the name of
the class and its attributes. An option that is not computed here is a `ValueError`.
Source: `utils/quantization_config.py` of Transformers 5.24.0, `quant_api.py` of torchao 0.18.0.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

METHOD = "torchao"
# The largest number of inputs in a group.
MAX_GROUP_SIZE = 1 << 20
# torchao's classes and the engine's names of their precisions.
PRECISIONS = {
    "Int4WeightOnlyConfig": "int4",
    "Int8WeightOnlyConfig": "int8",
    "Int8DynamicActivationInt8WeightConfig": "int8",
    "Int8DynamicActivationInt4WeightConfig": "int4-a8",
}
# Options of which one value is computed, by its name.
ONLY = {"int4_packing_format": "PLAIN", "int4_choose_qparams_algorithm": "TINYGEMM", "granularity": "PerRow"}
# torchao's classes of options that are written by name.
ENUMS = {
    "int4_packing_format": "Int4PackingFormat",
    "int4_choose_qparams_algorithm": "Int4ChooseQParamsAlgorithm",
    "act_mapping_type": "MappingType",
}


@dataclass(frozen=True)
class PerRow:
    """One scale for each output of a layer, or each row of activations."""

    dim: int = -1


@dataclass
class WeightConfig:
    """What torchao's configs have in common: options as attributes, written as torchao writes them."""

    version: ClassVar[int] = 2

    def __post_init__(self) -> None:
        scheme(self)

    def to_dict(self) -> dict[str, Any]:
        """The object as it stands in `config.json`: `_type`, `_version`, `_data`."""
        data = {field.name: encode(field.name, getattr(self, field.name)) for field in fields(self)}
        return {"_type": type(self).__name__, "_version": self.version, "_data": data}


@dataclass
class Int4WeightOnlyConfig(WeightConfig):
    """Weights in 4 bits, activations in f32.

    Args:
        group_size: Inputs that share a scale and a zero, from 1 to 1048576.
        set_inductor_config: Kept and written; has no effect.
        int4_packing_format: `"plain"`.
        int4_choose_qparams_algorithm: `"tinygemm"`.
        int4_tile_packed_ntile: Kept and written; has no effect.

    Raises:
        ValueError: another packing or algorithm, or a group that is no whole number of inputs.
    """

    group_size: int = 128
    set_inductor_config: bool = True
    int4_packing_format: Any = "plain"
    int4_choose_qparams_algorithm: Any = "tinygemm"
    int4_tile_packed_ntile: int = 8


@dataclass
class Int8WeightOnlyConfig(WeightConfig):
    """Weights in 8 bits, one scale an output. Activations of these layers are made bytes too, as they come.

    Args:
        group_size: `None`.
        granularity: `PerRow()`.
        set_inductor_config: Kept and written; has no effect.

    Raises:
        ValueError: groups, or another granularity.
    """

    group_size: int | None = None
    granularity: Any = PerRow()
    set_inductor_config: bool = True


@dataclass
class Int8DynamicActivationInt8WeightConfig(WeightConfig):
    """Weights in 8 bits, one scale an output; activations of these layers are made bytes as they come.

    Args:
        act_mapping_type: Kept and written; has no effect, as a row of activations has a scale and a zero.
        weight_only_decode: `False`.
        granularity: `PerRow()`.
        set_inductor_config: Kept and written; has no effect.
        reduce_range: `False`: products of bytes do not overflow on any processor.

    Raises:
        ValueError: another value.
    """

    act_mapping_type: Any = "symmetric"
    weight_only_decode: bool = False
    granularity: Any = PerRow()
    set_inductor_config: bool = True
    reduce_range: bool | None = False


@dataclass
class Int8DynamicActivationInt4WeightConfig(WeightConfig):
    """Weights in 4 bits, activations of these layers in 8 bits, found as they come.

    Args:
        group_size: Inputs that share a scale and a zero, from 1 to 1048576.
        set_inductor_config: Kept and written; has no effect.

    Raises:
        ValueError: a group that is no whole number of inputs.
    """

    group_size: int = 32
    set_inductor_config: bool = True


CLASSES: dict[str, type[WeightConfig]] = {
    config.__name__: config
    for config in (
        Int4WeightOnlyConfig,
        Int8WeightOnlyConfig,
        Int8DynamicActivationInt8WeightConfig,
        Int8DynamicActivationInt4WeightConfig,
    )
}


class TorchAoConfig:
    """A config of torchao, as Transformers passes it: `TorchAoConfig(Int4WeightOnlyConfig(group_size=128))`.

    Args:
        quant_type: How weights are held: one of this module's configs or of torchao's.
        modules_to_not_convert: `None`: all linear layers are converted.
        include_input_output_embeddings: `False`: embeddings stay f32.
        untie_embedding_weights: Kept and written; has no effect.

    Raises:
        ValueError: `quant_type` is a string, or an option that is not computed.
        TypeError: `quant_type` is no config.
    """

    def __init__(
        self,
        quant_type: Any,
        modules_to_not_convert: list[str] | None = None,
        include_input_output_embeddings: bool = False,
        untie_embedding_weights: bool = False,
        **kwargs: Any,
    ) -> None:
        self.quant_method = METHOD
        self.quant_type = quant_type
        self.modules_to_not_convert = modules_to_not_convert
        self.include_input_output_embeddings = include_input_output_embeddings
        self.untie_embedding_weights = untie_embedding_weights
        precision_of(self)

    def to_dict(self) -> dict[str, Any]:
        """The object as it stands in `config.json` under `quantization_config`."""
        output = copy.deepcopy(self.__dict__)
        output["quant_type"] = {"default": config_to_dict(self.quant_type)}
        return output

    @classmethod
    def from_dict(cls, config_dict: Mapping[str, Any]) -> TorchAoConfig:
        """The config that `to_dict` gave.

        Raises:
            ValueError: another `quant_method`, a class that is not known, or an option that is not computed.
        """
        values = dict(config_dict)
        precision_of(values)
        default = values.pop("quant_type")["default"]
        return cls(
            CLASSES[default["_type"]](
                **{name: decode(name, value) for name, value in default["_data"].items()}
            ),
            **values,
        )

    def to_json_string(self, use_diff: bool = True) -> str:
        """`to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=2, sort_keys=True) + "\n"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TorchAoConfig) and self.__dict__ == other.__dict__

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.to_json_string()}"


def precision_of(config: Any) -> tuple[str, int | None]:
    """The engine's precision for a config, and the inputs of a group where there are groups.

    Args:
        config: A `TorchAoConfig`, of this module or Transformers', what it holds, or its `to_dict()`.

    Raises:
        ValueError: a string, another method than torchao, or an option that is not computed.
        TypeError: anything else.
    """
    if isinstance(config, str):
        raise ValueError(f"`{config}` is text: give a config, such as Int4WeightOnlyConfig(group_size=128)")
    options = (
        dict(config) if isinstance(config, Mapping) else vars(config) if hasattr(config, "__dict__") else {}
    )
    method = options.get("quant_method")
    if method is None:
        return scheme(config)
    if str(getattr(method, "value", method)) != METHOD:
        raise ValueError(f"`quant_method` must be {METHOD!r}, got {str(getattr(method, 'value', method))!r}")
    for name in ("modules_to_not_convert", "include_input_output_embeddings"):
        if options.get(name):
            raise ValueError(f"`{name}` is not supported: all linear layers are converted, and nothing else")
    inner = options.get("quant_type")
    if isinstance(config, Mapping):
        inner = inner.get("default") if isinstance(inner, Mapping) and len(inner) == 1 else inner
        if not isinstance(inner, Mapping) or not isinstance(inner.get("_data"), Mapping):
            raise ValueError(
                f"`quant_type` must have one key, `default`, with `_type` and `_data`, got {inner!r}"
            )
    return precision_of(inner) if isinstance(inner, str) else scheme(inner)


def scheme(config: Any) -> tuple[str, int | None]:
    """The same for one of torchao's configs: an object, or `_type` and `_data` of a file."""
    if isinstance(config, Mapping):
        name, options = str(config.get("_type")), dict(config.get("_data", {}))
    else:
        name, options = type(config).__name__, dict(getattr(config, "__dict__", {}))
    precision = PRECISIONS.get(name)
    if precision is None:
        known = ", ".join(PRECISIONS)
        kind: type[Exception] = (
            ValueError if name.endswith("Config") or isinstance(config, Mapping) else TypeError
        )
        raise kind(f"a quantization config must be one of {known}, got {name}")
    for option, only in ONLY.items():
        values = options.get(option)
        for value in values if isinstance(values, (list, tuple)) else [values]:
            if value is not None and name_of(value).upper() != only.upper():
                raise ValueError(f"`{option}` of {name} must be {only}, got {name_of(value)}")
    for option in ("weight_only_decode", "reduce_range"):
        if options.get(option):
            raise ValueError(f"`{option}` of {name} must be False, got {options[option]!r}")
    return precision, group_size_of(name, precision, options.get("group_size"))


def group_size_of(name: str, precision: str, group_size: Any) -> int | None:
    """The inputs of a group, where the precision has groups."""
    if precision == "int8":
        if group_size is not None:
            raise ValueError(
                f"`group_size` of {name} must be None, as there is one scale an output, got {group_size!r}"
            )
        return None
    if group_size is None:
        return 128 if name == Int4WeightOnlyConfig.__name__ else 32
    if (
        isinstance(group_size, bool)
        or not isinstance(group_size, int)
        or not 1 <= group_size <= MAX_GROUP_SIZE
    ):
        raise ValueError(
            f"`group_size` of {name} must be a whole number from 1 to {MAX_GROUP_SIZE}, got {group_size!r}"
        )
    return group_size


def name_of(value: Any) -> str:
    """What an option's value is called: text itself, an enum's member, else the class."""
    if isinstance(value, Mapping):
        data = value.get("_data")
        return data if isinstance(data, str) else str(value.get("_type"))
    name = getattr(value, "name", value)
    return name if isinstance(name, str) else type(value).__name__


def config_to_dict(config: Any) -> dict[str, Any]:
    """One of torchao's configs as it stands in `config.json`."""
    if isinstance(config, WeightConfig):
        return config.to_dict()
    data = {
        name: encode(name, value)
        for name, value in vars(config).items()
        if name != "version" and not name.startswith("_")
    }
    return {"_type": type(config).__name__, "_version": getattr(config, "version", 1), "_data": data}


def encode(option: str, value: Any) -> Any:
    """An option's value as torchao writes it."""
    if option == "granularity" and value is not None:
        if isinstance(value, (list, tuple)):
            return [encode(option, item) for item in value]
        return {"_type": "PerRow", "_version": 1, "_data": {"dim": getattr(value, "dim", -1)}}
    if option in ENUMS and value is not None:
        return {"_type": ENUMS[option], "_data": name_of(value).upper()}
    return value


def decode(option: str, value: Any) -> Any:
    """The inverse of `encode`."""
    if isinstance(value, list):
        return [decode(option, item) for item in value]
    if option == "granularity" and isinstance(value, Mapping):
        return PerRow(**value.get("_data", {}))
    return name_of(value).lower() if isinstance(value, Mapping) else value
