"""`BatchFeature`: what an image processor gives, a dictionary whose entries are attributes too.

`BatchFeature(pixel_values=…)["pixel_values"]`, `.pixel_values` and `model(**batch)` all give the same array
[B, 3, H, W].
"""

from __future__ import annotations

import importlib
from collections import UserDict
from collections.abc import Collection
from typing import Any

import numpy as np

from .tensors import Tensor, is_dtype, is_torch

TENSOR_TYPES = ("pt", "np")
_NUMBERS = (bool, int, float, np.generic)


def tensor_type_of(value: Any) -> str | None:
    """The kind of tensors that `return_tensors` asks for: `None`, `"pt"` or `"np"`.

    Raises `ValueError` for any other.
    """
    if value is None:
        return None
    name = getattr(value, "value", value)  # Transformers' TensorType has the name as its value
    if name not in TENSOR_TYPES:
        raise ValueError(
            f"return_tensors must be one of {', '.join(map(repr, TENSOR_TYPES))} or None, got {value!r}"
        )
    return str(name)


def torch_or_none() -> Any:
    """The module `torch`, imported if it is installed."""
    try:
        return importlib.import_module("torch")
    except ImportError:
        return None


class BatchFeature(UserDict[str, Any]):
    """A dictionary of arrays, whose entries are attributes too.

    `tensor_type` `"np"` makes numpy arrays of the entries, `"pt"` torch tensors, or `dinoxide.Tensor` where
    torch is not installed. Entries named in `skip_tensor_conversion`, texts and dictionaries stay as they
    are.
    """

    def __init__(
        self,
        data: dict[str, Any] | None = None,
        tensor_type: Any = None,
        skip_tensor_conversion: Collection[str] | None = None,
    ) -> None:
        super().__init__(data)
        self.skip_tensor_conversion = skip_tensor_conversion
        self.convert_to_tensors(tensor_type)

    def __getitem__(self, item: str) -> Any:
        if not isinstance(item, str):
            raise KeyError(f"a BatchFeature is indexed by names, got {item!r}")
        return self.data[item]

    def __getattr__(self, item: str) -> Any:
        try:
            return self.__dict__["data"][item]
        except KeyError:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {item!r}") from None

    def __getstate__(self) -> dict[str, Any]:
        return {"data": self.data}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.data = state["data"]
        self.skip_tensor_conversion = None

    def convert_to_tensors(
        self, tensor_type: Any = None, skip_tensor_conversion: Collection[str] | None = None
    ) -> BatchFeature:
        """Makes tensors of the entries, in place; a list of arrays of one shape becomes one of a rank more.

        Raises `ValueError` where an entry's arrays differ in shape.
        """
        kind = tensor_type_of(tensor_type)
        if kind is None:
            return self
        skipped = self.skip_tensor_conversion if skip_tensor_conversion is None else skip_tensor_conversion
        for key, value in self.data.items():
            if key not in (skipped or ()) and holds_numbers(value):
                self.data[key] = tensor(key, value, kind)
        return self

    def to(self, *args: Any, **kwargs: Any) -> BatchFeature:
        """Calls `.to(…)` of the float tensors among the entries, with a device, a dtype or both; in place.

        Tensors of integers are moved but keep their dtype, numpy arrays stay as they are.
        """
        device = kwargs.get("device")
        if device is None and args and not is_dtype(args[0]):
            device = args[0]

        def moved(value: Any) -> Any:
            if isinstance(value, (list, tuple)):
                return type(value)(moved(item) for item in value)
            if not is_tensor(value):
                return value
            if is_float(value):
                return value.to(*args, **kwargs)
            return value if device is None else value.to(device)

        self.data = {key: moved(value) for key, value in self.data.items()}
        return self


def tensor(key: str, value: Any, kind: str) -> Any:
    """An entry as one tensor."""
    if is_torch(value):
        return value if kind == "pt" else value.detach().cpu().numpy()
    try:
        array = stacked(value)
    except ValueError as error:
        raise ValueError(
            f"{key} cannot be one tensor: {error}; "
            "make the pictures equal with do_resize, do_center_crop or do_pad, "
            "or leave return_tensors away for a list"
        ) from error
    if kind == "np":
        return array.view(np.ndarray)
    torch = torch_or_none()
    if torch is None:
        return array.view(Tensor)
    if not array.flags.writeable:  # torch has no tensors that cannot be written to
        array = array.copy()
    return torch.from_numpy(array.view(np.ndarray))


def stacked(value: Any) -> np.ndarray:
    """A list of arrays as an array of a rank more, without a copy where there is one only."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, (list, tuple)) and value and all(isinstance(item, np.ndarray) for item in value):
        if len(value) == 1:
            return np.asarray(value[0])[None]
        shapes = sorted({item.shape for item in value})
        if len(shapes) > 1:
            raise ValueError(f"its arrays have the shapes {', '.join(map(str, shapes))}")
        return np.stack(value)
    return np.asarray(value)


def holds_numbers(value: Any) -> bool:
    """Whether a value can be an array: one, a tensor, a number, or lists of those."""
    if isinstance(value, (list, tuple)):
        return not value or holds_numbers(value[0])
    return isinstance(value, (np.ndarray, *_NUMBERS)) or is_torch(value)


def is_tensor(value: Any) -> bool:
    """Whether a value has torch's methods."""
    return isinstance(value, Tensor) or is_torch(value)


def is_float(value: Any) -> bool:
    """Whether a tensor's elements are floats."""
    return bool(value.is_floating_point()) if is_torch(value) else np.issubdtype(value.dtype, np.floating)
