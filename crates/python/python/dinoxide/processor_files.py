"""Where an image processor's settings come from: a checkpoint or a JSON file."""

from __future__ import annotations

import json
import os
from typing import Any

from ._native import open_processor
from .configuration_utils import parse, read_text
from .messages import tell

FILE_NAME = "preprocessor_config.json"
_SUFFIXES = ("Fast", "Pil")


def class_name(cls: type) -> str:
    """The name that a class has in files; a class of a program that derives from one of ours has that
    one's."""
    names = [base.__name__ for base in cls.__mro__ if base.__module__ == f"{__package__}.image_processing"]
    return names[0]


def read_object(source: str | os.PathLike[str], options: dict[str, Any]) -> dict[str, Any]:
    """The settings in a checkpoint's processor file, or in a JSON file, with the name of a class as
    `image_processor_type`.

    Raises `OSError` or one of its kinds for a file that is not there or no JSON object, `ValueError` for an
    unknown class.
    """
    if os.path.isfile(source):
        return read_file(source)
    text, told = open_processor(source, options)
    tell(told)
    settings: dict[str, Any] = json.loads(text)
    return settings


def read_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The settings in a JSON file."""
    settings = parse(read_text(path), os.fspath(path))
    if isinstance(settings.get("image_processor"), dict):
        settings = settings["image_processor"]
    name = settings.get("image_processor_type") or settings.get("feature_extractor_type")
    if isinstance(name, str):
        name = name.replace("FeatureExtractor", "ImageProcessor")
        for suffix in _SUFFIXES:
            name = name.removesuffix(suffix)
        settings["image_processor_type"] = name
    return settings
