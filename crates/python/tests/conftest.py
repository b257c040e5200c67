"""What all tests share: where the fixtures are, goldens as dictionaries, Transformers where it is
installed."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tolerances import OUTPUT

ROOT = Path(__file__).resolve().parents[3]
FIXTURES = ROOT / "fixtures"
PICTURES = ROOT / "pictures"

_DTYPES = {"F32": "<f4", "F64": "<f8", "I64": "<i8", "U8": "u1", "BOOL": "?", "F16": "<f2", "I8": "i1"}


def read_safetensors(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The tensors and the metadata of a safetensors file."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header: dict[str, Any] = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    body = data[8 + length :]
    tensors = {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        tensors[name] = np.frombuffer(body[start:end], _DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors, metadata


def hash32(spec: str) -> np.ndarray:
    """The pixels that a golden names as `hash32:SEED:B,C,H,W`; see tools/golden/common.py."""
    _, seed, sides = spec.split(":")
    shape = tuple(map(int, sides.split(",")))
    with np.errstate(over="ignore"):
        h = np.arange(1, int(np.prod(shape)) + 1, dtype=np.uint32) * np.uint32(2654435761)
        h += np.uint32(int(seed) * 40503 & 0xFFFF_FFFF)
        h ^= h >> np.uint32(16)
        h *= np.uint32(2246822519)
        h ^= h >> np.uint32(13)
    return ((h >> np.uint32(8)).astype(np.float32) / np.float32(1 << 22) - np.float32(2)).reshape(shape)


def assert_close(got: Any, expected: Any, what: str = "") -> None:
    """Within the bound, with the same shape; NaN where NaN is expected."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape, (what, got.shape, expected.shape)
    np.testing.assert_allclose(got, expected, rtol=OUTPUT, atol=OUTPUT, err_msg=what, equal_nan=True)


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """The folder of tiny checkpoints."""
    return FIXTURES


@pytest.fixture(scope="session")
def pictures() -> Path:
    """The folder of photographs."""
    return PICTURES


@pytest.fixture(scope="session")
def torch() -> Any:
    """PyTorch, where it is installed."""
    return pytest.importorskip("torch")


@pytest.fixture(scope="session")
def transformers() -> Any:
    """Transformers, where it is installed."""
    pytest.importorskip("torch")
    return pytest.importorskip("transformers", minversion="5.24")
