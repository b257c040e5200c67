"""Pictures in whatever form a program holds them, as what the engine takes: a file, or an array of bytes or
floats.

A PIL image becomes RGB as Transformers does it (transparency on white) when the processor converts, else the
array of its bands. Arrays are [H, W], [C, H, W] or [H, W, C] with 1, 3 or 4 channels, of any dtype and
strides; 4-D ones are batches. Files and bytes are decoded by the engine: upright, alpha dropped. 16-bit grey
pictures keep their high byte, as those of files do.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .sources import encoded_picture, is_url
from .tensors import asarray, is_torch

# Most bytes of an open file, as the engine's limit of files.
MAX_FILE_BYTES = 1 << 30


@dataclass(frozen=True)
class File:
    """A picture to decode: its path or its bytes."""

    source: str | bytes


@dataclass(frozen=True)
class Pixels:
    """A picture that is there: `array` [H, W], [C, H, W] or [H, W, C];
    `None` as `channels_first` infers the layout."""

    array: np.ndarray
    channels_first: bool | None = None


@dataclass(frozen=True)
class Picture:
    """An RGB picture, for where Pillow is not installed: bytes [H, W, 3], read as an array with
    `numpy.asarray`.

    Pixels of the color `transparent`, if there is one, count as transparent.
    """

    pixels: np.ndarray
    transparent: tuple[int, int, int] | None = None
    mode: str = "RGB"

    @property
    def height(self) -> int:
        """Rows."""
        return int(self.pixels.shape[0])

    @property
    def width(self) -> int:
        """Columns."""
        return int(self.pixels.shape[1])

    @property
    def size(self) -> tuple[int, int]:
        """Width and height, as PIL's."""
        return self.width, self.height

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.pixels.__array_interface__

    def convert(self, mode: str) -> Picture:
        """The picture itself for `"RGB"`; other modes need Pillow, which a `ValueError` says."""
        if mode != self.mode:
            raise ValueError(f"a picture in mode {mode!r} needs Pillow (pip install dinoxide[pillow])")
        return self

    def on_white(self) -> np.ndarray:
        """The pixels, with what is transparent white."""
        if self.transparent is None:
            return self.pixels
        hidden = (self.pixels == np.asarray(self.transparent, np.uint8)).all(axis=-1, keepdims=True)
        return np.where(hidden, np.uint8(255), self.pixels)


def flat(images: Any) -> Iterator[tuple[str, Any]]:
    """Pictures of a list, a list of lists or a 4-D array, one by one, each with words for its place: `"image
    3: "`, or none where there is but one.
    """
    if isinstance(images, (list, tuple)):
        if not images:
            raise ValueError("there are no images in the list")
        for place, image in enumerate(images):
            yield from flat_item(f"[{place}]", image, nested=True)
    else:
        yield from flat_item("", images, nested=False)


def flat_item(place: str, image: Any, nested: bool) -> Iterator[tuple[str, Any]]:
    """The pictures of an entry of a list: itself, those of a list in it, or of a 4-D array."""
    if nested and isinstance(image, (list, tuple)):
        for inner, item in enumerate(image):
            yield from flat_item(f"{place}[{inner}]", item, nested=False)
        return
    if not is_source(image) and not is_pil(image) and not isinstance(image, Picture):
        image = as_array(image, place)
        if image.ndim == 4:
            if len(image) == 0:
                raise ValueError(f"images{place} has shape {image.shape}: there are no images in it")
            for inner, item in enumerate(image):
                yield f"images{place}[{inner}]: ", item
            return
    yield (f"images{place}: " if place else ""), image


def is_source(image: Any) -> bool:
    """Whether a picture is in a file, or the bytes of one."""
    return isinstance(image, (str, os.PathLike, bytes, bytearray, memoryview)) or hasattr(image, "read")


def is_pil(image: Any) -> bool:
    """Whether a picture is a PIL image; Pillow is not imported for that."""
    pil = sys.modules.get("PIL.Image")
    return pil is not None and isinstance(image, pil.Image)


def as_array(image: Any, place: str = "") -> np.ndarray:
    """An array or tensor of any library as a numpy array, without a copy where the library lets.

    Raises `TypeError` for what is none.
    """
    protocols = ("__array_interface__", "__array__", "__dlpack__")
    if is_torch(image) or any(hasattr(image, protocol) for protocol in protocols):
        return asarray(image)
    kinds = "a PIL image, an array, a tensor, a path, the bytes of a picture file, or a list of those"
    raise TypeError(f"images{place} must be {kinds}, got {type(image).__name__}")


def opened(image: Any, convert_rgb: bool, channels_first: bool | None) -> File | Pixels:
    """A picture as the engine takes it.

    Raises `ValueError` for a URL and for an array that is no picture, `TypeError` for an array without
    numbers.
    """
    if is_source(image):
        return File(file_source(image))
    if is_pil(image):
        return pil_pixels(image, convert_rgb)
    if isinstance(image, Picture):
        return Pixels(image.on_white() if convert_rgb else image.pixels, channels_first=False)
    return Pixels(numbers(image), channels_first)


def file_source(image: Any) -> str | bytes:
    """The path or the bytes that the engine opens."""
    if hasattr(image, "read"):
        return read_all(image)
    if isinstance(image, (bytes, bytearray, memoryview)):
        return bytes(image)
    path = os.fsdecode(image)
    if is_url(path):
        raise ValueError(
            f"{path} is a URL: open it with dinoxide.load_image, which has limits, and give what that gives"
        )
    if isinstance(image, str):
        encoded = encoded_picture(image)
        if encoded is not None:
            return encoded
    return path


def read_all(stream: Any) -> bytes:
    """The bytes of an open file, from where it stands."""
    data = stream.read(MAX_FILE_BYTES + 1)
    if not isinstance(data, bytes):
        raise TypeError(
            "a picture file must be opened in binary mode, "
            f"{type(stream).__name__} gives {type(data).__name__}"
        )
    if len(data) > MAX_FILE_BYTES:
        raise ValueError(f"the open file gives more than MAX_FILE_BYTES, {MAX_FILE_BYTES} bytes")
    return data


def numbers(array: np.ndarray) -> np.ndarray:
    """An array of numbers, or a `TypeError`."""
    if array.dtype.kind not in "buif":
        raise TypeError(f"an image must hold integers, floats or booleans, got an array of {array.dtype}")
    return array


def pil_pixels(image: Any, convert_rgb: bool) -> Pixels:
    """The pixels of a PIL image: RGB with what is transparent on white, or its bands as they are."""
    if image.mode.startswith("I;16"):
        return Pixels(high_bytes(image, convert_rgb))
    if convert_rgb:
        return Pixels(np.asarray(on_white(image)), channels_first=False)
    array = np.asarray(image)
    return Pixels(array, channels_first=False if array.ndim == 3 else None)


def on_white(image: Any) -> Any:
    """A PIL image in RGB, its transparent parts on white."""
    if "A" not in image.getbands() and image.info.get("transparency") is None:
        return image if image.mode == "RGB" else image.convert("RGB")
    from PIL import Image

    image = image.convert("RGBA")
    background = Image.new("RGBA", image.size, (255, 255, 255, 255))
    return Image.alpha_composite(background, image).convert("RGB")


def high_bytes(image: Any, convert_rgb: bool) -> np.ndarray:
    """A 16-bit grey PIL image as bytes [H, W]; its colour key, if it has one, white."""
    values = np.asarray(image)
    grey = (values >> 8).astype(np.uint8)
    key = image.info.get("transparency")
    if convert_rgb and isinstance(key, int):
        grey[grey == key >> 8] = 255
    return grey
