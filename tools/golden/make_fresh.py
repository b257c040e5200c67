"""Writes crates/checkpoint/tests/data/fresh.json: how Transformers fills every tensor of a fresh model, by class.

    python make_fresh.py

For each class: the config, and for each tensor of the saved file its name, shape and what was observed in it: a constant,
or a normal distribution of some standard deviation, cut at 2 or not. The configs have a large initializer_range,
so that the cut shows, and every random tensor has enough elements to tell.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file

from common import ROOT, quiet

OUT = ROOT / "crates/checkpoint/tests/data/fresh.json"
STD, CUT = 1.5, 2.0
LEAST = 64
"""Elements below which a cut could go unseen: a normal one stays within the cut with probability 0.82^64 = 2e-6."""

TRANSFORMER = dict(
    hidden_size=64, num_hidden_layers=2, num_attention_heads=2, image_size=28, patch_size=4, initializer_range=STD, layerscale_value=0.3
)
DINOV2 = TRANSFORMER | dict(mlp_ratio=2, id2label={i: f"c{i}" for i in range(3)}, label2id={f"c{i}": i for i in range(3)})
DINOV3 = TRANSFORMER | dict(intermediate_size=96, num_register_tokens=4, key_bias=True, use_gated_mlp=True)
CONVNEXT = dict(hidden_sizes=[8, 16], depths=[1, 2], initializer_range=STD, layer_scale_init_value=0.25)

CASES = {
    "Dinov2Model": DINOV2,
    "Dinov2ForImageClassification": DINOV2 | dict(use_swiglu_ffn=True),
    "Dinov2Backbone": DINOV2,
    "Dinov2WithRegistersModel": DINOV2,
    "Dinov2WithRegistersForImageClassification": DINOV2,
    "Dinov2WithRegistersBackbone": DINOV2,
    "DINOv3ViTModel": DINOV3,
    "DINOv3ViTBackbone": DINOV3,
    "DINOv3ConvNextModel": CONVNEXT,
    "DINOv3ConvNextBackbone": CONVNEXT,
}


def observed(name: str, values: torch.Tensor) -> dict[str, object]:
    """What a tensor of a fresh model holds."""
    first = values.flatten()[0].item()
    if bool((values == first).all()):
        return {"kind": "constant", "value": first}
    if values.numel() < LEAST:
        raise ValueError(f"{name}: {values.numel()} elements are too few")
    largest = values.abs().max().item()
    return {"kind": "truncated_normal" if largest <= CUT else "normal", "std": STD}


def case(kind: str, options: dict[str, object]) -> dict[str, object]:
    """A fresh model of the class, as its saved file has it."""
    model_class = getattr(transformers, kind)
    torch.manual_seed(0)
    model = model_class(model_class.config_class(**options))
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        tensors = load_file(Path(folder) / "model.safetensors")
        config = json.loads((Path(folder) / "config.json").read_text())
    rows = [{"name": name, "shape": list(values.shape)} | observed(name, values) for name, values in sorted(tensors.items())]
    return {"class": kind, "config": config, "tensors": rows}


def main() -> None:
    quiet()
    cases = [case(kind, options) for kind, options in CASES.items()]
    lines = ",\n".join(json.dumps(entry) for entry in cases)
    OUT.write_text(f'{{"transformers": "{transformers.__version__}", "cases": [\n{lines}\n]}}\n')
    print(f"{len(cases)} classes, {OUT.stat().st_size / 1e3:.0f} kB in {OUT.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
