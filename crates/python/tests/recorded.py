"""Recorded tensors, read without the package that wrote them."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
_DTYPES = {"F32": np.float32, "U8": np.uint8, "I64": np.int64, "BOOL": np.bool_, "F64": np.float64}


@lru_cache(maxsize=32)
def tensors(path: Path) -> dict[str, np.ndarray]:
    """The tensors of a safetensors file by name."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    out = {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        array = np.frombuffer(data[8 + length + start : 8 + length + end], dtype=_DTYPES[entry["dtype"]])
        out[name] = array.reshape(entry["shape"])
    return out
