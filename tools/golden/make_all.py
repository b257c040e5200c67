"""Remakes every fixture and picture of the repository, in the order in which they build on each other.

    python make_all.py
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

STEPS = (
    "make_pictures.py", "make_models.py", "make_quantized.py", "make_processor.py", "make_end_to_end.py",
    "make_pipelines.py", "make_standins.py", "make_builtin.py", "make_fuzz_seeds.py",
    "make_fresh.py", "make_loading.py", "make_catalogue.py",
)


def main() -> None:
    for step in STEPS:
        print(f"== {step}", flush=True)
        subprocess.run([sys.executable, str(Path(__file__).with_name(step))], check=True)


if __name__ == "__main__":
    main()
