"""DINOv2 and DINOv3 on the CPU, with the numbers of Hugging Face Transformers, without PyTorch."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ._native import __version__

# Names by the module that has them: each is imported when it is first used, so that `import dinoxide` alone
# takes no time.
_NAMES: dict[str, str] = {
    "AutoBackbone": "auto",
    "AutoModel": "auto",
    "AutoModelForImageClassification": "auto",
    "AutoConfig": "configuration",
    "DINOv3ConvNextConfig": "configuration",
    "DINOv3ViTConfig": "configuration",
    "Dinov2Config": "configuration",
    "Dinov2WithRegistersConfig": "configuration",
    "PreTrainedConfig": "configuration",
    "PretrainedConfig": "configuration",
    "DINOv3ConvNextBackbone": "families",
    "DINOv3ConvNextModel": "families",
    "DINOv3ViTBackbone": "families",
    "DINOv3ViTModel": "families",
    "Dinov2Backbone": "families",
    "Dinov2ForImageClassification": "families",
    "Dinov2Model": "families",
    "Dinov2WithRegistersBackbone": "families",
    "Dinov2WithRegistersForImageClassification": "families",
    "Dinov2WithRegistersModel": "families",
    "PreTrainedModel": "modeling",
    "inference_mode": "modeling",
    "no_grad": "modeling",
    "BackboneOutput": "outputs",
    "BaseModelOutputWithPooling": "outputs",
    "BaseModelOutputWithPoolingAndNoAttention": "outputs",
    "DINOv3ViTBackboneOutput": "outputs",
    "ImageClassifierOutput": "outputs",
    "ModelOutput": "outputs",
    "set_seed": "randomness",
    "Tensor": "tensors",
    "Int4WeightOnlyConfig": "quantization",
    "Int8DynamicActivationInt4WeightConfig": "quantization",
    "Int8DynamicActivationInt8WeightConfig": "quantization",
    "Int8WeightOnlyConfig": "quantization",
    "PerRow": "quantization",
    "TorchAoConfig": "quantization",
    "BatchFeature": "features",
    "BaseImageProcessor": "image_processing",
    "BitImageProcessor": "image_processing",
    "DINOv3ViTImageProcessor": "image_processing",
    "AutoImageProcessor": "image_processing",
    "load_image": "image_utils",
    "pipeline": "pipelines",
    "Pipeline": "pipelines",
    "ImageClassificationPipeline": "pipelines",
    "ImageFeatureExtractionPipeline": "pipelines",
}

__all__ = ["__version__", *_NAMES]


def __getattr__(name: str) -> object:
    module = _NAMES.get(name)
    if module is None:
        raise AttributeError(f"module 'dinoxide' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_NAMES])


if TYPE_CHECKING:
    from .auto import (
        AutoBackbone as AutoBackbone,
        AutoModel as AutoModel,
        AutoModelForImageClassification as AutoModelForImageClassification,
    )
    from .configuration import (
        AutoConfig as AutoConfig,
        Dinov2Config as Dinov2Config,
        Dinov2WithRegistersConfig as Dinov2WithRegistersConfig,
        DINOv3ConvNextConfig as DINOv3ConvNextConfig,
        DINOv3ViTConfig as DINOv3ViTConfig,
        PreTrainedConfig as PreTrainedConfig,
        PretrainedConfig as PretrainedConfig,
    )
    from .families import (
        Dinov2Backbone as Dinov2Backbone,
        Dinov2ForImageClassification as Dinov2ForImageClassification,
        Dinov2Model as Dinov2Model,
        Dinov2WithRegistersBackbone as Dinov2WithRegistersBackbone,
        Dinov2WithRegistersForImageClassification as Dinov2WithRegistersForImageClassification,
        Dinov2WithRegistersModel as Dinov2WithRegistersModel,
        DINOv3ConvNextBackbone as DINOv3ConvNextBackbone,
        DINOv3ConvNextModel as DINOv3ConvNextModel,
        DINOv3ViTBackbone as DINOv3ViTBackbone,
        DINOv3ViTModel as DINOv3ViTModel,
    )
    from .features import BatchFeature as BatchFeature
    from .image_processing import (
        AutoImageProcessor as AutoImageProcessor,
        BaseImageProcessor as BaseImageProcessor,
        BitImageProcessor as BitImageProcessor,
        DINOv3ViTImageProcessor as DINOv3ViTImageProcessor,
    )
    from .image_utils import load_image as load_image
    from .modeling import (
        PreTrainedModel as PreTrainedModel,
        inference_mode as inference_mode,
        no_grad as no_grad,
    )
    from .outputs import (
        BackboneOutput as BackboneOutput,
        BaseModelOutputWithPooling as BaseModelOutputWithPooling,
        BaseModelOutputWithPoolingAndNoAttention as BaseModelOutputWithPoolingAndNoAttention,
        DINOv3ViTBackboneOutput as DINOv3ViTBackboneOutput,
        ImageClassifierOutput as ImageClassifierOutput,
        ModelOutput as ModelOutput,
    )
    from .pipelines import (
        ImageClassificationPipeline as ImageClassificationPipeline,
        ImageFeatureExtractionPipeline as ImageFeatureExtractionPipeline,
        Pipeline as Pipeline,
        pipeline as pipeline,
    )
    from .quantization import (
        Int4WeightOnlyConfig as Int4WeightOnlyConfig,
        Int8DynamicActivationInt4WeightConfig as Int8DynamicActivationInt4WeightConfig,
        Int8DynamicActivationInt8WeightConfig as Int8DynamicActivationInt8WeightConfig,
        Int8WeightOnlyConfig as Int8WeightOnlyConfig,
        PerRow as PerRow,
        TorchAoConfig as TorchAoConfig,
    )
    from .randomness import (
        set_seed as set_seed,
    )
    from .tensors import (
        Tensor as Tensor,
    )
