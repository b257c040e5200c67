"""The engine, as the package uses it: options are dictionaries, configs are JSON, arrays are numpy's."""

from os import PathLike
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "read_config",
    "save_config",
    "open_config",
    "run_command",
    "Network",
    "Processor",
    "load_image",
    "open_processor",
    "__version__",
]

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
    """Runs the command `dinoxide` with these arguments, of which the first is its name;
    gives its exit code."""

@final
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
        """Processes an array of uint8 or float32, [H, W], [C, H, W] or [H, W, C], in row-major order;
        gives [C, H, W]."""

    def process_file(self, file: str | PathLike[str] | bytes) -> NDArray[np.float32]:
        """Decodes and processes a picture file, by its path or its bytes; gives [3, H, W]."""

    def save_pretrained(self, dir: str | PathLike[str]) -> None:
        """Writes `preprocessor_config.json` to a folder."""

def open_processor(source: str | PathLike[str], options: dict[str, Any]) -> tuple[str, list[str]]:
    """The object of a checkpoint's processor file as JSON, with the name of a class as
    `image_processor_type`; and warnings."""

def load_image(file: str | PathLike[str] | bytes) -> tuple[NDArray[np.uint8], tuple[int, int, int] | None]:
    """Decodes a picture file, by its path or its bytes, upright and without alpha.

    Gives [H, W, 3] and the colour that stands for transparent, if the file names one.
    """

@final
class Network:
    """A model, backbone or classifier with its weights and threads."""

    @staticmethod
    def from_pretrained(source: str, head: str, options: dict[str, Any]) -> tuple[Network, list[str]]:
        """Opens a checkpoint as `model`, `backbone` or `classifier`. Gives the network and warnings."""

    @staticmethod
    def from_config(config: str, head: str, seed: int, num_threads: int | None = None) -> Network:
        """Fresh random weights for a config (JSON)."""

    def forward(self, pixel_values: NDArray[np.float32], asked: dict[str, Any]) -> dict[str, Any]:
        """Runs on `pixel_values` [B, C, H, W]; gives a dictionary of arrays under Transformers' names."""

    def save_pretrained(self, dir: str, max_shard_size: str | None = None) -> None:
        """Writes config, weights and processor config to a folder."""

    def set_num_threads(self, num_threads: int) -> None:
        """Runs on so many threads from the next forward on."""

    def share(self) -> Network:
        """The same weights and threads, until one of the two is given other threads or stages."""

    def select_stages(self, out_features: list[str] | None, out_indices: list[int] | None) -> None:
        """Chooses other stages of a backbone, by name, by place, or by both."""

    @property
    def config(self) -> str:
        """The config as `config.json` has it."""

    @property
    def loading_info(self) -> dict[str, Any]:
        """`missing_keys`, `unexpected_keys` and `mismatched_keys` of loading."""

    @property
    def linears(self) -> list[tuple[str, str, str | None]]:
        """For each linear layer: its name, what its weight is held in, and why, where that is not what was
        asked."""

    @property
    def num_threads(self) -> int:
        """Threads that a forward runs on, of which the calling one is one."""

    @property
    def num_parameters(self) -> int:
        """How many numbers the weights are."""

    @property
    def num_features(self) -> list[int]:
        """The channels of every stage."""

    @property
    def isa(self) -> str:
        """The level of instructions in use."""

    @property
    def weight_bytes(self) -> int:
        """Bytes of the weights in memory."""
