"""Every recorded case of the processors: a picture, settings, and what Transformers made of them, within the
bounds of docs/parity.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dinoxide
import numpy as np
import pytest
from recorded import ROOT, tensors
from tolerances import PROCESSOR_FLOAT_MAX_ABS, PROCESSOR_MAX_LEVELS, PROCESSOR_MEAN_LEVELS

CASES = json.loads((ROOT / "fixtures/processor/cases.json").read_text())
CLASSES = {"BitImageProcessor": "BitImageProcessor", "DINOv3ViTImageProcessorFast": "DINOv3ViTImageProcessor"}


def checkerboard(size: str) -> np.ndarray:
    """The picture [H, W, 3] of `tools/golden/synthetic.py`."""
    width, height = map(int, size.split("x"))
    y, x = np.mgrid[:height, :width]
    c = np.where((x + y) % 2 == 0, 255, 0)
    rx, ry = x * 255 // (width - 1), y * 255 // (height - 1)
    return np.stack([(c + rx) // 2, (c + ry) // 2, (c + 255 - rx) // 2], axis=-1).astype(np.uint8)


def picture_of(case: dict[str, Any]) -> Any:
    name = case["picture"]
    return checkerboard(name.partition(":")[2]) if name.startswith("checkerboard:") else ROOT / name


def run(case: dict[str, Any], tmp_path: Path) -> np.ndarray:
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(case["config"]))
    processor = dinoxide.AutoImageProcessor.from_pretrained(tmp_path)
    batch = processor(picture_of(case), return_tensors="np")
    values = batch["pixel_values"][0]
    assert isinstance(values, np.ndarray)
    return values


@pytest.mark.parametrize("case", [case for case in CASES if "expect" in case], ids=lambda case: case["name"])
def test_a_picture_becomes_what_transformers_made_of_it(case: dict[str, Any], tmp_path: Path) -> None:
    expect = case["expect"]
    got = run(case, tmp_path)
    assert list(got.shape) == expect["shape"]
    assert got.dtype == (np.uint8 if expect["kind"] == "u8" else np.float32)
    if "file" not in expect:
        return
    want = tensors(ROOT / "fixtures/processor" / expect["file"])[expect["tensor"]]
    config = case["config"]
    std = (
        np.ones(1)
        if config.get("do_normalize") is False
        else np.atleast_1d(config.get("image_std") or 0.27577711)
    )
    difference = np.abs(got.astype(np.float64) - want) * std[:, None, None]
    unit = 1.0 if expect["kind"] == "u8" or config.get("do_rescale") is False else 1 / 255
    in_bytes = config["image_processor_type"].startswith("Bit")
    most, mean = (
        (PROCESSOR_MAX_LEVELS, PROCESSOR_MEAN_LEVELS)
        if in_bytes
        else (PROCESSOR_FLOAT_MAX_ABS * 255, PROCESSOR_FLOAT_MAX_ABS * 255)
    )
    assert difference.max() <= most * unit * (1 + 1e-6)
    assert difference.mean() <= mean * unit


@pytest.mark.parametrize(
    "case", [case for case in CASES if "expect" not in case], ids=lambda case: case["name"]
)
def test_what_transformers_refuses_is_refused(case: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises((ValueError, OSError)):
        run(case, tmp_path)
