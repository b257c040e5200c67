"""DINOv2 and DINOv3 on the CPU, with the numbers of Hugging Face Transformers, without PyTorch."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ._native import __version__

# Names by the module that has them: each is imported when it is first used, so that `import dinoxide` alone
# takes no time.
_NAMES: dict[str, str] = {
    "AutoConfig": "configuration",
    "DINOv3ConvNextConfig": "configuration",
    "DINOv3ViTConfig": "configuration",
    "Dinov2Config": "configuration",
    "Dinov2WithRegistersConfig": "configuration",
    "PreTrainedConfig": "configuration",
    "PretrainedConfig": "configuration",
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
    from .configuration import (
        AutoConfig as AutoConfig,
        DINOv3ConvNextConfig as DINOv3ConvNextConfig,
        DINOv3ViTConfig as DINOv3ViTConfig,
        Dinov2Config as Dinov2Config,
        Dinov2WithRegistersConfig as Dinov2WithRegistersConfig,
        PreTrainedConfig as PreTrainedConfig,
        PretrainedConfig as PretrainedConfig,
    )
    from .quantization import (
        Int4WeightOnlyConfig as Int4WeightOnlyConfig,
        Int8DynamicActivationInt4WeightConfig as Int8DynamicActivationInt4WeightConfig,
        Int8DynamicActivationInt8WeightConfig as Int8DynamicActivationInt8WeightConfig,
        Int8WeightOnlyConfig as Int8WeightOnlyConfig,
        PerRow as PerRow,
        TorchAoConfig as TorchAoConfig,
    )
    from .features import BatchFeature as BatchFeature
    from .image_processing import AutoImageProcessor as AutoImageProcessor
    from .image_processing import BaseImageProcessor as BaseImageProcessor
    from .image_processing import BitImageProcessor as BitImageProcessor
    from .image_processing import DINOv3ViTImageProcessor as DINOv3ViTImageProcessor
    from .image_utils import load_image as load_image
    from .pipelines import ImageClassificationPipeline as ImageClassificationPipeline
    from .pipelines import ImageFeatureExtractionPipeline as ImageFeatureExtractionPipeline
    from .pipelines import Pipeline as Pipeline
    from .pipelines import pipeline as pipeline
