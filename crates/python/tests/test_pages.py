"""The examples of the documentation pages, with torch and without, beside what Transformers gives."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import dinoxide
import numpy as np
import pages
import pytest
from tolerances import OUTPUT

HAS_TORCH = importlib.util.find_spec("torch") is not None

# What each example prints; Transformers is held to it as well where it is installed.
PRINTED: dict[str, list[str]] = {
    "CLASSIFICATION_PIPELINE": [],
    "CLASSIFICATION": ["Predicted class: c10"],
    "CLASSIFICATION_INT4": ["Predicted class: c10"],
    "DINOV2_TOKENS": ["300 451", "(1, 3, 224, 224)", "(1, 257, 8)"],
    "DINOV2_LABELS": ["c10"],
    "REGISTERS_LABELS": ["c10"],
    "FEATURE_PIPELINE": [],
    "DINOV3_POOLED": ["Pooled output shape: (1, 8)"],
    "DINOV3_INT4": ["Pooled output shape: (1, 8)"],
    "DINOV3_TOKENS": [
        "Image size: 300 451",
        "Patch size: 16",
        "Num register tokens: 4",
        "Preprocessed image size: (1, 3, 224, 224)",
        "(1, 201, 8)",
    ],
}
# The arrays that an example leaves behind.
ARRAYS: dict[str, list[str]] = {
    "CLASSIFICATION": ["logits"],
    "DINOV2_TOKENS": ["last_hidden_states", "cls_token", "patch_features"],
    "DINOV2_LABELS": ["logits"],
    "REGISTERS_LABELS": ["logits"],
    "DINOV3_POOLED": ["pooled_output"],
    "DINOV3_TOKENS": ["last_hidden_states", "cls_token", "patch_features"],
}
CONFIGS = ["DINOV2_CONFIG", "DINOV3_CONFIG", "CONVNEXT_CONFIG"]
# Examples in 4 bits, and the same in floats.
INT4 = {"CLASSIFICATION_INT4": "CLASSIFICATION", "DINOV3_INT4": "DINOV3_POOLED"}


@pytest.fixture(params=["with torch", "without torch"])
def ours(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], pages.Outcome]:
    """Runs an example with its imports changed: as on its page, and where torch cannot be imported."""
    torch = request.param == "with torch"
    if torch and not HAS_TORCH:
        pytest.skip("torch is not installed")

    def outcome(name: str) -> pages.Outcome:
        with monkeypatch.context() as patch:
            if not torch:
                patch.setitem(sys.modules, "torch", None)
            outcome = pages.run(pages.as_dinoxide(getattr(pages, name), torch=torch))
        kind = importlib.import_module("torch").Tensor if torch else dinoxide.Tensor
        assert all(isinstance(outcome.names[array], kind) for array in ARRAYS.get(name, []))
        return outcome

    return outcome


@functools.cache
def theirs(name: str) -> pages.Outcome:
    """What Transformers does."""
    return pages.run(pages.as_transformers_on_the_cpu(getattr(pages, name)))


def plain(lines: list[str]) -> list[str]:
    """Printed lines, with torch's sizes as the tuples they are."""
    return [line.replace("torch.Size([", "(").replace("])", ")") for line in lines]


def array(value: Any) -> np.ndarray[Any, np.dtype[Any]]:
    """A tensor or nested lists as a numpy array."""
    return np.asarray(value.detach() if hasattr(value, "detach") else value)


def close(ours: Any, theirs: Any) -> None:
    """Two arrays are the same within the tolerance."""
    np.testing.assert_allclose(array(ours), array(theirs), rtol=OUTPUT, atol=OUTPUT)


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_prints_what_it_prints_with_transformers(
    name: str, ours: Callable[[str], pages.Outcome]
) -> None:
    assert plain(ours(name).printed) == PRINTED[name]


@pytest.mark.parametrize("name", sorted(PRINTED.keys() - INT4.keys()))
def test_transformers_prints_what_is_expected_of_the_examples(transformers: ModuleType, name: str) -> None:
    assert plain(theirs(name).printed) == PRINTED[name]


@pytest.mark.parametrize("name", ARRAYS)
def test_the_arrays_of_an_example_are_those_of_transformers(
    transformers: ModuleType, name: str, ours: Callable[[str], pages.Outcome]
) -> None:
    expected, got = theirs(name).names, ours(name).names
    close(got["inputs"]["pixel_values"], expected["inputs"]["pixel_values"])
    for variable in ARRAYS[name]:
        assert array(got[variable]).shape == array(expected[variable]).shape
        close(got[variable], expected[variable])


def test_the_pipelines_give_what_those_of_transformers_give(
    transformers: ModuleType, ours: Callable[[str], pages.Outcome]
) -> None:
    expected, got = theirs("CLASSIFICATION_PIPELINE").value, ours("CLASSIFICATION_PIPELINE").value
    assert [list(entry) for entry in got] == [["label", "score"]] * 5
    assert [entry["label"] for entry in got] == [entry["label"] for entry in expected]
    assert all(type(entry["score"]) is float for entry in got)
    close([entry["score"] for entry in got], [entry["score"] for entry in expected])
    expected, got = theirs("FEATURE_PIPELINE").value, ours("FEATURE_PIPELINE").value
    assert isinstance(got, list) and isinstance(got[0][0][0], float)
    close(got, expected)


@pytest.mark.parametrize(("name", "floats"), INT4.items())
def test_the_examples_in_4_bits_compute_with_torchaos_codes(
    transformers: ModuleType, name: str, floats: str, ours: Callable[[str], pages.Outcome]
) -> None:
    import torch

    names = pages.run(pages.as_transformers_on_the_cpu(getattr(pages, floats))).names
    model = names["model"]
    for layer in model.modules():
        if isinstance(layer, torch.nn.Linear):
            layer.weight.data = torch.from_numpy(in_4_bits(layer.weight.detach().numpy(), 128))
    with torch.no_grad():
        expected = model(**names["inputs"])
    got = ours(name)
    for output in ("logits", "pooled_output"):
        if output in got.names:
            close(got.names[output], expected["logits" if output == "logits" else "pooler_output"])
    assert {precision for _, precision, _ in got.names["model"].linears()} == {"int4"}


def in_4_bits(weight: np.ndarray[Any, Any], group_size: int) -> np.ndarray[Any, Any]:
    """What the 4-bit codes of a weight [N, K] stand for, by torchao's scheme; a last group may be shorter."""
    groups = []
    for start in range(0, weight.shape[1], group_size):
        group = weight[:, start : start + group_size].astype(np.float32)
        least, greatest = group.min(1, keepdims=True), group.max(1, keepdims=True)
        scale = np.maximum(greatest - least, np.float32(1e-6)) / np.float32(15)
        codes = np.clip(np.round((group - least) / scale), 0, 15) - np.float32(8)
        groups.append(codes * scale + (least + np.float32(8) * scale))
    return np.concatenate(groups, axis=1)


@pytest.mark.parametrize("name", CONFIGS)
def test_a_config_makes_a_model_that_has_it_and_runs(name: str, ours: Callable[[str], pages.Outcome]) -> None:
    names = ours(name).names
    model = names["model"]
    config = names.get("configuration") or names["config"]
    assert config is model.config and config == type(config)()
    outputs = model(np.zeros((1, 3, 64, 64), np.float32))
    assert outputs.pooler_output.shape == (1, config.to_dict().get("hidden_size", 768))
    assert np.isfinite(array(outputs.last_hidden_state)).all()
    if importlib.util.find_spec("transformers") is not None:
        assert config.to_dict() == {**config_of_transformers(name), "dtype": None}


@functools.cache
def config_of_transformers(name: str) -> dict[str, Any]:
    """The config that Transformers' model has after an example."""
    names = pages.run(getattr(pages, name)).names
    config: dict[str, Any] = names["model"].config.to_dict()
    return config


@pytest.mark.parametrize(
    ("name", "model", "patches"),
    [
        ("DINOV2_TOKENS", "facebook/dinov2-base", (16, 16)),
        ("DINOV3_TOKENS", "facebook/dinov3-vits16-pretrain-lvd1689m", (14, 14)),
    ],
)
def test_tokens_are_those_recorded_for_the_stand_ins(
    name: str, model: str, patches: tuple[int, int], ours: Callable[[str], pages.Outcome]
) -> None:
    recorded = json.loads((pages.STANDINS.parent / "expected.json").read_text())
    cls, patch = next(entry["tokens"] for entry in recorded if entry["id"] == model)
    names = ours(name).names
    assert tuple(names["patch_features"].shape) == (1, *patches, 8)
    close(array(names["cls_token"])[0, :5], cls["values"])
    close(array(names["patch_features"])[0, 0, 0, :5], patch["values"])
