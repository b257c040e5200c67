"""The same weights in other files: Transformers 5's tensor names, shards with an index, bf16 and f16, torch.save.

Each folder, `<fixture>-v5-names`, `-sharded`, `-bf16`, `-f16`, `-bin`, `-sharded-bin` or `-pth`, holds a checkpoint only: its
outputs are the goldens of `<fixture>`. The last three are files of torch.save: as older versions of Transformers wrote
them, in one file and in shards, and as training code does, nested and with the original names.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import safetensors.torch
import torch
import transformers
from transformers import PreTrainedModel

import foreign_names
from common import FIXTURES, Tensors

V5_NAMES = ("dinov2", "dinov2-swiglu", "dinov2-classifier", "dinov2-with-registers-swiglu", "dinov3-vit-gated", "dinov3-convnext-backbone")
HALVES = ("dinov2", "dinov2-with-registers", "dinov3-vit", "dinov3-convnext-backbone")
DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16}
SHARDED, SHARDS, SHARD_SIZE = "dinov2", 3, "36KB"
BIN, SHARDED_BIN, PTH = "dinov2-nomask", "dinov2-no-qkv-bias", "dinov3-vit-gated"


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


def _pickled(source: str, suffix: str) -> tuple[Path, Tensors]:
    folder = FIXTURES / f"{source}-{suffix}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for file in ("config.json", "preprocessor_config.json"):
        shutil.copyfile(FIXTURES / source / file, folder / file)
    return folder, safetensors.torch.load_file(FIXTURES / source / "model.safetensors")


def _pickles() -> Iterator[Path]:
    """Files of torch.save, one of them nested. One tensor is a strided view. (Its older form holds addresses, no two alike.)"""
    folder, tensors = _pickled(BIN, "bin")
    name = "embeddings.cls_token"
    tensors[name] = torch.stack([tensors[name], tensors[name] + 1], -1)[..., 0]
    torch.save(tensors, folder / "pytorch_model.bin")
    yield folder

    folder, tensors = _pickled(SHARDED_BIN, "sharded-bin")
    shards = {f"pytorch_model-0000{n + 1}-of-00002.bin": sorted(tensors)[n::2] for n in range(2)}
    for shard, names in shards.items():
        torch.save({name: tensors[name] for name in names}, folder / shard)
    weight_map = {name: shard for shard, names in shards.items() for name in names}
    index = {"metadata": {}, "weight_map": dict(sorted(weight_map.items()))}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps(index, indent=2) + "\n")
    yield folder

    folder, tensors = _pickled(PTH, "pth")
    renamed = {f"backbone.{name}": tensor for name, tensor in foreign_names.dinov3_fb(tensors).items()}
    nested = {"teacher": renamed, "iteration": 7, "args": {"lr": 1e-3}}
    torch.save(nested, folder / "dinov3_vits16plus_pretrain.pth")
    yield folder


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
    yield from _pickles()
