"""Makes fixtures/pipelines: what the pipelines of Transformers answer about the photographs of the repository.

    python make_pipelines.py

`cases.json` is a list of runs of the pipelines `image-classification` and `image-feature-extraction`, `postprocess.json` one
of classifications that begin at the logits. What they hold is told in README.md. The fixtures must be there first.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import torch
from transformers import AutoConfig, AutoImageProcessor, AutoModel, AutoModelForImageClassification, Dinov2Config, Pipeline, pipeline
from transformers import Dinov2ForImageClassification
from transformers.image_processing_utils import BaseImageProcessor

from common import FIXTURES, ROOT, Tensors, quiet, save_tensors
from forward import MAX_ROUNDING

OUT = FIXTURES / "pipelines"
CLASSIFY, EXTRACT = "image-classification", "image-feature-extraction"
CAT, GREY, COFFEE = "pictures/chelsea.png", "pictures/camera.png", "pictures/coffee.jpg"
TWELVE, REGISTERS, ONE = "dinov2-classifier", "dinov2-with-registers-classifier", "dinov2-regression"
SMALL = {"size": {"shortest_edge": 64}, "crop_size": {"height": 56, "width": 56}}
"""Processor options that leave 14 x 14 patches of 4: quick to repeat."""
PROBLEMS = ("regression", "single_label_classification", "multi_label_classification")
FUNCTIONS = ("softmax", "sigmoid", "none")
TOP = 4
"""Labels that are kept of given logits."""


@dataclass(frozen=True)
class Case:
    """One call: `pipeline(task, model=fixture)(pictures, **options)`."""

    name: str
    task: str
    fixture: str
    pictures: str | list[str]
    options: dict[str, Any] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    """Keys set on the model's config."""
    processor: dict[str, Any] = field(default_factory=lambda: SMALL)
    """Keys set on the fixture's processor config."""


def _classify(name: str, options: dict[str, Any] | None = None, pictures: str | list[str] = CAT, fixture: str = TWELVE, **config: Any) -> Case:
    return Case(name, CLASSIFY, fixture, pictures, options or {}, config)


CLASSIFICATION = (
    Case("the fixture's own processor", CLASSIFY, TWELVE, CAT, processor={}),
    _classify("five without being asked"),
    _classify("registers", fixture=REGISTERS),
    _classify("a grey picture", pictures=GREY),
    _classify("a JPEG", pictures=COFFEE),
    *(_classify(f"top_k {k}", {"top_k": k}) for k in (None, 0, 1, 3, 12, 100, -1, -20)),
    *(_classify(f"function {f}", {"function_to_apply": f, "top_k": 12}) for f in FUNCTIONS),
    _classify("function in capitals", {"function_to_apply": "SoftMax", "top_k": 2}),
    _classify("function unknown", {"function_to_apply": "default"}),
    _classify("a list of one", {"top_k": 2}, [CAT]),
    _classify("a list of three", {"top_k": 2}, [CAT, GREY, COFFEE]),
    _classify("a list in batches", {"top_k": 2, "batch_size": 2}, [CAT, GREY, COFFEE]),
    *(_classify(f"twelve labels, {p}", {"top_k": 3}, problem_type=p) for p in PROBLEMS),
    *(_classify(f"twelve labels, {p}, sigmoid asked", {"top_k": 3, "function_to_apply": "sigmoid"}, problem_type=p) for p in PROBLEMS),
    _classify("one label", fixture=ONE),
    *(_classify(f"one label, {p}", fixture=ONE, problem_type=p) for p in PROBLEMS),
    _classify("one label, softmax asked", {"function_to_apply": "softmax"}, fixture=ONE),
    _classify("one label, none asked", {"function_to_apply": "none"}, fixture=ONE, problem_type="multi_label_classification"),
)


def _extract(name: str, fixture: str, pictures: str | list[str] = CAT, **options: Any) -> Case:
    return Case(name, EXTRACT, fixture, pictures, options, processor={})


V3_SMALL = {"image_processor_kwargs": {"size": {"height": 64, "width": 96}}}
FAMILIES = ("dinov2-518", "dinov2-with-registers-518", "dinov3-vit-16", "dinov3-convnext")
EXTRACTION = (
    *(_extract(f"tokens, {fixture}", fixture) for fixture in FAMILIES),
    *(_extract(f"pooled, {fixture}", fixture, pool=True) for fixture in FAMILIES),
    _extract("processor options, dinov3-vit-16", "dinov3-vit-16", COFFEE, **V3_SMALL),
    _extract("processor options, dinov3-convnext", "dinov3-convnext", GREY, **V3_SMALL),
    _extract("a list of one", "dinov3-vit-16", [CAT], pool=True),
    _extract("a list of three", "dinov3-vit-16", [CAT, GREY, COFFEE], pool=True),
    _extract("a list in batches", "dinov3-vit-16", [CAT, GREY, COFFEE], pool=True, batch_size=2),
    Case("a classifier's checkpoint without its head", EXTRACT, TWELVE, CAT, {"pool": True}),
)


def _processor(case: Case) -> BaseImageProcessor:
    return AutoImageProcessor.from_pretrained(FIXTURES / case.fixture, **case.processor)


def _pipe(case: Case) -> Pipeline:
    folder = FIXTURES / case.fixture
    config = AutoConfig.from_pretrained(folder)
    for key, value in case.config.items():
        setattr(config, key, value)
    kind = AutoModelForImageClassification if case.task == CLASSIFY else AutoModel
    model = kind.from_pretrained(folder, config=config, dtype=torch.float32).eval()
    return pipeline(case.task, model=model, image_processor=_processor(case))


def _run(pipe: Pipeline, case: Case) -> Any:
    paths = [str(ROOT / p) for p in case.pictures] if isinstance(case.pictures, list) else str(ROOT / case.pictures)
    return pipe(paths, **copy.deepcopy(case.options))  # a pipeline adds to image_processor_kwargs


def _numbers(answer: Any) -> list[float]:
    if isinstance(answer, dict):
        return [answer["score"]]
    return [answer] if isinstance(answer, float) else [n for part in answer for n in _numbers(part)]


def _checked(case: Case) -> Any:
    """The answer, if float32 rounding cannot change it."""
    pipe = _pipe(case)
    answer = _run(pipe, case)
    pipe.model.double()
    exact = _run(pipe, case)
    error = max((abs(a - b) for a, b in zip(_numbers(answer), _numbers(exact), strict=True)), default=0.0)
    if error > MAX_ROUNDING:
        raise ArithmeticError(f"{case.name}: float32 is {error:g} away from float64")
    return answer


def _row(case: Case, features: Tensors) -> dict[str, Any]:
    row: dict[str, Any] = {"name": case.name, "task": case.task, "fixture": case.fixture, "pictures": case.pictures}
    row |= {"options": case.options, "config": case.config, "processor": case.processor}
    try:
        answer = _checked(case)
    except (ValueError, TypeError, IndexError) as error:
        return row | {"error": True, "transformers": type(error).__name__}
    if case.task == CLASSIFY:
        return row | {"expect": answer}
    answers = answer if isinstance(case.pictures, list) else [answer]
    names = [f"{case.name}/{number}" for number in range(len(answers))]
    features |= {name: torch.tensor(values) for name, values in zip(names, answers)}
    return row | {"expect": names if isinstance(case.pictures, list) else names[0]}


LOGITS = {
    "ties": [0.5, 2.0, 0.5, 2.0, -1.0, 0.5],
    "all alike": [0.0] * 6,
    "far apart": [200.0, -200.0, 0.0, 100.0, -100.0, 1.0],
    "two labels": [-0.25, 0.75],
    "one label": [-1.5],
}


def _scores(logits: list[float], problem: str | None, function: str | None) -> list[dict[str, Any]]:
    """The first labels and scores that the pipeline makes of logits."""
    labels = {i: f"c{i}" for i in range(len(logits))}
    config = Dinov2Config(num_hidden_layers=1, hidden_size=4, num_attention_heads=1, id2label=labels)
    config.problem_type = problem
    processor = AutoImageProcessor.from_pretrained(FIXTURES / TWELVE)
    pipe = pipeline(CLASSIFY, model=Dinov2ForImageClassification(config), image_processor=processor)
    _, _, options = pipe._sanitize_parameters(function_to_apply=function, top_k=TOP)
    return pipe.postprocess({"logits": torch.tensor([logits])}, **options)


def _postprocess() -> list[dict[str, Any]]:
    """Every function and problem type, from logits in float32."""
    rows = []
    for (name, logits), problem, function in product(LOGITS.items(), (None, *PROBLEMS), (None, *FUNCTIONS)):
        row = {"name": name, "logits": logits, "problem_type": problem, "function_to_apply": function, "top_k": TOP}
        rows.append(row | {"expect": _scores(logits, problem, function)})
    return rows


def _write(name: str, rows: list[dict[str, Any]]) -> None:
    text = ",\n".join(json.dumps(row, allow_nan=False) for row in rows)
    (OUT / name).write_text(f"[\n{text}\n]\n")


def main() -> None:
    quiet()
    OUT.mkdir(exist_ok=True)
    features: Tensors = {}
    rows = [_row(case, features) for case in (*CLASSIFICATION, *EXTRACTION)]
    _write("cases.json", rows)
    _write("postprocess.json", _postprocess())
    save_tensors(OUT / "features.safetensors", features, {"what": "answers of image-feature-extraction, by case and number of the picture"})
    print(len(rows), "cases,", sum("error" in row for row in rows), "refused,", len(features), "tensors")


if __name__ == "__main__":
    main()
