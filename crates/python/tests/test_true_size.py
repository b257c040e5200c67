"""True-size checkpoints with random weights that Transformers made, saved and runs beside us, from
photographs to outputs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dinoxide
import numpy as np
import pytest
from conftest import PICTURES
from tolerances import OUTPUT

SMALL = {"hidden_size": 384, "num_attention_heads": 6}
REGISTERS = {**SMALL, "num_register_tokens": 4}
CASES = {
    "dinov2-small": ("Dinov2Model", "Dinov2Config", SMALL, "BitImageProcessor"),
    "dinov2-small-classifier": (
        "Dinov2ForImageClassification",
        "Dinov2Config",
        {**SMALL, "num_labels": 1000},
        "BitImageProcessor",
    ),
    "dinov2-with-registers-small": (
        "Dinov2WithRegistersModel",
        "Dinov2WithRegistersConfig",
        REGISTERS,
        "BitImageProcessor",
    ),
    "dinov3-vits16": (
        "DINOv3ViTModel",
        "DINOv3ViTConfig",
        {"num_register_tokens": 4},
        "DINOv3ViTImageProcessor",
    ),
    "dinov3-convnext-tiny": ("DINOv3ConvNextModel", "DINOv3ConvNextConfig", {}, "DINOv3ViTImageProcessor"),
}


@pytest.fixture(scope="module", params=list(CASES))
def pair(
    request: Any, transformers: Any, torch: Any, tmp_path_factory: Any
) -> Iterator[tuple[Any, Any, Path]]:
    """A model of Transformers, ours of the folder that it saved, and the folder."""
    model, config, settings, processor = CASES[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    torch.manual_seed(0)
    theirs = getattr(transformers, model)(getattr(transformers, config)(**settings)).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():  # biases and layer scales would be 0 and 1, or next to nothing
            parameter.add_(torch.randn_like(parameter) * 0.02)
    theirs.save_pretrained(folder)
    getattr(transformers, processor)().save_pretrained(folder)
    yield theirs, getattr(dinoxide, model).from_pretrained(folder), folder


def test_photographs_give_what_transformers_gives(pair: Any, transformers: Any, torch: Any) -> None:
    image = pytest.importorskip("PIL.Image")
    theirs, ours, folder = pair
    photographs = [image.open(path) for path in sorted(PICTURES.glob("*.jpg"))[:2]]
    their_inputs = transformers.AutoImageProcessor.from_pretrained(folder)(photographs, return_tensors="pt")
    inputs = dinoxide.AutoImageProcessor.from_pretrained(folder)(photographs, return_tensors="pt")
    torch.testing.assert_close(inputs.pixel_values, their_inputs.pixel_values, rtol=OUTPUT, atol=OUTPUT)
    with torch.no_grad():
        expected = theirs(**their_inputs, output_hidden_states=True)
    given = ours(**inputs, output_hidden_states=True)
    assert list(given) == list(expected)
    for name in expected:
        values = (
            zip(given[name], expected[name], strict=True)
            if name == "hidden_states"
            else [(given[name], expected[name])]
        )
        for got, value in values:
            largest = value.abs().max().item()
            assert got.shape == value.shape
            assert np.abs(got.numpy() - value.numpy()).max() <= OUTPUT * largest, name
