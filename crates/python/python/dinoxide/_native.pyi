"""The engine, as the package uses it: options are dictionaries, configs are JSON, arrays are numpy's."""

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

__version__: str

def read_config(config: str, overrides: str | None = None) -> str:
    """Holds a config (JSON, with `model_type`) to the rules, and gives it as `config.json` would.

    `overrides` is an object of other values for some keys.
    """

def open_config(source: str, options: dict[str, Any]) -> tuple[str, list[str]]:
    """The config of a checkpoint as JSON, and warnings."""

def save_config(config: str, dir: str) -> None:
    """Writes a config (JSON) as `config.json` to a folder, which is made where there is none."""

def run_command(args: list[str]) -> int:
    """Runs the command `dinoxide` with these arguments, of which the first is its name; gives its exit code."""

class Processor:
    """An image processor."""

    @staticmethod
    def from_pretrained(source: str | PathLike[str], options: dict[str, Any]) -> tuple[Processor, list[str]]:
        """The processor of a checkpoint, and warnings."""

    @staticmethod
    def from_config(config: str) -> Processor:
        """The processor of a config in JSON, with `image_processor_type`."""

    @property
    def config(self) -> str:
        """The config as `preprocessor_config.json` has it."""

    @property
    def pads_to_largest(self) -> bool:
        """Whether pictures are padded to the largest of their batch."""

    def process_array(self, array: NDArray[Any], channels_first: bool | None = None) -> NDArray[np.float32]:
        """Processes an array of uint8 or float32, [H, W], [C, H, W] or [H, W, C], in row-major order; gives [C, H, W]."""

    def process_file(self, file: str | PathLike[str] | bytes) -> NDArray[np.float32]:
        """Decodes and processes a picture file, by its path or its bytes; gives [3, H, W]."""

    def save_pretrained(self, dir: str | PathLike[str]) -> None:
        """Writes `preprocessor_config.json` to a folder."""

def open_processor(source: str | PathLike[str], options: dict[str, Any]) -> tuple[str, list[str]]:
    """The object of a checkpoint's processor file as JSON, with the name of a class as `image_processor_type`; and warnings."""

def load_image(file: str | PathLike[str] | bytes) -> tuple[NDArray[np.uint8], tuple[int, int, int] | None]:
    """Decodes a picture file, by its path or its bytes, upright and without alpha.

    Gives [H, W, 3] and the colour that stands for transparent, if the file names one.
    """
