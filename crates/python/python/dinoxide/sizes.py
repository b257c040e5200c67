"""Sizes of an image processor: `size`, `crop_size` and `pad_size`, pixels.

A size is a number, a list of height and width, or a dictionary with one of six sets of keys; processors hold
it as `SizeDict`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SIZE_KEYS = (
    frozenset({"height", "width"}),
    frozenset({"shortest_edge"}),
    frozenset({"shortest_edge", "longest_edge"}),
    frozenset({"longest_edge"}),
    frozenset({"max_height", "max_width"}),
    frozenset({"min_pixels", "max_pixels"}),
)
_NAMES = tuple(sorted(frozenset().union(*SIZE_KEYS)))


class SizeDict(dict[str, Any]):
    """A size as a dictionary whose keys are attributes too; what it has not is `None`."""

    def __missing__(self, key: str) -> None:
        if key not in _NAMES:
            raise KeyError(key)

    def __getattr__(self, key: str) -> Any:
        if key not in _NAMES:
            raise AttributeError(f"'SizeDict' object has no attribute {key!r}")
        return self.get(key)

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(sorted(self.items())))


def size_dict(size: Any, name: str = "size", default_to_square: bool | None = True) -> SizeDict:
    """A size in any of its forms as a dictionary.

    A number is a square, or the shortest edge where `default_to_square` is off; a list is height and width.
    Raises `ValueError` for anything else, `name` being what the message calls it.
    """
    if isinstance(size, SizeDict):
        return size
    if isinstance(size, int) and not isinstance(size, bool):
        return SizeDict(height=size, width=size) if default_to_square else SizeDict(shortest_edge=size)
    if isinstance(size, (list, tuple)) and len(size) >= 2:
        return SizeDict(height=size[0], width=size[1])
    if not isinstance(size, Mapping) and hasattr(size, "shortest_edge") and hasattr(size, "height"):
        size = dict(size)  # Transformers' SizeDict, which gives pairs
    if not isinstance(size, Mapping):
        raise ValueError(f"{name} must be a number, a height and a width, or a dictionary, got {size!r}")
    if frozenset(size) not in SIZE_KEYS:
        forms = "; ".join(", ".join(sorted(keys)) for keys in SIZE_KEYS)
        raise ValueError(
            f"{name} must have the keys of one of these forms: {forms}; got {sorted(map(str, size))}"
        )
    return SizeDict(size)
