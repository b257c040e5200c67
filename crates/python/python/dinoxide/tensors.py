"""Arrays in and out: numpy's, torch's where torch is there, and whatever else lends its memory by an array
protocol."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

__all__ = ["Tensor", "asarray", "dtype_name", "is_dtype", "is_torch", "like", "loaded_torch"]


Dims = int | Sequence[int] | None


class Tensor(np.ndarray[Any, np.dtype[Any]]):
    """A numpy array with those of torch's methods that programs written for Transformers call on outputs.

    All of numpy works as on any array. Where both libraries have a method of the same name, it is numpy's.
    """

    def unflatten(self, dim: int, sizes: Sequence[int]) -> Tensor:
        """Axis `dim` split into axes of `sizes`, one of which may be -1:
        [B, 256, D] by (1, (16, 16)) is [B, 16, 16, D]."""
        axis = _place(dim, self.ndim)
        known = [size for size in sizes if size != -1]
        product = int(np.prod(known, dtype=np.int64))
        whole = list(sizes)
        if len(known) + 1 == len(whole) and product > 0:
            whole[whole.index(-1)] = self.shape[axis] // product
        if int(np.prod(whole, dtype=np.int64)) != self.shape[axis]:
            raise ValueError(f"axis {dim} of {self.shape[axis]} cannot be split into {tuple(sizes)}")
        return self.reshape(*self.shape[:axis], *whole, *self.shape[axis + 1 :]).view(Tensor)  # type: ignore[no-any-return]

    def abs(self) -> Tensor:
        """Magnitudes."""
        return np.abs(self).view(Tensor)

    def softmax(self, dim: int = -1) -> Tensor:
        """exp(x) over its sum along `dim`."""
        exps = np.exp(self - self.max(axis=dim, keepdims=True))
        return (exps / exps.sum(axis=dim, keepdims=True)).view(Tensor)  # type: ignore[no-any-return]

    def permute(self, *dims: int | Sequence[int]) -> Tensor:
        """The axes in another order."""
        return self.transpose(*dims)

    def transpose(self, *dims: Any) -> Tensor:
        """numpy's transpose; of more than two axes, two numbers swap two of them, as torch does."""
        if len(dims) == 2 < self.ndim:
            return self.swapaxes(*dims)
        return super().transpose(*dims)

    def view(self, *args: Any, **kwargs: Any) -> Any:
        """numpy's view of another type; of whole numbers, torch's: another shape."""
        if args and all(isinstance(size, int) for size in args):
            return self.reshape(args)
        return super().view(*args, **kwargs)

    def mean(self, *args: Any, dim: Dims = None, keepdim: bool = False, **kwargs: Any) -> Any:
        """numpy's mean; `dim` and `keepdim` are torch's names of `axis` and `keepdims`."""
        return super().mean(*args, **_axis(dim, keepdim), **kwargs)  # type: ignore[call-overload]

    def sum(self, *args: Any, dim: Dims = None, keepdim: bool = False, **kwargs: Any) -> Any:
        """numpy's sum; `dim` and `keepdim` are torch's names of `axis` and `keepdims`."""
        return super().sum(*args, **_axis(dim, keepdim), **kwargs)  # type: ignore[call-overload]

    def argmax(self, *args: Any, dim: Dims = None, keepdim: bool = False, **kwargs: Any) -> Any:
        """numpy's argmax; `dim` and `keepdim` are torch's names of `axis` and `keepdims`."""
        return super().argmax(*args, **_axis(dim, keepdim), **kwargs)  # type: ignore[call-overload]

    def norm(self, p: Any = 2, dim: Dims = None, keepdim: bool = False) -> Any:
        """The vector norm along `dim`, of all elements where none is named; `p` is its order."""
        values = self.numpy().ravel() if dim is None else self.numpy()
        norms = np.linalg.norm(values, 2 if p == "fro" else p, **_axis(dim, keepdim))
        return np.asarray(norms).view(Tensor)

    def flatten(self, start_dim: Any = 0, end_dim: int = -1) -> Tensor:
        """A copy with the axes from `start_dim` to `end_dim` as one; numpy's orders (`"C"`, …) work too."""
        if isinstance(start_dim, str):
            return super().flatten(start_dim)  # type: ignore[arg-type, return-value]
        start, end = _place(start_dim, self.ndim), _place(end_dim, self.ndim)
        return self.reshape(*self.shape[:start], -1, *self.shape[end + 1 :]).copy().view(Tensor)

    def unsqueeze(self, dim: int) -> Tensor:
        """With an axis of length 1 at `dim`."""
        return np.expand_dims(self, dim).view(Tensor)

    def numel(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    def numpy(self) -> np.ndarray[Any, np.dtype[Any]]:
        """The same memory as a plain numpy array."""
        return self.view(np.ndarray)  # type: ignore[no-any-return]

    def detach(self) -> Tensor:
        """Itself: there are no gradients."""
        return self

    def cpu(self) -> Tensor:
        """Itself: it is on the CPU."""
        return self

    def clone(self) -> Tensor:
        """A copy."""
        return self.copy().view(Tensor)  # type: ignore[no-any-return]

    def dim(self) -> int:
        """The number of axes."""
        return self.ndim

    def contiguous(self) -> Tensor:
        """In row-major order, copied only if it is not."""
        return np.ascontiguousarray(self).view(Tensor)

    def float(self) -> Tensor:
        """In 32-bit floats."""
        return self.to(np.float32)

    def to(self, *args: Any, **kwargs: Any) -> Tensor:
        """In another dtype, if one is named; devices are ignored, as everything is on the CPU."""
        for argument in (*args, *kwargs.values()):
            name = dtype_name(argument)
            if name in _NUMPY_DTYPES:
                return self.astype(_NUMPY_DTYPES[name], copy=False).view(Tensor)
        return self


def _place(dim: int, axes: int) -> int:
    """The place of an axis that may be counted from the end."""
    place = dim if dim >= 0 else dim + axes
    if not 0 <= place < axes:
        raise IndexError(f"dim {dim} is out of range for {axes} dimensions")
    return place


def _axis(dim: Dims, keepdim: bool) -> dict[str, Any]:
    """torch's `dim` and `keepdim` as numpy's arguments, where they are given."""
    given: dict[str, Any] = {} if dim is None else {"axis": dim if isinstance(dim, int) else tuple(dim)}
    return {**given, "keepdims": True} if keepdim else given


# What torch calls a dtype that numpy has too.
_NUMPY_DTYPES: dict[str | None, DTypeLike] = {
    "float32": np.float32,
    "float64": np.float64,
    "float16": np.float16,
    "int64": np.int64,
    "int32": np.int32,
    "uint8": np.uint8,
    "bool": np.bool_,
}


def dtype_name(dtype: object) -> str | None:
    """torch's name of a dtype, given as torch's or numpy's or by its name; nothing for anything else."""
    if isinstance(dtype, str):
        name = dtype.removeprefix("torch.")
        return {"half": "float16", "float": "float32", "double": "float64"}.get(name, name)
    if type(dtype).__module__ == "torch" and type(dtype).__name__ == "dtype":
        return str(dtype).removeprefix("torch.")
    if isinstance(dtype, np.dtype) or (isinstance(dtype, type) and issubclass(dtype, (np.generic, float))):
        return np.dtype("float32" if dtype is float else dtype).name
    return None


def is_dtype(value: object) -> bool:
    """Whether an argument of `.to` names a dtype, and not a device."""
    name = dtype_name(value)
    return name in _NUMPY_DTYPES or name == "bfloat16" if isinstance(value, str) else name is not None


def loaded_torch() -> Any:
    """The module `torch`, if the program has imported it."""
    return sys.modules.get("torch")


def is_torch(value: object) -> bool:
    """Whether it is a tensor of torch, which is not imported to find out."""
    torch = loaded_torch()
    return torch is not None and isinstance(value, getattr(torch, "Tensor", ()))


def asarray(value: Any, dtype: DTypeLike | None = None) -> np.ndarray[Any, np.dtype[Any]]:
    """`value` as a numpy array, of `dtype` if that is named; its memory is shared wherever it can be.

    The array is aligned, as the engine needs it: fields of packed records and odd places in a buffer are
    copied.

    Takes numpy's arrays, torch's tensors (also bfloat16, which is widened), whatever speaks `__array__`,
    `__array_interface__` or DLPack, and lists of numbers or of arrays.
    """
    if is_torch(value):
        if value.dtype.is_floating_point and dtype_name(value.dtype) not in _NUMPY_DTYPES:
            value = value.float()  # bfloat16, which numpy does not have
        value = value.numpy(force=True)  # without gradients, on the CPU, with a pending sign resolved
    elif hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray):
        value = lent(value)
    elif isinstance(value, (list, tuple)) and any(is_torch(one) for one in value):
        value = [asarray(one) for one in value]
    array = np.asarray(value, dtype=dtype)
    return array if array.flags.aligned else array.copy()


def lent(value: Any) -> np.ndarray[Any, np.dtype[Any]]:
    """The memory that an object lends by DLPack, or, where numpy cannot take that (a dtype of its own,
    another device), what its `__array__` gives.

    Raises `TypeError` where neither works.
    """
    try:
        return np.from_dlpack(value)
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as error:
        if hasattr(value, "__array__"):
            return np.asarray(value)
        raise TypeError(f"a {type(value).__name__} cannot be read as an array: {error}") from error


def numeric(value: Any, name: str, dtype: DTypeLike | None = None) -> np.ndarray[Any, np.dtype[Any]]:
    """`asarray`, of what holds real numbers or truth values; anything else is a `TypeError` that calls it
    `name`."""
    array = asarray(value)
    if array.dtype.kind in "cmMSU":
        raise TypeError(f"{name} must hold real numbers, got an array of {array.dtype}")
    return asarray(array, dtype)


def like(reference: object, array: np.ndarray[Any, np.dtype[Any]]) -> Any:
    """`array` in the kind of `reference`: a tensor of torch, on its device, where that is one; else a
    `Tensor`. Nothing is copied on the CPU."""
    if is_torch(reference):
        tensor = loaded_torch().from_numpy(array)
        device = reference.device  # type: ignore[attr-defined]
        return tensor if device.type == "cpu" else tensor.to(device)
    return array.view(Tensor)
