"""The base of all configs: what every family has, reading and writing.

A config is its attributes. They have the names and defaults of Transformers' configs, unknown keyword
arguments become attributes as well, and `to_json_string` writes what Transformers writes. The engine's rules
hold when a config is made, saved or handed to a model: a value of a wrong type or out of range is a
`ValueError` that names the key, what is expected and what was given.
Source: `configuration_utils.py`, `backbone_utils.py` of Transformers 5.24.0.
"""

from __future__ import annotations

import copy
import functools
import inspect
import json
import math
import os
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from . import _native
from .hub import hub_options, refuse_upload
from .messages import logger, tell

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: object) -> Any:
        return lambda cls: cls


Self = TypeVar("Self", bound="PreTrainedConfig")

# The version of Transformers whose defaults and form are followed.
TRANSFORMERS_VERSION = "5.24.0"
# The key of the object that stands for a float JSON does not have.
FLOAT_TAG = "__float__"
# Most bytes of a JSON file that is read here, as the engine's limit of configs.
MAX_JSON_BYTES = 4 << 20
# Attributes that are never written.
NOT_WRITTEN = ("_attn_implementation",)
# Keys of files that are read past.
FORGOTTEN = frozenset(
    {"model_type", "experts_implementation", "_commit_hash", "_attn_implementation_internal"}
)
# Arguments that are no fields of their own: they set others.
DERIVED = ("num_labels", "out_features", "out_indices", "output_attentions", "name_or_path")
# What old files say about the generation of text, which Transformers takes out of a config.
GENERATION = frozenset(
    """
    max_length min_length do_sample use_cache early_stopping num_beams temperature top_k top_p typical_p
    repetition_penalty length_penalty no_repeat_ngram_size encoder_no_repeat_ngram_size bad_words_ids
    num_return_sequences output_scores return_dict_in_generate forced_bos_token_id forced_eos_token_id
    remove_invalid_values exponential_decay_length_penalty suppress_tokens begin_suppress_tokens
    epsilon_cutoff eta_cutoff encoder_repetition_penalty num_assistant_tokens
    num_assistant_tokens_schedule num_beam_groups assistant_confidence_threshold assistant_lookbehind
    target_lookbehind diversity_penalty
    """.split()
)


@dataclass_transform(kw_only_default=True, eq_default=False)
class PreTrainedConfig:
    """What the configs of all families share.

    Args:
        transformers_version: The version of Transformers that wrote the file the config was read from.
        architectures: Names of the model classes that were saved, such as `["Dinov2Model"]`.
        output_hidden_states: Whether every forward returns the hidden states of all layers.
        return_dict: Whether a forward returns an object with names rather than a plain tuple.
        dtype: The number format of the weights: `"float32"`, `"float16"`, `"bfloat16"` or `"float64"`.
        chunk_size_feed_forward: Kept and written; has no effect.
        is_encoder_decoder: Kept and written; has no effect.
        id2label: The classifier's labels by index. By default `LABEL_0` and `LABEL_1`.
        label2id: The indices by label.
        problem_type: What the classifier's numbers mean: `"regression"`, `"single_label_classification"` or
            `"multi_label_classification"`. By default the labels that are given decide.
        num_labels: Number of classes; where `id2label` has another, labels become `LABEL_0`, `LABEL_1`, ….
        out_features: Stages a backbone returns, by name, in order. By default the last.
        out_indices: The same by index, 0 being the stem; negative ones count from the end.
        output_attentions: Whether every forward returns the attention probabilities.
        name_or_path: Where the config was loaded from.

    Raises:
        ValueError: a value of a wrong type or out of range.
    """

    __signature__: ClassVar[inspect.Signature]
    model_type: ClassVar[str] = ""
    """The family's name in `config.json`."""

    transformers_version: str | None = None
    architectures: list[str] | None = None
    output_hidden_states: bool | None = False
    return_dict: bool | None = True
    dtype: Any = None
    chunk_size_feed_forward: int = 0
    is_encoder_decoder: bool = False
    id2label: dict[int, str] | None = None
    label2id: dict[str, int] | None = None
    problem_type: str | None = None

    if TYPE_CHECKING:  # Arguments like the others; attributes that follow from others.
        num_labels: int = 2
        out_features: list[str] | None = None
        out_indices: Sequence[int] | None = None
        output_attentions: bool | None = False
        name_or_path: str = ""

        def __getattr__(self, name: str) -> Any: ...

    else:

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            if args:
                raise ValueError(
                    f"{type(self).__name__} takes keyword arguments only, got {len(args)} without a keyword"
                )
            for name, default in self.default_fields().items():
                setattr(self, name, kwargs.pop(name, default))
            self.set_common(kwargs)
            self.check()

    def __init_subclass__(cls) -> None:
        """Gives the class the signature that `help` and `inspect` show."""
        keyword = inspect.Parameter.KEYWORD_ONLY
        fields = {**cls.default_fields(), **dict.fromkeys(DERIVED)}
        fields.update(output_attentions=False, name_or_path="")
        parameters = [inspect.Parameter(name, keyword, default=default) for name, default in fields.items()]
        parameters.append(inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD))
        cls.__signature__ = inspect.Signature(parameters)

    @classmethod
    def default_fields(cls) -> dict[str, Any]:
        """The fields of the class and their defaults, in order."""
        names = [
            name
            for base in reversed(cls.__mro__)
            for name, annotation in inspect.get_annotations(base).items()
            if not str(annotation).startswith("ClassVar") and name not in DERIVED
        ]
        return {name: getattr(cls, name) for name in names}

    def set_common(self, kwargs: dict[str, Any]) -> None:
        """Sets what follows from other arguments, and keeps those that are unknown."""
        torch_dtype = kwargs.pop("torch_dtype", None)
        if self.dtype is None:
            self.dtype = torch_dtype
        count = kwargs.get("num_labels")
        if self.id2label is None:
            self.num_labels = 2 if count is None else count
        else:
            if count is not None and len(self.id2label) != count:
                logger.warning(
                    "`num_labels` is %s where `id2label` has %s, and replaces them", count, len(self.id2label)
                )
            self.id2label = integer_keys(self.id2label)
        self._name_or_path = str(kwargs.pop("name_or_path", ""))
        self._output_attentions = kwargs.pop("output_attentions", False)
        self._attn_implementation = kwargs.pop("attn_implementation", None)
        for name, value in kwargs.items():
            if name not in GENERATION and name not in FORGOTTEN:
                setattr(self, name, value)

    def check(self) -> None:
        """Holds the config to the engine's rules.

        Raises:
            ValueError: a value of a wrong type or out of range.
        """
        self.check_attention(self.output_attentions)
        if self.model_type:
            self._to_native()

    def check_attention(self, output_attentions: bool | None) -> None:
        """Attention probabilities need the eager form."""
        chosen = self._attn_implementation
        if output_attentions and chosen not in (None, "eager"):
            raise ValueError(f'`output_attentions` needs `attn_implementation` to be "eager", got "{chosen}"')

    def _to_native(self) -> str:
        """The config as JSON for the engine, which has checked it."""
        return _native.read_config(self.engine_json())

    def engine_json(self, **others: Any) -> str:
        """The config as JSON that the engine has yet to check, with other values for some keys.

        What JSON cannot hold is there as its `repr`, so that the engine can say what it got.
        """
        return json.dumps(encode_floats({**self.to_diff_dict(), **others}), default=repr)

    if not TYPE_CHECKING:

        @property
        def num_labels(self) -> int | None:
            """Number of classes: the length of `id2label`. Setting another number sets all labels anew."""
            return None if self.id2label is None else len(self.id2label)

        @num_labels.setter
        def num_labels(self, num_labels: int) -> None:
            if self.id2label is None or len(self.id2label) != num_labels:
                if isinstance(num_labels, bool) or not isinstance(num_labels, int) or num_labels < 0:
                    raise ValueError(f"`num_labels` must be a whole number, got {num_labels!r}")
                self.id2label = {index: f"LABEL_{index}" for index in range(num_labels)}
                self.label2id = {label: index for index, label in self.id2label.items()}

        @property
        def output_attentions(self) -> bool | None:
            """Whether every forward returns the attention probabilities, which chooses eager attention."""
            return self._output_attentions

        @output_attentions.setter
        def output_attentions(self, value: bool | None) -> None:
            self.check_attention(value)
            if value:
                self._attn_implementation = "eager"
            self._output_attentions = value

        @property
        def name_or_path(self) -> str:
            """Where the config was loaded from."""
            return self._name_or_path

        @name_or_path.setter
        def name_or_path(self, value: object) -> None:
            self._name_or_path = str(value)

    @property
    def use_return_dict(self) -> bool | None:
        """The older name of `return_dict`."""
        warnings.warn("`use_return_dict` is deprecated: use `return_dict`", FutureWarning, stacklevel=2)
        return self.return_dict

    @property
    def torch_dtype(self) -> Any:
        """The older name of `dtype`."""
        warnings.warn("`torch_dtype` is deprecated: use `dtype`", FutureWarning, stacklevel=2)
        return self.dtype

    @torch_dtype.setter
    def torch_dtype(self, value: Any) -> None:
        warnings.warn("`torch_dtype` is deprecated: use `dtype`", FutureWarning, stacklevel=2)
        self.dtype = value

    def to_dict(self) -> dict[str, Any]:
        """All attributes and `model_type`, as they are written: tuples as lists, a dtype by its name."""
        output = copy.deepcopy(self.__dict__)
        output["model_type"] = type(self).model_type
        output["transformers_version"] = TRANSFORMERS_VERSION
        output["output_attentions"] = output.pop("_output_attentions")
        if "stage_names" in output:
            output["out_features"] = output.pop("_out_features")
            output["out_indices"] = output.pop("_out_indices")
        for name in NOT_WRITTEN:
            output.pop(name, None)
        quantization = output.get("quantization_config")
        if quantization is not None and hasattr(quantization, "to_dict"):
            output["quantization_config"] = quantization.to_dict()
        output["dtype"] = dtype_name(output["dtype"])
        return {name: plain(value) for name, value in output.items()}

    def to_diff_dict(self) -> dict[str, Any]:
        """What `config.json` holds: attributes that all configs share only where they are not the default."""
        defaults = common_defaults()
        output = {
            name: value
            for name, value in self.to_dict().items()
            if name not in defaults or value != defaults[name] or name == "transformers_version"
        }
        output.pop("_name_or_path", None)
        return output

    def to_json_string(self, use_diff: bool = True) -> str:
        """The text of `config.json`; with `use_diff=False` all attributes."""
        output = self.to_diff_dict() if use_diff else self.to_dict()
        return json.dumps(encode_floats(output), indent=2, sort_keys=True) + "\n"

    def to_json_file(self, json_file_path: str | os.PathLike[str], use_diff: bool = True) -> None:
        """Writes `to_json_string` to a file."""
        with open(json_file_path, "w", encoding="utf-8") as file:
            file.write(self.to_json_string(use_diff=use_diff))

    def save_pretrained(
        self, save_directory: str | os.PathLike[str], push_to_hub: bool = False, **kwargs: Any
    ) -> None:
        """Writes `config.json` to a folder, which is made where there is none.

        Raises:
            ValueError: a value of a wrong type or out of range, or `push_to_hub`.
            OSError: the file cannot be written.
        """
        refuse_upload({"push_to_hub": push_to_hub})
        self.check()
        self.to_json_string()  # values that JSON cannot hold are refused
        _native.save_config(self._to_native(), os.fspath(save_directory))

    @classmethod
    def get_config_dict(
        cls, pretrained_model_name_or_path: str | os.PathLike[str], **kwargs: Any
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """What a checkpoint's `config.json` holds, and the arguments that do not say where it is."""
        source = os.fspath(pretrained_model_name_or_path)
        options = hub_options(kwargs)
        if os.path.isfile(source):
            text = read_text(source)
        else:
            text, messages = _native.open_config(source, options)
            tell(messages)
        config = parse(text, source)
        if kwargs.get("model_type", config.get("model_type")) != config.get("model_type"):
            config["model_type"] = kwargs["model_type"]
        return config, kwargs

    @classmethod
    def from_pretrained(
        cls: type[Self],
        pretrained_model_name_or_path: str | os.PathLike[str],
        cache_dir: str | os.PathLike[str] | None = None,
        force_download: bool = False,
        local_files_only: bool = False,
        token: str | bool | None = None,
        revision: str = "main",
        **kwargs: Any,
    ) -> Self:
        """The config of a checkpoint: a folder, a `config.json`, a model id of the Hub, or `builtin:tiny`.

        Args:
            cache_dir: Where downloads are kept, instead of the Hub's usual cache.
            local_files_only: Whether the cache must do.
            token: The Hub's token; `True` or `None` for the one of this machine, `False` for none.
            revision: Branch, tag or commit.
            subfolder: Where the file is inside the checkpoint.
            return_unused_kwargs: Whether arguments that the config does not have are returned beside it.
            kwargs: Other values for attributes of the config. Those it does not have are left out.

        Returns:
            The config; with `return_unused_kwargs=True` a tuple of it and a dictionary.

        Raises:
            FileNotFoundError: no such folder or no `config.json` in it.
            OSError: the checkpoint cannot be downloaded, the file cannot be read.
            ValueError: a value of a wrong type or out of range, another `model_type`.
        """
        where = {
            "cache_dir": cache_dir,
            "force_download": force_download,
            "local_files_only": local_files_only,
        }
        config, kwargs = cls.get_config_dict(
            pretrained_model_name_or_path, token=token, revision=revision, **where, **kwargs
        )
        if config.get("model_type", cls.model_type) != cls.model_type:
            logger.warning(
                "a config of type `%s` is read as one of type `%s`", config["model_type"], cls.model_type
            )
        return cls.from_dict(config, **kwargs)

    @classmethod
    def from_dict(cls: type[Self], config_dict: dict[str, Any], **kwargs: Any) -> Self:
        """A config by its attributes, and other values for some of them; see `from_pretrained`."""
        return_unused = kwargs.pop("return_unused_kwargs", False)
        values = dict(config_dict)
        for name in ("num_labels", "attn_implementation", "output_attentions", "name_or_path"):
            if name in kwargs:
                values[name] = kwargs.pop(name)
        for name in ("torch_dtype", "dtype"):
            if kwargs.get(name, "auto") != "auto":
                values["dtype"] = kwargs[name]
            kwargs.pop(name, None)
        values.pop("model_type", None)
        config = cls(**values)
        known = [name for name in kwargs if hasattr(config, name)]
        for name in known:
            setattr(config, name, kwargs.pop(name))
        if known:
            config.check()
        return cast(Self, (config, kwargs)) if return_unused else config

    @classmethod
    def from_json_file(cls: type[Self], json_file: str | os.PathLike[str]) -> Self:
        """The config that a JSON file holds."""
        return cls.from_dict(parse(read_text(json_file), os.fspath(json_file)))

    def update(self, config_dict: dict[str, Any]) -> None:
        """Sets attributes from a dictionary."""
        for name, value in config_dict.items():
            setattr(self, name, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PreTrainedConfig) and self.__dict__ == other.__dict__

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.to_json_string()}"

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__)


@functools.cache
def common_defaults() -> dict[str, Any]:
    """What a config of no family writes: the values that `config.json` leaves out."""
    return PreTrainedConfig().to_dict()


def parse(text: str, source: str) -> dict[str, Any]:
    """The object of a `config.json`."""
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise OSError(f"`{source}` is not valid JSON: {error}") from error
    if not isinstance(config, dict):
        raise OSError(f"`{source}` is not a JSON object")
    return cast("dict[str, Any]", decode_floats(config))


def read_text(path: str | os.PathLike[str]) -> str:
    """A text file, of `MAX_JSON_BYTES` at most; what is none is an `OSError`."""
    with open(path, "rb") as file:
        data = file.read(MAX_JSON_BYTES + 1)
    if len(data) > MAX_JSON_BYTES:
        raise OSError(f"`{os.fsdecode(path)}` is larger than MAX_JSON_BYTES, {MAX_JSON_BYTES} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise OSError(f"`{os.fsdecode(path)}` is not UTF-8: {error}") from error


def integer_keys(labels: Any) -> dict[int, str]:
    """Labels by index; in JSON the indices are text."""
    try:
        return {int(index): label for index, label in labels.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"`id2label` must be a dictionary of labels by index, got {labels!r}") from error


def dtype_name(dtype: Any) -> str | None:
    """The name of a dtype that is given as text, torch's or numpy's."""
    if dtype is None or isinstance(dtype, str):
        return dtype
    return str(getattr(dtype, "__name__", dtype)).rpartition(".")[2]


def plain(value: Any) -> Any:
    """Tuples as lists."""
    return [plain(item) for item in value] if isinstance(value, tuple) else value


def encode_floats(value: Any) -> Any:
    """A value with those floats that JSON does not have as objects."""
    if isinstance(value, float) and not math.isfinite(value):
        return {FLOAT_TAG: "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}
    if isinstance(value, dict):
        return {key: encode_floats(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode_floats(item) for item in value]
    return value


def decode_floats(value: Any) -> Any:
    """The inverse of `encode_floats`."""
    if isinstance(value, dict):
        if list(value) == [FLOAT_TAG] and value[FLOAT_TAG] in ("NaN", "Infinity", "-Infinity"):
            return float(value[FLOAT_TAG])
        return {key: decode_floats(item) for key, item in value.items()}
    return [decode_floats(item) for item in value] if isinstance(value, list) else value
