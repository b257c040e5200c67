"""Pipelines: every recorded case, and beside Transformers' own."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import dinoxide
import numpy as np
import pytest
from dinoxide import pipelines
from recorded import ROOT, tensors
from tolerances import FEATURE_MAX_ABS, SCORE_MAX_ABS

CASES = json.loads((ROOT / "fixtures/pipelines/cases.json").read_text())
POSTPROCESS = json.loads((ROOT / "fixtures/pipelines/postprocess.json").read_text())
PICTURES = [str(ROOT / "pictures" / name) for name in ("chelsea.png", "camera.png", "astronaut.jpg")]
CLASSIFIER = ROOT / "fixtures/dinov2-classifier"
BACKBONE = ROOT / "fixtures/dinov3-vit-16"


def place(name: Any) -> Any:
    return [place(one) for one in name] if isinstance(name, list) else str(ROOT / name)


def answer(case: dict[str, Any]) -> Any:
    folder = ROOT / "fixtures" / case["fixture"]
    processor = dinoxide.AutoImageProcessor.from_pretrained(folder, **case["processor"])
    pipe = dinoxide.pipeline(case["task"], folder, image_processor=processor)
    for key, value in case["config"].items():
        setattr(pipe.model.config, key, value)
    return pipe(place(case["pictures"]), **case["options"])


def assert_scores(got: Any, want: Any) -> None:
    assert type(got) is list and len(got) == len(want)
    if want and isinstance(want[0], list):
        for one, other in zip(got, want, strict=True):
            assert_scores(one, other)
        return
    assert [list(one) for one in got] == [["label", "score"]] * len(want)
    assert [one["label"] for one in got] == [one["label"] for one in want]
    assert all(type(one["score"]) is float for one in got)
    got_scores, want_scores = ([one["score"] for one in answers] for answers in (got, want))
    np.testing.assert_allclose(got_scores, want_scores, rtol=0, atol=SCORE_MAX_ABS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['task']}: {case['name']}")
def test_a_pipeline_answers_what_transformers_answered(case: dict[str, Any]) -> None:
    if case.get("error"):
        with pytest.raises(ValueError):
            answer(case)
        return
    got, want = answer(case), case["expect"]
    if case["task"] == "image-classification":
        assert_scores(got, want)
        return
    features = tensors(ROOT / "fixtures/pipelines/features.safetensors")
    got = got if isinstance(want, list) else [got]
    want = want if isinstance(want, list) else [want]
    assert len(got) == len(want)
    for one, name in zip(got, want, strict=True):
        assert type(one) is list
        np.testing.assert_allclose(np.asarray(one), features[name], rtol=0, atol=FEATURE_MAX_ABS)


@pytest.mark.parametrize("case", POSTPROCESS, ids=lambda case: f"{case['name']}, {case['function_to_apply']}")
def test_scores_are_made_of_logits_as_in_transformers(case: dict[str, Any]) -> None:
    count = len(case["logits"])
    labels = {i: f"c{i}" for i in range(count)}
    config = SimpleNamespace(problem_type=case["problem_type"], num_labels=count, id2label=labels)
    pipe = pipelines.ImageClassificationPipeline(SimpleNamespace(config=config), "processor")
    parameters = pipe.checked({"function_to_apply": case["function_to_apply"], "top_k": case["top_k"]})
    outputs = {"logits": np.asarray([case["logits"]], np.float32)}
    assert_scores(pipe.postprocess(outputs, **parameters), case["expect"])


def test_pipelines_beside_transformers_give_the_same(transformers: ModuleType) -> None:
    image = pytest.importorskip("PIL.Image")
    images = [image.open(path) for path in PICTURES]
    for task, source, calls in (
        (
            "image-classification",
            CLASSIFIER,
            [{}, {"top_k": 2}, {"function_to_apply": "sigmoid", "batch_size": 3}],
        ),
        ("image-feature-extraction", BACKBONE, [{"pool": True}, {}, {"pool": True, "batch_size": 2}]),
    ):
        ours = dinoxide.pipeline(task, str(source))
        theirs = transformers.pipeline(task, str(source), device="cpu")
        for parameters in calls:
            for inputs in (images, images[0], PICTURES[:2], [images[1]]):
                got, want = ours(inputs, **parameters), theirs(inputs, **parameters)
                if task == "image-classification":
                    assert_scores(got, want)
                else:
                    assert type(got) is list
                    np.testing.assert_allclose(
                        np.asarray(got), np.asarray(want), rtol=0, atol=FEATURE_MAX_ABS
                    )


def test_the_task_is_that_of_the_model() -> None:
    for source, kind in (
        (CLASSIFIER, dinoxide.ImageClassificationPipeline),
        (BACKBONE, dinoxide.ImageFeatureExtractionPipeline),
        ("builtin:tiny", dinoxide.ImageFeatureExtractionPipeline),
    ):
        assert type(dinoxide.pipeline(model=source)) is kind
    model = dinoxide.AutoModelForImageClassification.from_pretrained(CLASSIFIER)
    pipe = dinoxide.pipeline(model=model, image_processor=CLASSIFIER)
    assert type(pipe) is dinoxide.ImageClassificationPipeline and pipe.model is model
    assert_scores(pipe(PICTURES[0]), dinoxide.pipeline(model=CLASSIFIER)(PICTURES[0]))


def test_settings_of_the_pipeline_hold_until_a_call_says_otherwise() -> None:
    pipe = dinoxide.pipeline(
        "image-classification", CLASSIFIER, top_k=2, function_to_apply="none", batch_size=2
    )
    assert len(pipe(PICTURES[0])) == 2
    assert len(pipe(PICTURES[0], top_k=4)) == 4
    assert len(pipe(images=PICTURES[0])) == 2
    assert pipe(PICTURES[0])[0]["score"] > 1
    assert pipe.predict(PICTURES) == pipe.transform(PICTURES) == pipe(tuple(PICTURES))


def test_an_iterator_gives_a_generator_that_takes_pictures_when_they_are_needed() -> None:
    pipe = dinoxide.pipeline("image-classification", CLASSIFIER, top_k=1)
    taken: list[str] = []

    def stream() -> Iterator[str]:
        for path in PICTURES:
            taken.append(path)
            yield path

    answers = pipe(stream())
    assert not isinstance(answers, list) and taken == []
    first = next(answers)
    assert taken == PICTURES[:1]
    assert [first, *answers] == pipe(PICTURES)
    assert list(pipe(stream(), batch_size=2)) == pipe(PICTURES, batch_size=2)
    assert list(pipe(iter([]))) == pipe([]) == []


def test_a_dataset_gives_a_generator() -> None:
    class Data:
        def __len__(self) -> int:
            return len(PICTURES)

        def __getitem__(self, index: int) -> str:
            return PICTURES[index]

    class Stream:
        def __iter__(self) -> Iterator[str]:
            return iter(PICTURES)

    pipe = dinoxide.pipeline("image-classification", CLASSIFIER, top_k=1)
    assert list(pipe(Stream())) == list(pipe(Data())) == pipe(PICTURES)


def test_classification_takes_arrays_and_features_take_bytes(pictures: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    classify = dinoxide.pipeline("image-classification", CLASSIFIER)
    array = np.asarray(image.open(PICTURES[0]).convert("RGB"))
    assert_scores(classify(array), classify(PICTURES[0]))
    assert_scores(classify([array, array]), classify([PICTURES[0]] * 2))
    extract = dinoxide.pipeline("image-feature-extraction", BACKBONE, pool=True)
    assert extract(Path(PICTURES[0]).read_bytes()) == extract(Path(PICTURES[0])) == extract(PICTURES[0])
    with pytest.raises(TypeError, match="ndarray"):
        extract(array)


def test_torch_tensors_are_classified() -> None:
    torch = pytest.importorskip("torch")
    image = pytest.importorskip("PIL.Image")
    pipe = dinoxide.pipeline("image-classification", CLASSIFIER)
    tensor = torch.from_numpy(np.array(image.open(PICTURES[0]).convert("RGB")))
    assert_scores(pipe(tensor), pipe(PICTURES[0]))


def test_pictures_of_several_sizes_may_be_in_a_batch() -> None:
    pipe = dinoxide.pipeline("image-feature-extraction", "builtin:tiny", pool=True)
    sizes: dict[str, Any] = {"do_center_crop": False, "size": {"shortest_edge": 42}}
    got = pipe(PICTURES, batch_size=3, image_processor_kwargs=sizes)
    assert got == [pipe(path, image_processor_kwargs=sizes) for path in PICTURES]


def test_tensors_are_given_when_asked_for() -> None:
    pipe = dinoxide.pipeline("image-feature-extraction", BACKBONE)
    features = pipe(PICTURES[0], return_tensors=True)
    assert features.shape[0] == 1 and features.ndim == 3
    assert features.tolist() == pipe(PICTURES[0])
    assert pipe(PICTURES[0], return_tensors=True, pool=True).shape == (1, features.shape[2])


def test_a_device_that_is_not_the_cpu_is_said_to_be_unused() -> None:
    with pytest.warns(UserWarning, match="CPU"):
        dinoxide.pipeline("image-classification", CLASSIFIER, device=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for device in (None, "cpu", -1):
            dinoxide.pipeline(
                "image-classification", CLASSIFIER, device=device, dtype="float32", use_fast=True
            )


def test_the_model_is_opened_in_the_dtype_that_is_asked_for() -> None:
    for given in (
        {"dtype": "bfloat16"},
        {"torch_dtype": "bfloat16"},
        {"model_kwargs": {"dtype": "bfloat16"}},
    ):
        pipe = dinoxide.pipeline("image-classification", CLASSIFIER, **given)  # type: ignore[arg-type]
        assert "bfloat16" in str(pipe.dtype)
        assert pipe(PICTURES[0])[0]["label"] == "c10"


def test_a_pipeline_is_saved_whole(tmp_path: Path) -> None:
    pipe = dinoxide.pipeline("image-classification", CLASSIFIER)
    pipe.save_pretrained(tmp_path)
    assert dinoxide.pipeline(model=tmp_path)(PICTURES[0]) == pipe(PICTURES[0])
    assert "ImageClassificationPipeline" in repr(pipe)


def test_wrong_calls_are_told() -> None:
    pipe = dinoxide.pipeline("image-classification", CLASSIFIER)
    extract = dinoxide.pipeline("image-feature-extraction", BACKBONE)
    model = pipe.model
    for error, words, call in (
        (RuntimeError, "a task or a model", lambda: dinoxide.pipeline()),
        (ValueError, "no default", lambda: dinoxide.pipeline("image-classification")),
        (KeyError, "text-generation", lambda: dinoxide.pipeline("text-generation", CLASSIFIER)),
        (ValueError, "image_processor", lambda: dinoxide.pipeline(model=model)),
        (ValueError, "function_to_apply", lambda: pipe(PICTURES[0], function_to_apply="max")),
        (TypeError, "pool", lambda: pipe(PICTURES[0], pool=True)),
        (TypeError, "top_k", lambda: extract(PICTURES[0], top_k=3)),
        (ValueError, "needs pictures", lambda: pipe()),
        (FileNotFoundError, "none.png", lambda: pipe("none.png")),
        (FileNotFoundError, "none.png", lambda: pipe([PICTURES[0], "none.png"])),
        (TypeError, "int", lambda: pipe(3)),
    ):
        with pytest.raises(error, match=words):
            call()
