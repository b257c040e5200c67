"""Pictures through the engine's processor, one by one, and their arrays together.

The engine takes bytes and floats. Arrays of other integers are resized as torchvision does it: as floats,
then back to integers (rounded to even where signed, cut off where not), before they are cropped and
normalised.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import numpy as np

from ._native import Processor
from .features import BatchFeature, tensor_type_of
from .pictures import File, Pixels, flat, is_pil, opened
from .tensors import Tensor

FILTERS = {
    "nearest": 0,
    "nearest-exact": 0,
    "lanczos": 1,
    "bilinear": 2,
    "bicubic": 3,
    "box": 4,
    "hamming": 5,
}
# Most pixels that padding to the largest picture of a batch may make of one, as the engine's limit of a
# result.
MAX_PADDED_PIXELS = 1 << 26
# What the engine's processor is made of.
_ENGINE_SETTINGS = (
    "do_convert_rgb",
    "do_resize",
    "size",
    "resample",
    "do_center_crop",
    "crop_size",
    "do_rescale",
    "rescale_factor",
    "do_normalize",
    "image_mean",
    "image_std",
    "do_pad",
    "pad_size",
)


def process(images: Any, kind: str, settings: dict[str, Any]) -> BatchFeature:
    """`pixel_values` of pictures, by the settings of a processor of the class `kind`."""
    tensor_type = tensor_type_of(settings["return_tensors"])
    engine = Engine(kind, settings)
    values = [at_place(place, engine.process, image) for place, image in flat(images)]
    if engine.native.pads_to_largest:
        values = pad_to_largest(values)
    return BatchFeature({"pixel_values": values}, tensor_type)


def at_place(place: str, process: Any, image: Any) -> Any:
    """Processes a picture; errors say where it was."""
    try:
        return process(image)
    except (TypeError, ValueError, OSError, MemoryError) as error:
        if not place:
            raise
        kind = type(error) if type(error) in _PLAIN_ERRORS else plain_kind(error)
        raise kind(f"{place}{error}") from error


_PLAIN_ERRORS = (
    TypeError,
    ValueError,
    OSError,
    MemoryError,
    FileNotFoundError,
    PermissionError,
    IsADirectoryError,
)


def plain_kind(error: Exception) -> type[Exception]:
    """The kind of an error that can be made of a message alone."""
    return next(kind for kind in (TypeError, ValueError, OSError, MemoryError) if isinstance(error, kind))


class Engine:
    """A processor of the engine, and how arrays become what it takes."""

    def __init__(self, kind: str, settings: dict[str, Any]) -> None:
        config = {key: plain(key, settings[key]) for key in _ENGINE_SETTINGS}
        config["image_processor_type"] = kind
        self.config = config
        self.native = native_processor(settings_json(config))
        self.rescales_first = kind == "DINOv3ViTImageProcessor"
        self.channels_first = channels_first(settings["input_data_format"])

    def process(self, image: Any) -> np.ndarray:
        """A picture as [C, H, W]: float32, or what it was where nothing makes floats of it."""
        picture = opened(image, bool(self.config["do_convert_rgb"]), self.channels_first)
        try:
            return self.processed(picture)
        except ValueError as error:
            if not self.config["do_convert_rgb"] and is_pil(image) and len(image.getbands()) in (2, 4):
                raise ValueError(
                    f"{error}; do_convert_rgb=True makes RGB of a picture in mode {image.mode}"
                ) from error
            raise

    def processed(self, picture: File | Pixels) -> np.ndarray:
        """`process` of an opened picture."""
        if isinstance(picture, File):
            values = self.native.process_file(picture.source)
            dtype: np.dtype[Any] = np.dtype(np.uint8)
        else:
            values = self.pixels(picture)
            dtype = picture.array.dtype
        if dtype.kind in "bui" and not (self.config["do_rescale"] or self.config["do_normalize"]):
            values = values.astype(dtype)
        return values.view(Tensor)

    def pixels(self, picture: Pixels) -> np.ndarray:
        """An array through the steps."""
        array = picture.array
        if array.dtype.kind in "bui" and array.dtype != np.uint8:
            if self.resizes_as_integers():
                array = self.resized_integers(Pixels(array, picture.channels_first))
                return self.without_resize().process_array(array, True)
            array = smaller(array)
        elif array.dtype.kind == "f":
            array = array.astype(np.float32, copy=False)
        return self.native.process_array(np.ascontiguousarray(array), picture.channels_first)

    def resizes_as_integers(self) -> bool:
        """Whether the resize comes before samples become floats."""
        return bool(self.config["do_resize"]) and not (self.rescales_first and self.config["do_rescale"])

    def resized_integers(self, picture: Pixels) -> np.ndarray:
        """Integers after the resize: [C, H, W], bytes where they fit."""
        steps = {"do_center_crop": False, "do_rescale": False, "do_normalize": False, "do_pad": False}
        native = native_processor(settings_json({**self.config, **steps}))
        if self.config["do_convert_rgb"]:
            refuse_alpha(picture)
        floats = native.process_array(
            np.ascontiguousarray(picture.array, dtype=np.float32), picture.channels_first
        )
        dtype = picture.array.dtype
        if dtype.kind == "b":
            return smaller(floats != 0)
        range_of = np.iinfo(dtype)
        rounded = np.rint(floats) if dtype.kind == "i" else np.trunc(floats)
        return smaller(np.clip(rounded, range_of.min, range_of.max))  # torch's overflow is not copied

    def without_resize(self) -> Processor:
        """The processor of the steps after the resize."""
        return native_processor(settings_json({**self.config, "do_resize": False, "do_convert_rgb": False}))


def refuse_alpha(picture: Pixels) -> None:
    """Refuses alpha in integers other than bytes, whose range nobody knows."""
    array = picture.array
    axes = {None: (0, 2), True: (0,), False: (2,)}[picture.channels_first]
    channels = next(
        (array.shape[axis] for axis in axes if array.ndim == 3 and array.shape[axis] in (1, 3, 4)), None
    )
    if channels == 4:
        raise ValueError(
            f"an array of {array.dtype} with four channels cannot become RGB: "
            "give uint8, or floats between 0 and 1"
        )


def smaller(array: np.ndarray) -> np.ndarray:
    """Whole numbers as bytes where they fit, else as float32."""
    fits = array.dtype.kind == "b" or (array.size > 0 and array.min() >= 0 and array.max() <= 255)
    return array.astype(np.uint8 if fits else np.float32)


@lru_cache(maxsize=64)
def native_processor(config: str) -> Processor:
    """The engine's processor of a config in JSON."""
    return Processor.from_config(config)


def plain(key: str, value: Any) -> Any:
    """A setting as the engine's JSON has it."""
    if value is None:
        return None
    if key.startswith("do_"):
        return bool(value)
    if key == "resample":
        return resample_code(value)
    return list(value) if isinstance(value, tuple) else value


def resample_code(value: Any) -> Any:
    """Pillow's number of a filter: itself, an enum of Pillow's or torchvision's, or a name."""
    value = getattr(value, "value", value)
    if isinstance(value, str):
        if value.lower() not in FILTERS:
            raise ValueError(
                f"resample must be one of {', '.join(FILTERS)}, or Pillow's number, got {value!r}"
            )
        return FILTERS[value.lower()]
    return value


def channels_first(value: Any) -> bool | None:
    """What `input_data_format` says: a text, or Transformers' enum of it."""
    name = getattr(value, "value", value)
    if name not in (None, "channels_first", "channels_last"):
        raise ValueError(
            f"input_data_format must be 'channels_first', 'channels_last' or None, got {value!r}"
        )
    return None if name is None else name == "channels_first"


def pad_to_largest(values: list[np.ndarray]) -> list[np.ndarray]:
    """Adds zeros at the bottom and right of arrays [C, H, W] until all are of one size."""
    height = max(value.shape[1] for value in values)
    width = max(value.shape[2] for value in values)
    if height * width > MAX_PADDED_PIXELS:
        raise ValueError(
            f"padding to {height}x{width} pixels exceeds the limit MAX_PADDED_PIXELS, {MAX_PADDED_PIXELS}"
        )
    return [
        np.pad(value, ((0, 0), (0, height - value.shape[1]), (0, width - value.shape[2]))) for value in values
    ]


def settings_json(settings: dict[str, Any], indent: int | None = None) -> str:
    """Settings as JSON with sorted keys; numpy's numbers and arrays count as Python's."""
    return json.dumps(settings, indent=indent, sort_keys=True, default=from_numpy)


def from_numpy(value: Any) -> Any:
    """A number or an array of numpy's as Python's."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"a setting must be a number, a text, a list or a dictionary, got {type(value).__name__}")
