"""DINOv2 and DINOv3 on the CPU, with the numbers of Hugging Face Transformers, without PyTorch."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ._native import __version__

# Names by the module that has them: each is imported when it is first used, so that `import dinoxide` alone takes no time.
_NAMES: dict[str, str] = {}

__all__ = ["__version__", *_NAMES]


def __getattr__(name: str) -> object:
    module = _NAMES.get(name)
    if module is None:
        raise AttributeError(f"module 'dinoxide' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_NAMES])


if TYPE_CHECKING:
    pass
