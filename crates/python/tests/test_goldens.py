"""What Transformers gave for the fixtures, from the Python classes of the same names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dinoxide
import numpy as np
import pytest
from conftest import FIXTURES, assert_close, hash32
from recorded import read_safetensors


def goldens() -> list[Path]:
    """Those of eval mode, whose weights are floats: the draws of train mode cannot be given from Python, and
    what a folder in codes stands for has bounds of its own."""
    everything = sorted(FIXTURES.glob("*/golden-*.safetensors"))
    return [path for path in everything if "train" not in path.name and "-int" not in path.parent.name]


def run(path: Path) -> tuple[Any, dict[str, np.ndarray]]:
    """The outputs for a golden, and what is expected of them."""
    tensors, metadata = read_safetensors(path)
    settings = json.loads(metadata.get("options", "{}"))
    for key in ("out_features", "out_indices"):
        if key in metadata and "backbone" in path.name:
            settings[key] = json.loads(metadata[key])
    if "problem_type" in metadata:
        settings["problem_type"] = metadata["problem_type"]
    cls = getattr(dinoxide, metadata["class"])
    source = "builtin:tiny" if path.parent.name == "builtin" else path.parent
    model = cls.from_pretrained(source, attn_implementation=metadata["attn_implementation"], **settings)
    pixels = tensors.pop("pixel_values", None)
    inputs: dict[str, Any] = {"pixel_values": hash32(metadata["pixel_values"]) if pixels is None else pixels}
    for name in ("bool_masked_pos", "attention_mask", "labels"):
        if name in tensors:
            inputs[name] = tensors.pop(name)
    if "output_hidden_states" in metadata:
        inputs["output_hidden_states"] = json.loads(metadata["output_hidden_states"])
    elif any(name.startswith("hidden_states.") for name in tensors):
        inputs["output_hidden_states"] = True
    if any(name.startswith("attentions.") for name in tensors):
        inputs["output_attentions"] = True
    return model(**inputs), tensors


def test_there_are_goldens_of_every_class() -> None:
    classes = {read_safetensors(path)[1]["class"] for path in goldens()}
    assert len(goldens()) > 200 and len(classes) == 10


@pytest.mark.parametrize("path", goldens(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_golden_is_met(path: Path) -> None:
    outputs, expected = run(path)
    lists: dict[str, list[tuple[int, np.ndarray]]] = {}
    for name, value in expected.items():
        field, _, place = name.partition(".")
        if place:
            lists.setdefault(field, []).append((int(place), value))
        else:
            assert_close(outputs[field], value, name)
    chosen = "output_hidden_states" in read_safetensors(path)[1]
    for field, values in lists.items():
        for index, (place, value) in enumerate(sorted(values, key=lambda pair: pair[0])):
            # Places are those of the model. A tuple of chosen states holds them one after the other; of all
            # states, a golden may hold some.
            got = outputs[field][index if chosen and field == "hidden_states" else place]
            assert_close(got, value, f"{field}.{place}")
