"""The models by Transformers' names."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

import numpy as np

from .configuration import (
    Dinov2Config,
    Dinov2WithRegistersConfig,
    DINOv3ConvNextConfig,
    DINOv3ViTConfig,
    PreTrainedConfig,
)
from .modeling import PreTrainedModel, mask
from .outputs import (
    BackboneOutput,
    BaseModelOutputWithPooling,
    BaseModelOutputWithPoolingAndNoAttention,
    DINOv3ViTBackboneOutput,
    ImageClassifierOutput,
    ModelOutput,
)
from .tensors import numeric

__all__ = [
    "DINOv3ConvNextBackbone",
    "DINOv3ConvNextModel",
    "DINOv3ViTBackbone",
    "DINOv3ViTModel",
    "Dinov2Backbone",
    "Dinov2ForImageClassification",
    "Dinov2Model",
    "Dinov2WithRegistersBackbone",
    "Dinov2WithRegistersForImageClassification",
    "Dinov2WithRegistersModel",
]


class Dinov2Model(PreTrainedModel[BaseModelOutputWithPooling]):
    """DINOv2 without anything on top."""

    config_class: ClassVar[type[PreTrainedConfig]] = Dinov2Config
    head = "model"
    output_class = BaseModelOutputWithPooling

    def forward(
        self,
        pixel_values: Any = None,
        bool_masked_pos: Any = None,
        attention_mask: Any = None,
        *,
        output_hidden_states: bool | list[int] | None = None,
        output_attentions: bool | None = None,
        return_dict: bool | None = None,
    ) -> BaseModelOutputWithPooling:
        """Runs the model.

        - `pixel_values` [B, C, H, W]: any batch, any size of at least one patch.
        - `bool_masked_pos` [B, N] over the patches, row by row: those that the mask token replaces.
        - `attention_mask` [B, 1 + registers + N]: the tokens that are attended to.
        - `output_hidden_states`: all, or those of a list of places, negative ones from the end.
        - `output_attentions`: also the probabilities, whose memory is quadratic in the tokens.
        - `return_dict=False` gives a tuple.

        Gives a `BaseModelOutputWithPooling`, of torch's tensors where `pixel_values` was one. An item's
        numbers do not depend on the rest of the batch, nor on the number of threads.
        """
        return self._run(
            pixel_values,
            bool_masked_pos=mask(bool_masked_pos, "bool_masked_pos"),
            attention_mask=mask(attention_mask, "attention_mask"),
            output_hidden_states=output_hidden_states,
            output_attentions=output_attentions,
            return_dict=return_dict,
        )


class Dinov2WithRegistersModel(Dinov2Model):
    """DINOv2 with register tokens, which stand between CLS and the patches."""

    config_class: ClassVar[type[PreTrainedConfig]] = Dinov2WithRegistersConfig


class DINOv3ViTModel(PreTrainedModel[BaseModelOutputWithPooling]):
    """DINOv3, the vision transformers."""

    config_class: ClassVar[type[PreTrainedConfig]] = DINOv3ViTConfig
    head = "model"
    output_class = BaseModelOutputWithPooling

    def forward(
        self,
        pixel_values: Any = None,
        bool_masked_pos: Any = None,
        *,
        output_hidden_states: bool | list[int] | None = None,
        output_attentions: bool | None = None,
        return_dict: bool | None = None,
    ) -> BaseModelOutputWithPooling:
        """Runs the model on `pixel_values` [B, C, H, W]; `bool_masked_pos` [B, N] marks patches that the mask
        token replaces.

        The other arguments and what is given are those of `Dinov2Model.forward`; S is 1 +
        `config.num_register_tokens` + N.
        """
        return self._run(
            pixel_values,
            bool_masked_pos=mask(bool_masked_pos, "bool_masked_pos"),
            output_hidden_states=output_hidden_states,
            output_attentions=output_attentions,
            return_dict=return_dict,
        )


class DINOv3ConvNextModel(PreTrainedModel[BaseModelOutputWithPoolingAndNoAttention]):
    """DINOv3, the ConvNeXts."""

    config_class: ClassVar[type[PreTrainedConfig]] = DINOv3ConvNextConfig
    head = "model"
    output_class = BaseModelOutputWithPoolingAndNoAttention

    def forward(
        self,
        pixel_values: Any = None,
        *,
        output_hidden_states: bool | list[int] | None = None,
        return_dict: bool | None = None,
    ) -> BaseModelOutputWithPoolingAndNoAttention:
        """Runs the model on `pixel_values` [B, C, H, W] of at least one place of the last map (32 × 32 pixels
        with four stages).

        Gives a `BaseModelOutputWithPoolingAndNoAttention`.
        """
        return self._run(pixel_values, output_hidden_states=output_hidden_states, return_dict=return_dict)


class Dinov2ForImageClassification(PreTrainedModel[ImageClassifierOutput]):
    """DINOv2 with a linear classifier over CLS and the mean of the patches."""

    config_class: ClassVar[type[PreTrainedConfig]] = Dinov2Config
    head = "classifier"
    output_class = ImageClassifierOutput

    def forward(
        self,
        pixel_values: Any = None,
        labels: Any = None,
        attention_mask: Any = None,
        *,
        bool_masked_pos: Any = None,
        num_items_in_batch: int | None = None,
        output_hidden_states: bool | list[int] | None = None,
        output_attentions: bool | None = None,
        return_dict: bool | None = None,
    ) -> ImageClassifierOutput:
        """Runs model and classifier.

        `labels` asks for the loss: classes [B] (-100 is left out), or values [B] or [B, labels] for
        regression and several labels; which it is `config.problem_type` says, or where that is absent the
        kind of the labels. The other arguments are those of `Dinov2Model.forward`. Gives an
        `ImageClassifierOutput`.
        """
        return self._run(
            pixel_values,
            labels=_labels(labels),
            problem_type=None if labels is None else self.config.problem_type,
            num_items_in_batch=_items(num_items_in_batch),
            bool_masked_pos=mask(bool_masked_pos, "bool_masked_pos"),
            attention_mask=mask(attention_mask, "attention_mask"),
            output_hidden_states=output_hidden_states,
            output_attentions=output_attentions,
            return_dict=return_dict,
        )


class Dinov2WithRegistersForImageClassification(Dinov2ForImageClassification):
    """DINOv2 with registers and a linear classifier over CLS and the mean of the patches."""

    config_class: ClassVar[type[PreTrainedConfig]] = Dinov2WithRegistersConfig


Maps = TypeVar("Maps", bound=BackboneOutput)


class Backbone(PreTrainedModel[Maps]):
    """What all backbones can do: feature maps of chosen stages, which `config.out_features` or `out_indices`
    name."""

    head = "backbone"
    output_class: ClassVar[type[ModelOutput]] = BackboneOutput

    @property
    def stage_names(self) -> list[str]:
        """The names of all stages, `stem` first."""
        return list(self.config.stage_names)

    @property
    def out_features(self) -> list[str]:
        """The names of the chosen stages, in order."""
        return list(self.config.out_features or ())

    @out_features.setter
    def out_features(self, names: list[str]) -> None:
        self._select(list(names), None)
        self.config.out_features = list(names)

    @property
    def out_indices(self) -> list[int]:
        """The places of the chosen stages among all."""
        return list(self.config.out_indices or ())

    @out_indices.setter
    def out_indices(self, places: list[int]) -> None:
        self._select(None, list(places))
        self.config.out_indices = list(places)

    @property
    def num_features(self) -> list[int]:
        """The channels of all stages."""
        return self._network.num_features

    @property
    def channels(self) -> list[int]:
        """The channels of the chosen stages."""
        features = dict(zip(self.stage_names, self.num_features, strict=True))
        return [features[name] for name in self.out_features]

    @property
    def out_feature_channels(self) -> dict[str, int]:
        """The channels of each stage by its name."""
        return dict(zip(self.stage_names, self.num_features, strict=True))

    def forward(
        self,
        pixel_values: Any = None,
        attention_mask: Any = None,
        *,
        output_hidden_states: bool | list[int] | None = None,
        output_attentions: bool | None = None,
        return_dict: bool | None = None,
    ) -> Maps:
        """Runs the backbone on `pixel_values` [B, C, H, W]; the maps have H and W over the patch (ConvNeXt:
        over the stage's strides), rounded down. `attention_mask` is for the DINOv2 families. Gives a
        `BackboneOutput`."""
        return self._run(
            pixel_values,
            attention_mask=mask(attention_mask, "attention_mask"),
            output_hidden_states=output_hidden_states,
            output_attentions=output_attentions,
            return_dict=return_dict,
        )


class Dinov2Backbone(Backbone[BackboneOutput]):
    """DINOv2 as a backbone."""

    config_class: ClassVar[type[PreTrainedConfig]] = Dinov2Config


class Dinov2WithRegistersBackbone(Backbone[BackboneOutput]):
    """DINOv2 with registers as a backbone."""

    config_class: ClassVar[type[PreTrainedConfig]] = Dinov2WithRegistersConfig


class DINOv3ViTBackbone(Backbone[DINOv3ViTBackboneOutput]):
    """DINOv3's vision transformers as backbones; with `config.return_class_token` also the class token of
    every chosen stage."""

    config_class: ClassVar[type[PreTrainedConfig]] = DINOv3ViTConfig
    output_class = DINOv3ViTBackboneOutput


class DINOv3ConvNextBackbone(Backbone[BackboneOutput]):
    """DINOv3's ConvNeXts as backbones."""

    config_class: ClassVar[type[PreTrainedConfig]] = DINOv3ConvNextConfig


def _labels(labels: Any) -> Any:
    """Labels as the engine takes them: classes in 64 bits, or values in f32."""
    if labels is None:
        return None
    array = numeric(labels, "labels")
    whole = array.dtype.kind in "iub"
    return np.ascontiguousarray(array, dtype=np.int64 if whole else np.float32)


def _items(count: Any) -> int | None:
    """`num_items_in_batch` as a number, given as one, a float or a tensor.

    Raises `ValueError` for what is no whole number from 0 on.
    """
    number = count.item() if hasattr(count, "item") else count
    if number is None or (isinstance(number, (int, float)) and number >= 0 and number == number // 1):
        return None if number is None else int(number)
    raise ValueError(f"num_items_in_batch must be a whole number from 0 on, got {count!r}")
