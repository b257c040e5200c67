"""`load_image`: a picture from a path, a URL, bytes, base64 or a PIL image, upright and in RGB.

With Pillow it is a PIL image with Pillow's pixels, as in Transformers; without, a `Picture` with the
engine's. Alpha is dropped; a colour that stands for transparent is kept beside the pixels, and processors
that convert to RGB paint it white.
"""

from __future__ import annotations

import importlib
import io
from typing import Any

from ._native import load_image as decode
from .download import MAX_URL_BYTES as MAX_URL_BYTES, download
from .pictures import Picture, file_source, high_bytes, is_pil, is_source
from .sources import is_url


def load_image(image: Any, timeout: float | None = None) -> Any:
    """Opens a picture: a path, an http(s) URL, a data URI, base64, the bytes of a file, an open file, or a
    PIL image.

    `timeout` is how many seconds to wait for a server's next answer (`download.DEFAULT_TIMEOUT` when `None`).
    A URL may give `MAX_URL_BYTES` and lead on `download.MAX_REDIRECTS` times.

    Gives a PIL image in RGB, turned upright; where Pillow is not installed, an object with `height`, `width`,
    `size` and the array interface.

    Raises `FileNotFoundError` for a path of nothing, another `OSError` for what cannot be fetched or is no
    picture, `ValueError` for a URL that is not http(s) or gives too much, and `TypeError` for anything else.
    """
    if isinstance(image, Picture):
        return image
    if is_pil(image):
        return upright(image)
    if not is_source(image):
        kinds = "a path, a URL, base64, the bytes of a picture file or a PIL image"
        raise TypeError(f"load_image takes {kinds}, got {type(image).__name__}")
    if isinstance(image, str) and is_url(image):
        source: str | bytes = download(image, timeout)
    else:
        source = file_source(image)
    pil = pillow()
    if pil is None:
        return Picture(*decode(source))
    try:
        with pil.open(io.BytesIO(source) if isinstance(source, bytes) else source) as opened:
            return upright(opened)
    except pil.DecompressionBombError as error:
        raise ValueError(str(error)) from error


def load_images(images: Any, timeout: float | None = None) -> Any:
    """`load_image` of a picture, or of each of a list or a list of lists."""
    if isinstance(images, (list, tuple)):
        return [load_images(image, timeout) for image in images]
    return load_image(images, timeout)


def pillow() -> Any:
    """The module `PIL.Image`, or `None` where Pillow is not installed."""
    try:
        return importlib.import_module("PIL.Image")
    except ImportError:
        return None


def upright(image: Any) -> Any:
    """A PIL image turned as its EXIF says, in RGB without alpha; of 16-bit grey the high byte."""
    image = importlib.import_module("PIL.ImageOps").exif_transpose(image)
    if image.mode.startswith("I;16"):
        grey = importlib.import_module("PIL.Image").fromarray(high_bytes(image, convert_rgb=False))
        key = image.info.get("transparency")
        if isinstance(key, int):
            grey.info["transparency"] = key >> 8
        image = grey
    return image.convert("RGB")
