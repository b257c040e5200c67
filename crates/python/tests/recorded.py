"""Recorded tensors, read without the package that wrote them."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
_DTYPES = {"F32": "<f4", "F64": "<f8", "I64": "<i8", "U8": "u1", "BOOL": "?", "F16": "<f2", "I8": "i1"}


def read_safetensors(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The tensors and the metadata of a safetensors file."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header: dict[str, Any] = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    body = data[8 + length :]
    out = {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        out[name] = np.frombuffer(body[start:end], _DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return out, metadata


@lru_cache(maxsize=32)
def tensors(path: Path) -> dict[str, np.ndarray]:
    """The tensors of a safetensors file by name."""
    return read_safetensors(path)[0]
