"""Makes fixtures/<variant>: config, processor config, weights and goldens of every tiny model.

    python make_models.py [--core] [NAME...]      without names: all; the name "formats": other files of the same weights
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import torch
from transformers import PreTrainedModel

import extras
import foreign_names
import formats
from common import FIXTURES, MAX_FIXTURE_BYTES, quiet, save_tensors, seed_of
from forward import golden
from processors import save_processor
from variants import ALL, CORE, Variant
from weights import fill

WINNER, WINNER_BIAS = 10, 4.0


def build(variant: Variant) -> PreTrainedModel:
    """The model of a variant with its random weights."""
    model = variant.model(variant.config()).eval()
    fill(model, seed_of(variant.name), variant.scales)
    classifier = getattr(model, "classifier", None)
    if classifier is not None and classifier.bias.numel() > WINNER:
        classifier.bias[WINNER] = WINNER_BIAS
    return model


def save(variant: Variant, folder: Path) -> None:
    """Writes the checkpoint as Transformers does: the hub's tensor names."""
    model = build(variant)
    model.save_pretrained(folder)
    save_processor(model.config.model_type, folder)
    (folder / "model.safetensors").chmod(0o644)


def load(variant: Variant, folder: Path, attn: str = "eager") -> PreTrainedModel:
    """Reads the checkpoint back, so that goldens come from the file and not from memory."""
    has_attention = variant.model.config_class.model_type != "dinov3_convnext"
    options = {"attn_implementation": attn} if has_attention else {}
    return variant.model.from_pretrained(folder, dtype=torch.float32, **options).eval()


def make(variant: Variant) -> None:
    """Remakes a fixture folder from nothing."""
    folder = FIXTURES / variant.name
    shutil.rmtree(folder, ignore_errors=True)
    save(variant, folder)
    model = load(variant, folder)
    for run in variant.runs:
        tensors, metadata = golden(model, variant.name, run)
        metadata |= {"seed": str(seed_of(variant.name)), "fixture": variant.name}
        save_tensors(folder / f"golden-{run.name}.safetensors", tensors, metadata)
    extras.make(variant.name, folder)
    report(folder)


def report(folder: Path) -> None:
    """Prints the size of a fixture and refuses one over the limit."""
    sizes = [path.stat().st_size for path in folder.iterdir()]
    print(f"{folder.name:36} {len(sizes):3} files {sum(sizes) / 1e3:7.1f} kB", flush=True)
    if sum(sizes) > MAX_FIXTURE_BYTES:
        raise ValueError(f"{folder.name}: {sum(sizes)} bytes, more than {MAX_FIXTURE_BYTES}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="fixtures to make; default all")
    parser.add_argument("--core", action="store_true", help="only the four families' main fixtures")
    arguments = parser.parse_args()
    quiet()
    for variant in CORE if arguments.core else ALL:
        if not arguments.names or variant.name in arguments.names:
            make(variant)
    if not arguments.core and (not arguments.names or "formats" in arguments.names):
        for folder in (*formats.make_all(), *foreign_names.make_all()):
            report(folder)


if __name__ == "__main__":
    main()
