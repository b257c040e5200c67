"""What all tests share: where the fixtures are, the pixels of goldens, Transformers where it is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorded import ROOT
from tolerances import OUTPUT

FIXTURES = ROOT / "fixtures"
PICTURES = ROOT / "pictures"


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
