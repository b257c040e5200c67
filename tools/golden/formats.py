"""The same weights in other files: Transformers 5's tensor names, shards with an index, bf16 and f16.

Each folder, `<fixture>-v5-names`, `<fixture>-sharded`, `<fixture>-bf16` or `<fixture>-f16`, holds a checkpoint only:
its outputs are the goldens of `<fixture>`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import torch
import transformers
from transformers import PreTrainedModel

from common import FIXTURES

V5_NAMES = ("dinov2", "dinov2-swiglu", "dinov2-classifier", "dinov2-with-registers-swiglu", "dinov3-vit-gated", "dinov3-convnext-backbone")
HALVES = ("dinov2", "dinov2-with-registers", "dinov3-vit", "dinov3-convnext-backbone")
DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16}
SHARDED, SHARDS, SHARD_SIZE = "dinov2", 3, "36KB"


def _load(fixture: str, dtype: torch.dtype = torch.float32) -> PreTrainedModel:
    folder = FIXTURES / fixture
    kind = json.loads((folder / "config.json").read_text())["architectures"][0]
    return getattr(transformers, kind).from_pretrained(folder, dtype=dtype)


def _save(model: PreTrainedModel, source: str, suffix: str, **options: object) -> Path:
    folder = FIXTURES / f"{source}-{suffix}"
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder, **options)
    shutil.copy(FIXTURES / source / "preprocessor_config.json", folder)
    for path in folder.iterdir():
        path.chmod(0o644)
    return folder


def make_all() -> Iterator[Path]:
    """Makes every folder of this kind."""
    for source in V5_NAMES:
        yield _save(_load(source), source, "v5-names", save_original_format=False)
    for source in HALVES:
        for suffix, dtype in DTYPES.items():
            yield _save(_load(source, dtype), source, suffix)
    folder = _save(_load(SHARDED), SHARDED, "sharded", max_shard_size=SHARD_SIZE)
    shards = len(list(folder.glob("model-*.safetensors")))
    if shards != SHARDS:
        raise ValueError(f"{shards} shards, wanted {SHARDS}")
    yield folder
