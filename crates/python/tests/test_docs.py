"""Every block of Python on the pages runs as it stands there, without a network."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import FIXTURES, PICTURES, ROOT

EXAMPLES = ROOT / "crates/python/examples"
# Pages, and what their blocks import beside the package.
PAGES = {
    "README.md": [],
    "crates/python/README.md": [],
    "docs/python.md": [],
    "docs/scale.md": ["pyarrow", "ray", "dask", "pandas"],
}
# Public models that pages name, and fixtures in their place.
MODELS = {"facebook--dinov2-small": "dinov2", "facebook--dinov2-base": "dinov2-518"}


def blocks(page: str) -> list[str]:
    """The contents of the ```python blocks of a page, in order."""
    found: list[str] = []
    block: list[str] | None = None
    for line in (ROOT / page).read_text(encoding="utf-8").splitlines():
        if block is None and line == "```python":
            block = []
        elif block is not None and line == "```":
            found.append("\n".join(block))
            block = None
        elif block is not None:
            block.append(line)
    assert block is None, "a block has no end"
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the pictures, and a cache of the hub with fixtures under public names."""
    (tmp_path / "pictures").symlink_to(PICTURES)
    (tmp_path / "cat.jpg").symlink_to(PICTURES / "coffee.jpg")
    for name, fixture in MODELS.items():
        snapshots = tmp_path / "cache" / "hub" / f"models--{name}" / "snapshots"
        snapshots.mkdir(parents=True)
        (snapshots / ("0123456789abcdef" * 2 + "01234567")).symlink_to(FIXTURES / fixture)
    return tmp_path


@pytest.mark.parametrize("page", PAGES)
def test_the_pages_examples_run(page: str, folder: Path) -> None:
    code = "\n\n".join(blocks(page))
    assert "import" in code, "no example"
    missing = [name for name in PAGES[page] if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"{page} needs {', '.join(missing)}")
    variables = os.environ | {
        "HF_HOME": str(folder / "cache"),
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": os.pathsep.join([str(EXAMPLES), *filter(None, sys.path)]),
        # A secret of this run, so that none is written to the tester's home.
        "RAY_AUTH_TOKEN": os.urandom(32).hex(),
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=variables, text=True, capture_output=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
