"""Makes fixtures/end_to_end: from the file of a photograph to pooler_output, through processor and model.

    python make_end_to_end.py

One safetensors, a tensor [D] each, named `<fixture>/<picture>`. The fixtures' own preprocessor_config.json is used
(256/224 with crop, or 224 x 224), so the fixtures must be there first.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
import transformers
from transformers import AutoImageProcessor, AutoModel
from transformers.image_utils import load_image

from common import FIXTURES, ROOT, Tensors, quiet, save_tensors

MODELS = ("dinov2-518", "dinov2-with-registers-518", "dinov3-vit-16", "dinov3-vit", "dinov3-convnext")


def photographs() -> list[Path]:
    """The photographs of the repository."""
    return sorted(path for path in (ROOT / "pictures").iterdir() if path.suffix in (".jpg", ".png"))


def embeddings(fixture: str) -> Tensors:
    """pooler_output of every photograph, one at a time."""
    folder = FIXTURES / fixture
    processor = AutoImageProcessor.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    kept: Tensors = {}
    for path in photographs():
        inputs = processor(load_image(str(path)), return_tensors="pt")
        kept[f"{fixture}/{path.name}"] = model(**inputs).pooler_output[0]
    return kept


def likeness(kept: Tensors) -> float:
    """The largest cosine between two photographs: how easily one could be taken for another."""
    vectors = torch.nn.functional.normalize(torch.stack(list(kept.values())).double(), dim=-1)
    cosines = vectors @ vectors.T - 2 * torch.eye(len(vectors), dtype=torch.float64)
    return float(cosines.max())


def main() -> None:
    quiet()
    transformers.utils.logging.set_verbosity_error()
    tensors: Tensors = {}
    closest: dict[str, float] = {}
    for fixture in MODELS:
        kept = embeddings(fixture)
        closest[fixture] = round(likeness(kept), 5)
        tensors |= kept
    metadata = {"what": "pooler_output of photographs", "largest_cosine_between_pictures": json.dumps(closest)}
    save_tensors(FIXTURES / "end_to_end" / "pooler_output.safetensors", tensors, metadata)
    print(len(tensors), "embeddings", closest)


if __name__ == "__main__":
    main()
