"""Arguments of plain kinds, checked where they come in, so that an error names the argument."""

from __future__ import annotations

import operator
from typing import Any


def checked_count(value: Any, name: str, most: int = (1 << 63) - 1) -> int:
    """A whole number 0..`most`; another is a `ValueError`, what is none a `TypeError`."""
    try:
        count = operator.index(value)
    except TypeError as error:
        raise TypeError(f"{name} must be a whole number, got a {type(value).__name__}") from error
    if not 0 <= count <= most:
        raise ValueError(f"{name} must be a whole number from 0 to {most}, got {count}")
    return count


def checked_text(value: Any, name: str) -> str | None:
    """A text or nothing; anything else is a `TypeError`."""
    if value is None or isinstance(value, str):
        return value
    raise TypeError(f"{name} must be a str, got a {type(value).__name__}")
