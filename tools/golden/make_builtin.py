"""Makes the model that is built into the command: a small DINOv2 with registers, with random weights.

    python make_builtin.py

It knows nothing about the world; it is there so that everything can be tried without a download. Its weights are
scaled so that different pictures get clearly different vectors: little of what all pictures share (tokens, biases),
and a final norm whose bias takes away the mean vector of the photographs and of their quarters.
Also makes fixtures/builtin: goldens for a plain forward and for the photographs.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import torch
import transformers
from PIL import Image
from transformers import AutoImageProcessor, PreTrainedModel
from transformers.image_utils import load_image

from common import FIXTURES, ROOT, Tensors, quiet, save_tensors, seed_of
from forward import Run, golden
from make_end_to_end import likeness, photographs
from processors import save_processor
from weights import Scales, fill

NAME = "builtin"
FOLDER = ROOT / "crates" / "dinoxide" / "builtin"
MAX_BYTES = 2_500_000
SCALES = Scales(token=0.1, bias=0.05, layer_scale=0.7, overrides={"position_embeddings": 3.0})
RUNS = (
    Run("224", 224, 224, what="the stored grid, 16 x 16"),
    Run("nonsquare", 140, 98, what="10 x 7 patches"),
    Run("nonmultiple", 100, 75, batch=2, what="7 x 5 patches, pixels ignored"),
)


def build() -> PreTrainedModel:
    """The model before calibration."""
    config = transformers.Dinov2WithRegistersConfig(
        hidden_size=96, num_hidden_layers=4, num_attention_heads=3, patch_size=14, image_size=224, num_register_tokens=4
    )
    model = transformers.Dinov2WithRegistersModel(config).eval()
    fill(model, seed_of(NAME), SCALES)
    return model


def quarters(picture: Image.Image) -> list[Image.Image]:
    """The picture and its four quarters."""
    w, h = picture.width // 2, picture.height // 2
    return [picture] + [picture.crop((x, y, x + w, y + h)) for y in (0, h) for x in (0, w)]


def calibrate(model: PreTrainedModel, folder: Path) -> None:
    """Moves the mean vector of many pictures to zero, through the bias of the final norm."""
    processor = AutoImageProcessor.from_pretrained(folder)
    pictures = [part for path in photographs() for part in quarters(load_image(str(path)))]
    vectors = torch.cat([model(**processor(p, return_tensors="pt")).pooler_output for p in pictures])
    model.layernorm.bias -= vectors.mean(dim=0)


def embeddings(model: PreTrainedModel, folder: Path) -> Tensors:
    """pooler_output of the photographs."""
    processor = AutoImageProcessor.from_pretrained(folder)
    return {
        f"{NAME}/{path.name}": model(**processor(load_image(str(path)), return_tensors="pt")).pooler_output[0]
        for path in photographs()
    }


def main() -> None:
    quiet()
    shutil.rmtree(FOLDER, ignore_errors=True)
    shutil.rmtree(FIXTURES / NAME, ignore_errors=True)
    model = build()
    save_processor(model.config.model_type, FOLDER)
    calibrate(model, FOLDER)
    model.save_pretrained(FOLDER)
    for path in FOLDER.iterdir():
        path.chmod(0o644)
    size = (FOLDER / "model.safetensors").stat().st_size
    if size > MAX_BYTES:
        raise ValueError(f"{size} bytes")
    model = type(model).from_pretrained(FOLDER, dtype=torch.float32).eval()
    for run in RUNS:
        tensors, metadata = golden(model, NAME, run)
        save_tensors(FIXTURES / NAME / f"golden-{run.name}.safetensors", tensors, metadata | {"fixture": NAME})
    kept = embeddings(model, FOLDER)
    save_tensors(FIXTURES / NAME / "photographs.safetensors", kept, {"what": "pooler_output of photographs"})
    print(f"{size / 1e6:.2f} MB, largest cosine between two photographs {likeness(kept):.3f}")


if __name__ == "__main__":
    main()
