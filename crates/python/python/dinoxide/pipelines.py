"""`pipeline`: pictures in, answers out, as Transformers' pipelines for image classification and image feature
extraction.

A picture gives an answer, a list of pictures a list of answers, an iterator a generator. Files are decoded by
the engine; URLs within the limits of `dinoxide.load_image`. Everything runs on the CPU.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from .auto import AutoModel, AutoModelForImageClassification
from .configuration import AutoConfig
from .download import download
from .features import BatchFeature
from .image_processing import AutoImageProcessor
from .image_utils import load_image
from .pictures import as_array, is_source
from .sources import is_url
from .tensors import Tensor, is_torch

CLASSIFICATION = "image-classification"
FEATURES = "image-feature-extraction"
# What Transformers' `pipeline` takes for other tasks or backends.
_WITHOUT_EFFECT = ("use_fast", "tokenizer", "processor", "framework", "code_revision")


class Pipeline:
    """A model, its image processor, and what becomes of its outputs."""

    task: ClassVar[str]
    takes_arrays: ClassVar[bool] = False

    def __init__(
        self,
        model: Any,
        image_processor: Any,
        *,
        task: str | None = None,
        device: Any = None,
        batch_size: int | None = None,
        num_workers: int | None = None,
        **parameters: Any,
    ) -> None:
        if image_processor is None:
            raise ValueError(
                "a pipeline of a model object needs image_processor=, a processor or a checkpoint"
            )
        warn_of_device(device)
        self.model = model
        self.image_processor = image_processor
        self.batch_size = batch_size
        self.parameters = self.checked(parameters)

    @property
    def device(self) -> Any:
        """Where the model is: the CPU."""
        return getattr(self.model, "device", "cpu")

    @property
    def dtype(self) -> Any:
        """The dtype of the model's weights."""
        return getattr(self.model, "dtype", None)

    def __call__(
        self,
        inputs: Any = None,
        *,
        images: Any = None,
        batch_size: int | None = None,
        num_workers: int | None = None,
        **parameters: Any,
    ) -> Any:
        """Answers a picture, a list of them, or an iterator or dataset of them; `batch_size` at a time.

        A picture is a path, a URL, base64, the bytes of a file or a PIL image. What an iterator gives is
        taken when it is needed. `num_workers` is accepted, without effect.
        """
        inputs = images if inputs is None else inputs
        if inputs is None:
            raise ValueError(f"the {self.task} pipeline needs pictures")
        parameters = {**self.parameters, **self.checked(parameters)}
        size = batch_size or self.batch_size or 1
        if isinstance(inputs, (list, tuple)):
            return list(self.stream(inputs, size, parameters))
        if is_stream(inputs):
            return self.stream(items(inputs), size, parameters)
        return next(self.stream([inputs], 1, parameters))

    def transform(self, X: Any) -> Any:
        """The same as a call, by the name that scikit-learn uses."""
        return self(X)

    predict = transform

    def save_pretrained(self, save_directory: str | os.PathLike[str], **kwargs: Any) -> None:
        """Writes model and processor to a folder."""
        self.model.save_pretrained(save_directory, **kwargs)
        self.image_processor.save_pretrained(save_directory)

    def __repr__(self) -> str:
        model = type(self.model).__name__
        return f"{type(self).__name__}(model={model}, dtype={self.dtype}, device={self.device})"

    def stream(self, pictures: Iterable[Any], size: int, parameters: dict[str, Any]) -> Iterator[Any]:
        """The answers of pictures, computed `size` pictures at a time."""
        pictures = iter(pictures)
        while batch := list(islice(pictures, size)):
            inputs = [self.preprocess(picture, **self.of_processor(parameters)) for picture in batch]
            for outputs in self.forward(inputs):
                yield self.postprocess(outputs, **self.of_answer(parameters))

    def preprocess(
        self, image: Any, timeout: float | None = None, **image_processor_kwargs: Any
    ) -> BatchFeature:
        """A picture as `pixel_values` [1, 3, H, W]."""
        if isinstance(image, str) and is_url(image):
            image = download(image, timeout)
        elif (
            self.takes_arrays and not is_source(image) and (is_torch(image) or isinstance(image, np.ndarray))
        ):
            image = as_array(image)
        elif not is_source(image):
            image = load_image(image)
        batch: BatchFeature = self.image_processor(
            image, **{**image_processor_kwargs, "return_tensors": "np"}
        )
        return batch

    def forward(self, inputs: list[BatchFeature]) -> Iterator[Any]:
        """The model's outputs of each picture, together where their sizes are equal."""
        values = [batch["pixel_values"] for batch in inputs]
        if len(values) == 1 or any(value.shape != values[0].shape for value in values):
            yield from (self.model(pixel_values=value.view(Tensor)) for value in values)
            return
        outputs = self.model(pixel_values=np.concatenate(values).view(Tensor))
        rows = values[0].shape[0]
        for place in range(len(values)):
            part = slice(place * rows, (place + 1) * rows)
            yield type(outputs)(**{key: value[part] for key, value in outputs.items() if is_batched(value)})

    def checked(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """Parameters of a call or of the pipeline; those that are `None` count as not given."""
        raise NotImplementedError

    def of_processor(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """The parameters for `preprocess`."""
        return {"timeout": parameters.get("timeout"), **parameters.get("image_processor_kwargs", {})}

    def of_answer(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """The parameters for `postprocess`."""
        return {
            key: value
            for key, value in parameters.items()
            if key not in ("timeout", "image_processor_kwargs")
        }

    def postprocess(self, model_outputs: Any, **parameters: Any) -> Any:
        """The answer of a picture from its outputs."""
        raise NotImplementedError


class ImageClassificationPipeline(Pipeline):
    """Labels of pictures with their scores, best first: `[{"label": "cat", "score": 0.9}, …]` of each.

    Takes arrays and tensors beside what every pipeline takes.

    - `top_k`: how many labels (5).
    - `function_to_apply`: `"softmax"`, `"sigmoid"` or `"none"`; when not given, none for a regression, the
      sigmoid for several labels at once or a single one, else the softmax.
    - `timeout`: seconds to wait for a server of a URL.
    """

    task = CLASSIFICATION
    takes_arrays = True

    def checked(self, parameters: dict[str, Any]) -> dict[str, Any]:
        refuse_others(self.task, parameters, ("top_k", "function_to_apply", "timeout"))
        given = {key: value for key, value in parameters.items() if value is not None}
        function = given.get("function_to_apply")
        if function is not None:
            given["function_to_apply"] = function_name(function)
        return given

    def postprocess(
        self, model_outputs: Any, function_to_apply: str | None = None, top_k: int = 5, **parameters: Any
    ) -> list[dict[str, Any]]:
        """The `top_k` labels of a picture's logits."""
        config = self.model.config
        logits = np.asarray(as_array(model_outputs["logits"])[0], dtype=np.float32)
        scores = apply(function_to_apply or default_function(config), logits)
        answers = [{"label": config.id2label[i], "score": score.item()} for i, score in enumerate(scores)]
        answers.sort(key=lambda answer: answer["score"], reverse=True)
        return answers[: min(top_k, config.num_labels)]


class ImageFeatureExtractionPipeline(Pipeline):
    """Features of pictures: the last hidden states [1, S, D], or with `pool` the pooled output [1, D], as
    nested lists.

    - `pool`: whether to give `pooler_output`.
    - `return_tensors`: whether to give tensors instead of lists.
    - `image_processor_kwargs`: settings of the processor, such as `{"size": {"height": 100, "width": 100}}`.
    - `timeout`: seconds to wait for a server of a URL.
    """

    task = FEATURES

    def checked(self, parameters: dict[str, Any]) -> dict[str, Any]:
        refuse_others(self.task, parameters, ("pool", "return_tensors", "image_processor_kwargs", "timeout"))
        return {key: value for key, value in parameters.items() if value is not None}

    def postprocess(
        self, model_outputs: Any, pool: bool = False, return_tensors: bool = False, **parameters: Any
    ) -> Any:
        """A picture's features; `ValueError` where the model pools none."""
        if pool and model_outputs.get("pooler_output") is None:
            raise ValueError("pool=True needs a model that gives pooler_output")
        features = model_outputs["pooler_output"] if pool else model_outputs[0]
        return features if return_tensors else features.tolist()


CLASSES: dict[str, type[Pipeline]] = {
    CLASSIFICATION: ImageClassificationPipeline,
    FEATURES: ImageFeatureExtractionPipeline,
}


def pipeline(
    task: str | None = None,
    model: Any = None,
    config: Any = None,
    image_processor: Any = None,
    feature_extractor: Any = None,
    revision: str | None = None,
    token: str | bool | None = None,
    device: Any = None,
    device_map: Any = None,
    dtype: Any = "auto",
    trust_remote_code: bool | None = None,
    model_kwargs: dict[str, Any] | None = None,
    pipeline_class: type[Pipeline] | None = None,
    **kwargs: Any,
) -> Any:
    """A pipeline for `task`, `"image-classification"` or `"image-feature-extraction"`.

    `model` is a checkpoint (a folder, a hub id, `"builtin:tiny"`) or a model; then `image_processor` must be
    given, a processor or the checkpoint of one. Without a task, a model with a classifier classifies and any
    other extracts features. `device` may be anything: the CPU computes, which a warning says. `model_kwargs`
    go to the model's `from_pretrained`, and the other keyword arguments to the pipeline: `top_k`,
    `function_to_apply`, `pool`, `return_tensors`, `image_processor_kwargs`, `batch_size`, `timeout`.

    Raises `KeyError` for an unknown task, `RuntimeError` without task and model, `ValueError` without a model
    or processor, and what `from_pretrained` raises.
    """
    if model is None:
        missing = "a task or a model" if task is None else f"a model for {task}; there is no default"
        raise (RuntimeError if task is None else ValueError)(f"pipeline needs {missing}")
    for key in _WITHOUT_EFFECT:
        kwargs.pop(key, None)
    dtype = kwargs.pop("torch_dtype", dtype)  # its older name
    hub = {"revision": revision, "token": token, "local_files_only": kwargs.pop("local_files_only", None)}
    hub = {key: value for key, value in hub.items() if value is not None}
    processor = image_processor if image_processor is not None else feature_extractor
    is_checkpoint = isinstance(model, (str, os.PathLike))
    task = task or inferred_task(model, hub)
    if task not in CLASSES:
        raise KeyError(f"unknown task {task!r}, known are {', '.join(CLASSES)}")
    if processor is None and is_checkpoint:
        processor = model
    if isinstance(processor, (str, os.PathLike)):
        processor = AutoImageProcessor.from_pretrained(processor, **hub)
    if is_checkpoint:
        if isinstance(config, (str, os.PathLike)):
            config = AutoConfig.from_pretrained(config, **hub)
        options = {"dtype": dtype, "device_map": device_map, "config": config, **(model_kwargs or {}), **hub}
        options = {key: value for key, value in options.items() if value is not None}
        auto: Any = AutoModelForImageClassification if task == CLASSIFICATION else AutoModel
        model = auto.from_pretrained(model, **options)
    return (pipeline_class or CLASSES[task])(model, processor, task=task, device=device, **kwargs)


def inferred_task(model: Any, hub: dict[str, Any]) -> str:
    """The task that a model or a checkpoint is for: classification where it has a classifier."""
    if isinstance(model, (str, os.PathLike)):
        names = AutoConfig.from_pretrained(model, **hub).architectures or []
    else:
        names = [type(model).__name__]
    return CLASSIFICATION if any(name.endswith("ForImageClassification") for name in names) else FEATURES


def warn_of_device(device: Any) -> None:
    """Says that a device which is not the CPU is not used."""
    name = str(getattr(device, "type", device))
    if device is None or name in ("cpu", "-1") or name.startswith("cpu:"):
        return
    warnings.warn(f"device {device!r} is not used: dinoxide computes on the CPU", UserWarning, stacklevel=4)


def refuse_others(task: str, parameters: dict[str, Any], known: tuple[str, ...]) -> None:
    """Refuses parameters that a pipeline does not have."""
    for key in parameters:
        if key not in known:
            raise TypeError(f"the {task} pipeline has no parameter {key!r}; it has {', '.join(known)}")


def function_name(function: Any) -> str:
    """The name of `function_to_apply`, a text or an enum of it; `ValueError` for any other."""
    name = str(getattr(function, "value", function)).lower()
    if name not in ("softmax", "sigmoid", "none"):
        raise ValueError(f"function_to_apply must be 'softmax', 'sigmoid' or 'none', got {function!r}")
    return name


def default_function(config: Any) -> str:
    """What makes scores of logits where nothing is said."""
    if config.problem_type == "regression":
        return "none"
    if config.problem_type == "multi_label_classification" or config.num_labels == 1:
        return "sigmoid"
    return "softmax"


def apply(function: str, logits: np.ndarray) -> np.ndarray:
    """Scores [L] of logits [L]."""
    if function == "sigmoid":
        with np.errstate(over="ignore"):  # 1 / ∞ is the 0 that is meant
            scores: np.ndarray = 1.0 / (1.0 + np.exp(-logits))
    elif function == "softmax":
        exponentials = np.exp(logits - logits.max())
        scores = exponentials / exponentials.sum()
    else:
        scores = logits
    return scores


def is_batched(value: Any) -> bool:
    """Whether an output has a row for each picture."""
    return hasattr(value, "shape") and len(value.shape) > 0


def is_stream(inputs: Any) -> bool:
    """Whether inputs are an iterator, or a dataset of items, and not a picture."""
    if is_source(inputs) or isinstance(inputs, Mapping) or is_torch(inputs):
        return False
    if hasattr(inputs, "__array_interface__") or hasattr(inputs, "__array__"):
        return False
    return hasattr(inputs, "__iter__") or is_indexed(inputs)


def is_indexed(inputs: Any) -> bool:
    """Whether a dataset has a length and items by their place."""
    return hasattr(inputs, "__len__") and hasattr(inputs, "__getitem__")


def items(inputs: Any) -> Iterator[Any]:
    """The pictures of an iterator or a dataset, one by one."""
    return (inputs[place] for place in range(len(inputs))) if is_indexed(inputs) else iter(inputs)
