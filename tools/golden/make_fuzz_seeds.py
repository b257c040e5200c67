"""Makes fuzz/seeds: valid files for the fuzz targets to start from.

    python make_fuzz_seeds.py

`config/`: config.json and preprocessor_config.json of fixtures, so the fixtures must be there first. `weights/`: safetensors
of the model whose config stands in fuzz_targets/weights.rs, under both spellings of tensor names and in bf16.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from pathlib import Path

import torch
import transformers
from transformers import AutoConfig, Dinov2Model, PreTrainedConfig

from common import FIXTURES, ROOT, quiet, seed_of
from weights import fill

SEEDS, TARGET = ROOT / "fuzz" / "seeds", ROOT / "fuzz" / "fuzz_targets" / "weights.rs"
CONFIGS = (
    "dinov2", "dinov2-classifier", "dinov2-patch-4x2", "dinov2-swiglu", "dinov2-with-registers",
    "dinov3-vit", "dinov3-vit-gated", "dinov3-convnext",
)
PROCESSORS = {"bit": "dinov2", "dinov3": "dinov3-vit"}


def configs() -> None:
    """Copies the JSON files, each under a name that tells where it is from."""
    folder = SEEDS / "config"
    folder.mkdir(parents=True)
    for fixture in CONFIGS:
        shutil.copyfile(FIXTURES / fixture / "config.json", folder / f"{fixture}.json")
    for name, fixture in PROCESSORS.items():
        shutil.copyfile(FIXTURES / fixture / "preprocessor_config.json", folder / f"preprocessor-{name}.json")


def target_config() -> PreTrainedConfig:
    """The config in the fuzz target's source, so that seeds and target cannot part."""
    found = re.search(r'br#"(\{.*?\})"#', TARGET.read_text())
    if found is None:
        raise ValueError(f"{TARGET}: no config")
    options = json.loads(found.group(1))
    return AutoConfig.for_model(options.pop("model_type"), **options)


def weights() -> None:
    """Writes the target's model three times."""
    folder = SEEDS / "weights"
    folder.mkdir(parents=True)
    model = Dinov2Model(target_config()).eval()
    fill(model, seed_of("fuzz"))
    _save(model, folder / "hub-names.safetensors")
    _save(model, folder / "v5-names.safetensors", save_original_format=False)
    _save(model.to(torch.bfloat16), folder / "bf16.safetensors")


def _save(model: transformers.PreTrainedModel, path: Path, **options: object) -> None:
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder, **options)
        shutil.copyfile(Path(folder) / "model.safetensors", path)


def main() -> None:
    quiet()
    shutil.rmtree(SEEDS, ignore_errors=True)
    configs()
    weights()
    files = [path for path in SEEDS.rglob("*") if path.is_file()]
    print(f"{len(files)} seeds, {sum(path.stat().st_size for path in files) / 1e3:.1f} kB")


if __name__ == "__main__":
    main()
