"""What `import dinoxide` does not do: names are imported when they are first used."""

from __future__ import annotations

import subprocess
import sys

import dinoxide

# What takes longest to import of all that the package uses, or might.
HEAVY = ("numpy", "PIL", "torch", "asyncio", "email", "http", "json", "logging", "urllib.request")


def modules_after(statement: str) -> set[str]:
    """The modules that a fresh interpreter has imported after a statement."""
    code = f"import sys\n{statement}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True)
    return set(done.stdout.split())


def test_the_import_alone_imports_nothing_heavy() -> None:
    added = modules_after("import dinoxide") - modules_after("pass")
    assert not added & set(HEAVY)
    assert not {name for name in added if name.startswith("dinoxide.")} - {"dinoxide._native"}


def test_the_command_imports_nothing_heavy_either() -> None:
    added = modules_after("import dinoxide._cli") - modules_after("pass")
    assert not added & set(HEAVY)


def test_every_name_is_there_and_has_a_docstring() -> None:
    for name in dinoxide.__all__:
        value = getattr(dinoxide, name)
        assert name == "__version__" or value.__doc__, name
