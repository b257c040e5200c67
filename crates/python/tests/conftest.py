"""What the tests share: the repository's files, and Transformers where it is installed."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """The folder of the recorded models."""
    return ROOT / "fixtures"


@pytest.fixture(scope="session")
def pictures() -> Path:
    """The folder of the pictures."""
    return ROOT / "pictures"


@pytest.fixture(scope="session")
def transformers() -> ModuleType:
    """Transformers, of the version that is followed; what asks for it is left out where it is missing."""
    module = pytest.importorskip("transformers", minversion="5.24.0")
    assert isinstance(module, ModuleType)
    return module
