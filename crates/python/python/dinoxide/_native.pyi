"""The engine, as the package uses it: options are dictionaries, configs are JSON, arrays are numpy's."""

from typing import Any

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
