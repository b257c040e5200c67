"""Processor files in every spelling: what Transformers' processors held after opening them, and what they
refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dinoxide
import numpy as np
import pytest
from recorded import ROOT

CASES = json.loads((ROOT / "crates/checkpoint/tests/data/processors.json").read_text())["cases"]


def opened(case: dict[str, Any], folder: Path) -> Any:
    (folder / "preprocessor_config.json").write_text(json.dumps(case["json"]))
    (folder / "config.json").write_text(json.dumps({"model_type": case["model_type"]}))
    return dinoxide.AutoImageProcessor.from_pretrained(folder)


@pytest.mark.parametrize("case", [case for case in CASES if "held" in case], ids=lambda case: case["name"])
def test_a_file_gives_the_settings_that_transformers_held(case: dict[str, Any], tmp_path: Path) -> None:
    processor = opened(case, tmp_path)
    for key, want in case["held"].items():
        got = type(processor).__name__ if key == "image_processor_type" else getattr(processor, key)
        if key.startswith("do_"):
            assert bool(got) is want, key
        elif key.endswith("size"):
            kept = None if got is None else {name: value for name, value in got.items() if value is not None}
            assert kept == want, key
        else:
            assert (list(got) if isinstance(got, tuple) else got) == want, key


@pytest.mark.parametrize("case", [case for case in CASES if "error" in case], ids=lambda case: case["name"])
def test_a_file_that_transformers_refuses_is_refused(case: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        opened(case, tmp_path)(np.zeros((8, 8, 3), np.uint8))
