"""The Auto classes: the class that a checkpoint asks for."""

from __future__ import annotations

import os
from typing import Any, ClassVar, NoReturn

from . import families
from .configuration import PreTrainedConfig
from .modeling import PreTrainedModel, model_type_of

__all__ = ["AutoBackbone", "AutoModel", "AutoModelForImageClassification"]


class _Auto:
    """Chooses one of its classes by `model_type`."""

    classes: ClassVar[dict[str, type[PreTrainedModel[Any]]]]

    def __init__(self) -> NoReturn:
        raise OSError(
            f"{type(self).__name__} is made by {type(self).__name__}.from_pretrained(…) or .from_config(…)"
        )

    @classmethod
    def _class_for(cls, model_type: str) -> type[PreTrainedModel[Any]]:
        if (found := cls.classes.get(model_type)) is not None:
            return found
        raise ValueError(f"{cls.__name__} has no class for a {model_type}: only for {', '.join(cls.classes)}")

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: str | os.PathLike[str], **kwargs: Any) -> Any:
        """Opens a checkpoint as the class that its `model_type` asks for;
        arguments are those of `PreTrainedModel.from_pretrained`."""
        source = os.fspath(pretrained_model_name_or_path)
        chosen = cls._class_for(model_type_of(source, kwargs))
        return chosen._opened(source, kwargs.pop("config", None), kwargs)

    @classmethod
    def from_config(cls, config: PreTrainedConfig, **kwargs: Any) -> Any:
        """A model with random weights, as `Class(config)`."""
        if not isinstance(config, PreTrainedConfig):
            raise ValueError(f"{cls.__name__}.from_config takes a config, got a {type(config).__name__}")
        return cls._class_for(config.model_type)(config, **kwargs)


class AutoModel(_Auto):
    """The bare model of any family."""

    classes = {
        "dinov2": families.Dinov2Model,
        "dinov2_with_registers": families.Dinov2WithRegistersModel,
        "dinov3_vit": families.DINOv3ViTModel,
        "dinov3_convnext": families.DINOv3ConvNextModel,
    }


class AutoModelForImageClassification(_Auto):
    """The classifier of either DINOv2 family; DINOv3 has none."""

    classes = {
        "dinov2": families.Dinov2ForImageClassification,
        "dinov2_with_registers": families.Dinov2WithRegistersForImageClassification,
    }


class AutoBackbone(_Auto):
    """The backbone of any family."""

    classes = {
        "dinov2": families.Dinov2Backbone,
        "dinov2_with_registers": families.Dinov2WithRegistersBackbone,
        "dinov3_vit": families.DINOv3ViTBackbone,
        "dinov3_convnext": families.DINOv3ConvNextBackbone,
    }
