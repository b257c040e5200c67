"""What models give: objects with named fields that also index like tuples and like dictionaries, as
Transformers' do."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, fields
from typing import Any, NoReturn

__all__ = [
    "BackboneOutput",
    "BaseModelOutputWithPooling",
    "BaseModelOutputWithPoolingAndNoAttention",
    "DINOv3ViTBackboneOutput",
    "ImageClassifierOutput",
    "ModelOutput",
]


class ModelOutput(OrderedDict[str, Any]):
    """Fields by name (`outputs.pooler_output`, `outputs["pooler_output"]`) and by place (`outputs[0]`,
    `outputs[:2]`).

    A field that was not asked for is `None` as an attribute, and is not there otherwise: places and keys
    count only the others. `to_tuple()` unpacks.
    """

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            value = self.__dict__.get(field.name)
            if value is not None:
                super().__setitem__(field.name, value)

    def __getitem__(self, key: str | int | slice) -> Any:
        if isinstance(key, str):
            return super().__getitem__(key)
        return self.to_tuple()[key]

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        super().__setattr__(key, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if value is not None and any(field.name == name for field in fields(self)):  # type: ignore[arg-type]
            super().__setitem__(name, value)
        super().__setattr__(name, value)

    def __reduce__(self) -> Any:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]

    def to_tuple(self) -> tuple[Any, ...]:
        """The fields that are there."""
        return tuple(self.values())

    def _refuse(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise TypeError(f"the fields of a {type(self).__name__} cannot be taken out")

    __delitem__ = pop = popitem = setdefault = update = _refuse


@dataclass(eq=False)
class BaseModelOutputWithPooling(ModelOutput):
    """What a ViT gives.

    - `last_hidden_state` [B, S, D]: after the final norm; CLS, registers, patches row by row.
    - `pooler_output` [B, D]: the first token of it.
    - `hidden_states`: L + 1 arrays [B, S, D], the embedding output first, the last one before the final norm.
    - `attentions`: L arrays [B, A, S, S], after the softmax.
    """

    last_hidden_state: Any = None
    pooler_output: Any = None
    hidden_states: tuple[Any, ...] | None = None
    attentions: tuple[Any, ...] | None = None


@dataclass(eq=False)
class BaseModelOutputWithPoolingAndNoAttention(ModelOutput):
    """What a ConvNeXt gives.

    - `last_hidden_state` [B, 1 + h·w, C]: the pooled vector, then the places of the last map, after the final
      norm.
    - `pooler_output` [B, C]: the first of it.
    - `hidden_states`: the input picture, then the map [B, C, H, W] of each stage.
    """

    last_hidden_state: Any = None
    pooler_output: Any = None
    hidden_states: tuple[Any, ...] | None = None


@dataclass(eq=False)
class ImageClassifierOutput(ModelOutput):
    """What a classifier gives.

    - `loss`: one number, when there were labels.
    - `logits` [B, labels], before any softmax.
    - `hidden_states`, `attentions`: as those of the model below.
    """

    loss: Any = None
    logits: Any = None
    hidden_states: tuple[Any, ...] | None = None
    attentions: tuple[Any, ...] | None = None


@dataclass(eq=False)
class BackboneOutput(ModelOutput):
    """What a backbone gives.

    - `feature_maps`: one a chosen stage, [B, D, H, W], or [B, S, D] where the config says so.
    - `hidden_states`, `attentions`: as those of the model.
    """

    feature_maps: tuple[Any, ...] | None = None
    hidden_states: tuple[Any, ...] | None = None
    attentions: tuple[Any, ...] | None = None


@dataclass(eq=False)
class DINOv3ViTBackboneOutput(BackboneOutput):
    """A `BackboneOutput` with `cls_tokens` [B, D], one a chosen stage, where `config.return_class_token` is
    set."""

    cls_tokens: tuple[Any, ...] | None = None
