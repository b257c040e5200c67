"""The two processor configurations of the public checkpoints (256/224 with crop; 224 x 224 exact)."""

from __future__ import annotations

from pathlib import Path

from transformers import BitImageProcessor
from transformers.models.dinov3_vit.image_processing_dinov3_vit import DINOv3ViTImageProcessor

IMAGENET_MEAN = [0.485, 0.456, 0.406]
IMAGENET_STD = [0.229, 0.224, 0.225]


def save_processor(model_type: str, folder: Path) -> None:
    """Writes preprocessor_config.json as Transformers itself saves it."""
    if model_type.startswith("dinov3"):
        processor = DINOv3ViTImageProcessor()
    else:
        size, crop = {"shortest_edge": 256}, {"height": 224, "width": 224}
        processor = BitImageProcessor(size=size, crop_size=crop, image_mean=IMAGENET_MEAN, image_std=IMAGENET_STD)
    processor.save_pretrained(folder)
