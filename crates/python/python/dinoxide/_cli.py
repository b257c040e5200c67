"""The command `dinoxide`, as the wheel brings it: the engine's own, in Python's process."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from ._native import run_command

# What Python calls itself when it was started with `-m`.
_AS_MODULE = "__main__.py"


def _program(argument: str) -> str:
    """The name under which the command was called, for its messages."""
    name = Path(argument).name
    return "dinoxide" if name in ("", _AS_MODULE) else name


def main() -> int:
    """Runs the command with the arguments of this process; gives its exit code."""
    # Python's own handler only takes a note, which nobody reads while the command runs. One that ignores
    # the signal stays.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return run_command([_program(sys.argv[0]), *sys.argv[1:]])
