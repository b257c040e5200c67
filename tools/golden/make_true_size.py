"""Makes random checkpoints of the true sizes, with goldens, outside the repository (about 1.5 GB).

    python make_true_size.py OUT_DIR [NAME...]      without names: all

Configurations are those of the public checkpoints. The weights are random but kept in the range where
activations stay of order 1 through all layers, so that an absolute bound means the same at every depth.
Each folder loads like a public one; `golden-*.safetensors` are for `dinoxide verify`.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import torch
import transformers
from transformers import PreTrainedConfig, PreTrainedModel

from common import quiet, save_tensors, seed_of
from forward import Run, golden
from processors import save_processor
from weights import Scales, fill

MAX_ROUNDING = 3e-5
SCALES = Scales(layer_scale=0.3, token=0.5)
CONVNEXT_SCALES = Scales(layer_scale=0.3)
RUNS = (
    Run("224", 224, 224, batch=2, hidden="all"),
    Run("518", 518, 518),
    Run("nonsquare", 224, 336),
    Run("nonmultiple", 230, 301),
)
DINOV3_RUNS = (*RUNS, Run("512", 512, 512))


@dataclass(frozen=True)
class TrueSize:
    """One public size."""

    model: type[PreTrainedModel]
    config: PreTrainedConfig
    runs: tuple[Run, ...] = RUNS
    scales: Scales = SCALES


def dinov2(hidden_size: int, heads: int, layers: int = 12) -> PreTrainedConfig:
    """The public DINOv2 configuration: patch 14, 37 x 37 positions."""
    return transformers.Dinov2Config(
        hidden_size=hidden_size, num_attention_heads=heads, num_hidden_layers=layers, patch_size=14, image_size=518
    )


def dinov2_registers(hidden_size: int, heads: int) -> PreTrainedConfig:
    """The public DINOv2-with-registers configuration."""
    return transformers.Dinov2WithRegistersConfig(
        hidden_size=hidden_size, num_attention_heads=heads, num_hidden_layers=12, patch_size=14, image_size=518,
        num_register_tokens=4,
    )


def dinov3(hidden_size: int, heads: int) -> PreTrainedConfig:
    """The public DINOv3 ViT configuration: patch 16, four registers, no key bias."""
    return transformers.DINOv3ViTConfig(
        hidden_size=hidden_size, intermediate_size=4 * hidden_size, num_attention_heads=heads, num_hidden_layers=12,
        patch_size=16, image_size=224, num_register_tokens=4,
    )


def sizes() -> dict[str, TrueSize]:
    """All true sizes by name."""
    v2, v2r, v3 = transformers.Dinov2Model, transformers.Dinov2WithRegistersModel, transformers.DINOv3ViTModel
    convnext = transformers.DINOv3ConvNextModel
    return {
        "dinov2-small": TrueSize(v2, dinov2(384, 6)),
        "dinov2-with-registers-small": TrueSize(v2r, dinov2_registers(384, 6)),
        "dinov3-vits16": TrueSize(v3, dinov3(384, 6), DINOV3_RUNS),
        "dinov3-convnext-tiny": TrueSize(convnext, transformers.DINOv3ConvNextConfig(), DINOV3_RUNS, CONVNEXT_SCALES),
        "dinov2-base": TrueSize(v2, dinov2(768, 12)),
        "dinov3-vitb16": TrueSize(v3, dinov3(768, 12), DINOV3_RUNS),
        "dinov2-large": TrueSize(v2, dinov2(1024, 16, layers=24)),
    }


def make(name: str, size: TrueSize, folder: Path) -> None:
    """Writes one checkpoint and its goldens."""
    model = size.model(size.config).eval()
    fill(model, seed_of(name), size.scales)
    model.save_pretrained(folder)
    save_processor(size.config.model_type, folder)
    model = size.model.from_pretrained(folder, dtype=torch.float32).eval()
    for run in size.runs:
        tensors, metadata = golden(model, name, run, MAX_ROUNDING)
        metadata |= {"seed": str(seed_of(name)), "fixture": name}
        save_tensors(folder / f"golden-{run.name}.safetensors", tensors, metadata, limit=None)
        spread = float(tensors["last_hidden_state"].std())
        largest = max(float(t.abs().max()) for t in tensors.values())
        print(f"{name:30} {run.name:12} std {spread:.2f} largest {largest:.1f} rounding {metadata['float64_max_abs']}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    quiet()
    known = sizes()
    if unknown := set(arguments.names) - set(known):
        parser.error(f"unknown {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    for name, size in known.items():
        if not arguments.names or name in arguments.names:
            make(name, size, arguments.out / name)


if __name__ == "__main__":
    main()
