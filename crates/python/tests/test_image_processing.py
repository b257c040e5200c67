"""Image processors: settings, files, calls, beside Transformers' where it is installed."""

from __future__ import annotations

import inspect
import json
import pickle
from copy import copy, deepcopy
from pathlib import Path
from types import ModuleType
from typing import Any

import dinoxide
import numpy as np
import pytest
from dinoxide import BatchFeature, BitImageProcessor, DINOv3ViTImageProcessor
from tolerances import BYTES_MAX_ABS, FLOATS_MAX_ABS

NAMES = ("BitImageProcessor", "DINOv3ViTImageProcessor")
RNG = np.random.default_rng(7)
PIXELS = RNG.integers(0, 256, (37, 53, 3), dtype=np.uint8)
SETTINGS: list[dict[str, Any]] = [
    {},
    {"size": 64},
    {"size": [64, 50], "crop_size": 40, "do_center_crop": True},
    {"size": {"shortest_edge": 30, "longest_edge": 44}},
    {"size": {"max_height": 30, "max_width": 44}},
    {"do_resize": False, "do_center_crop": None},
    {"image_mean": [0.5, 0.4, 0.3], "image_std": (0.2, 0.3, 0.4)},
    {"image_mean": 0.5, "image_std": 0.25},
    {"do_normalize": False},
    {"do_rescale": False, "do_normalize": False},
    {"do_center_crop": None, "image_std": None, "do_normalize": False},
    {"resample": 0},
    {"resample": 1},
    {"resample": 2, "do_pad": True, "pad_size": {"height": 300, "width": 310}},
    {"rescale_factor": 1 / 128, "do_convert_rgb": True},
    {"size": 40, "default_to_square": True},
    {
        "note": "kept",
        "_valid_processor_keys": ["size"],
        "feature_extractor_type": "old",
        "processor_class": "old",
    },
]


def both(transformers: ModuleType, name: str, settings: dict[str, Any]) -> tuple[Any, Any]:
    return getattr(dinoxide, name)(**settings), getattr(transformers, name)(**settings)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_settings_files_and_pixels_are_transformers(
    transformers: ModuleType, name: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    ours, theirs = both(transformers, name, settings)
    assert ours.to_json_string() == theirs.to_json_string()
    assert repr(ours) == repr(theirs)
    assert ours.to_dict() == theirs.to_dict()
    written = [Path(p.save_pretrained(tmp_path / w)[0]) for w, p in (("ours", ours), ("theirs", theirs))]
    assert written[0].name == written[1].name
    assert written[0].read_bytes() == written[1].read_bytes()
    again = dinoxide.AutoImageProcessor.from_pretrained(tmp_path / "theirs")
    assert type(again) is type(ours) and again.to_dict() == ours.to_dict()
    got, want = (p(PIXELS, return_tensors="np")["pixel_values"] for p in (ours, theirs))
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_allclose(
        got.astype(float), want, rtol=0, atol=FLOATS_MAX_ABS if name.startswith("D") else BYTES_MAX_ABS
    )


@pytest.mark.parametrize("override", SETTINGS[:-2], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_what_a_call_says_holds_for_that_call_as_in_transformers(
    transformers: ModuleType, name: str, override: dict[str, Any]
) -> None:
    ours, theirs = both(transformers, name, {"size": {"height": 20, "width": 30}})
    got, want = (p(PIXELS, return_tensors="np", **override)["pixel_values"] for p in (ours, theirs))
    assert got.shape == want.shape
    np.testing.assert_allclose(
        got.astype(float), want, rtol=0, atol=FLOATS_MAX_ABS if name.startswith("D") else BYTES_MAX_ABS
    )
    assert ours(PIXELS, return_tensors="np")["pixel_values"].shape[2:] != (0, 0)
    assert ours.to_dict() == theirs.to_dict()


@pytest.mark.parametrize("name", NAMES)
def test_the_constructor_shows_transformers_defaults(transformers: ModuleType, name: str) -> None:
    parameters = inspect.signature(getattr(dinoxide, name)).parameters
    theirs = getattr(transformers, name)()
    for key, parameter in parameters.items():
        if key != "kwargs":
            value = getattr(theirs, key)
            assert parameter.default == (dict(value) if hasattr(value, "shortest_edge") else value), key
    assert list(getattr(dinoxide, name).image_mean) == list(getattr(transformers, name).image_mean)
    for key in ("size", "do_resize", "resample", "default_to_square", "rescale_factor"):
        assert getattr(getattr(dinoxide, name), key) == getattr(getattr(transformers, name), key)


def test_a_derived_class_may_have_other_defaults(tmp_path: Path) -> None:
    class Small(BitImageProcessor):
        size = 40
        do_center_crop = False

    processor = Small()
    assert processor.size == {"shortest_edge": 40} and processor.do_center_crop is False
    assert Small(size=50).size == {"shortest_edge": 50}
    assert processor(PIXELS, return_tensors="np").pixel_values.shape == (1, 3, 40, 57)
    processor.save_pretrained(tmp_path)
    assert dinoxide.AutoImageProcessor.from_pretrained(tmp_path).size == {"shortest_edge": 40}


def test_sizes_have_keys_and_attributes() -> None:
    processor = BitImageProcessor(size=96)
    assert processor.size == {"shortest_edge": 96}
    assert processor.size["shortest_edge"] == processor.size.shortest_edge == 96
    assert processor.size.height is None and processor.size["height"] is None
    assert "height" not in processor.size and dict(processor.crop_size) == {"height": 224, "width": 224}


def test_attributes_can_be_set_and_count_from_then_on() -> None:
    processor = BitImageProcessor()
    processor.size, processor.do_center_crop, processor.resample = 40, False, "bilinear"
    assert processor(PIXELS, return_tensors="np").pixel_values.shape == (1, 3, 40, 57)
    fresh = BitImageProcessor(size=40, do_center_crop=False, resample=2)
    assert np.array_equal(processor(PIXELS)["pixel_values"][0], fresh(PIXELS)["pixel_values"][0])
    assert BitImageProcessor.size == {"shortest_edge": 224}


def test_settings_may_be_numpys_numbers() -> None:
    want = BitImageProcessor(size={"shortest_edge": 40}, image_mean=[0.5, 0.25, 0.5], rescale_factor=0.25)
    got = BitImageProcessor(
        size={"shortest_edge": np.int64(40)},
        image_mean=np.array([0.5, 0.25, 0.5], np.float32),
        rescale_factor=np.float32(0.25),  # type: ignore[arg-type]
    )
    assert got.to_json_string() == want.to_json_string()
    assert np.array_equal(got(PIXELS)["pixel_values"][0], want(PIXELS)["pixel_values"][0])


def test_a_filter_is_a_number_an_enum_or_a_name() -> None:
    image = pytest.importorskip("PIL.Image")
    processor = DINOv3ViTImageProcessor(size=20)
    for number, name in ((0, "nearest"), (1, "lanczos"), (2, "bilinear"), (3, "bicubic")):
        want = processor(PIXELS, resample=number)["pixel_values"][0]
        for form in (name, name.upper(), image.Resampling(number)):
            assert np.array_equal(processor(PIXELS, resample=form)["pixel_values"][0], want)
    with pytest.raises(ValueError, match="resample"):
        processor(PIXELS, resample="sharp")


def test_wrong_arguments_of_a_call_are_told() -> None:
    processor = BitImageProcessor()
    for error, override in (
        (TypeError, {"colour": 1}),
        (TypeError, {"do_resize": "yes"}),
        (TypeError, {"do_resize": 1}),
        (ValueError, {"size": "big"}),
        (ValueError, {"size": {"side": 3}}),
        (ValueError, {"size": None}),
        (ValueError, {"image_mean": None}),
        (ValueError, {"image_mean": [0.5, 0.5]}),
        (ValueError, {"rescale_factor": None}),
        (ValueError, {"resample": 7}),
        (ValueError, {"resample": None}),
        (ValueError, {"resample": 4}),
        (ValueError, {"return_tensors": "tf"}),
        (ValueError, {"input_data_format": "sideways"}),
    ):
        with pytest.raises(error, match=next(iter(override))):
            processor(PIXELS, **override)  # type: ignore[arg-type]


def test_what_changes_nothing_is_accepted() -> None:
    processor = BitImageProcessor()
    want = processor(PIXELS)["pixel_values"][0]
    given = {
        "device": "cuda",
        "data_format": "channels_last",
        "disable_grouping": True,
        "image_seq_length": 3,
    }
    assert np.array_equal(processor(PIXELS, **given)["pixel_values"][0], want)  # type: ignore[arg-type]
    assert np.array_equal(processor.preprocess(images=PIXELS)["pixel_values"][0], want)


@pytest.mark.parametrize("kind", ["copy", "deepcopy", "pickle", "dict", "json"])
def test_copies_are_the_same_processor_and_its_own(kind: str, tmp_path: Path) -> None:
    processor = DINOv3ViTImageProcessor(size={"height": 32, "width": 48}, note=[1])
    processor.save_pretrained(tmp_path)
    processor(PIXELS)
    other = {
        "copy": lambda: copy(processor),
        "deepcopy": lambda: deepcopy(processor),
        "pickle": lambda: pickle.loads(pickle.dumps(processor)),
        "dict": lambda: DINOv3ViTImageProcessor.from_dict(processor.to_dict()),
        "json": lambda: DINOv3ViTImageProcessor.from_json_file(tmp_path / "preprocessor_config.json"),
    }[kind]()
    assert type(other) is DINOv3ViTImageProcessor and other.to_dict() == processor.to_dict()
    assert np.array_equal(other(PIXELS)["pixel_values"][0], processor(PIXELS)["pixel_values"][0])
    other.size = 20
    assert processor.size == {"height": 32, "width": 48}


def test_from_pretrained_takes_overrides_and_gives_back_what_it_does_not_know(fixtures: Path) -> None:
    source = fixtures / "dinov2"
    processor, unused = BitImageProcessor.from_pretrained(
        source, size=99, do_normalize=False, colour=1, local_files_only=True, return_unused_kwargs=True
    )
    assert unused == {"colour": 1}
    assert processor.size == {"shortest_edge": 99} and processor.do_normalize is False
    assert BitImageProcessor.from_pretrained(str(source / "preprocessor_config.json")).to_dict() == (
        dinoxide.AutoImageProcessor.from_pretrained(source).to_dict()
    )


def test_every_fixture_opens_as_in_transformers(transformers: ModuleType, fixtures: Path) -> None:
    files = sorted(fixtures.glob("*/preprocessor_config.json"))
    assert len(files) >= 50
    for file in files:
        ours = dinoxide.AutoImageProcessor.from_pretrained(file.parent)
        theirs = transformers.AutoImageProcessor.from_pretrained(file.parent)
        assert type(ours).__name__ == type(theirs).__name__ and ours.to_dict() == theirs.to_dict()


@pytest.mark.parametrize("name", ["BitImageProcessor", "BitImageProcessorFast", "BitImageProcessorPil", None])
def test_the_type_of_a_file_chooses_the_class(name: str | None, tmp_path: Path) -> None:
    (tmp_path / "preprocessor_config.json").write_text(json.dumps({"image_processor_type": name, "size": 50}))
    (tmp_path / "config.json").write_text('{"model_type": "dinov2"}')
    processor = dinoxide.AutoImageProcessor.from_pretrained(tmp_path, use_fast=True, trust_remote_code=False)
    assert type(processor) is BitImageProcessor and processor.size == {"shortest_edge": 50}


def test_a_processor_config_shadows_the_file_and_unknown_keys_stay(tmp_path: Path) -> None:
    (tmp_path / "preprocessor_config.json").write_text('{"image_processor_type": "BitImageProcessor"}')
    nested = {"image_processor": {"image_processor_type": "DINOv3ViTImageProcessorFast", "note": "kept"}}
    (tmp_path / "processor_config.json").write_text(json.dumps(nested))
    processor = dinoxide.AutoImageProcessor.from_pretrained(tmp_path)
    assert type(processor) is DINOv3ViTImageProcessor and processor.to_dict()["note"] == "kept"


def test_a_null_of_a_file_is_overridden_by_an_argument(tmp_path: Path) -> None:
    (tmp_path / "preprocessor_config.json").write_text(
        '{"image_processor_type": "BitImageProcessor", "size": null}'
    )
    with pytest.raises(ValueError, match="size"):
        dinoxide.AutoImageProcessor.from_pretrained(tmp_path)(PIXELS)
    processor = dinoxide.AutoImageProcessor.from_pretrained(tmp_path, size=50)
    assert processor(PIXELS, return_tensors="np").pixel_values.shape == (1, 3, 224, 224)


def test_what_cannot_be_opened_says_so_by_its_kind(fixtures: Path, tmp_path: Path) -> None:
    auto = dinoxide.AutoImageProcessor.from_pretrained
    with pytest.raises(FileNotFoundError, match="nothing-there"):
        auto(tmp_path / "nothing-there")
    with pytest.raises(FileNotFoundError):
        auto(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text("{")
    with pytest.raises(OSError):
        auto(tmp_path)
    with pytest.raises(OSError, match="JSON"):
        auto(tmp_path / "preprocessor_config.json")
    (tmp_path / "preprocessor_config.json").write_text('{"image_processor_type": "ViTImageProcessor"}')
    for source in (tmp_path, tmp_path / "preprocessor_config.json"):
        with pytest.raises(ValueError, match="ViTImageProcessor"):
            auto(source)
    with pytest.raises(ValueError, match="DINOv3ViTImageProcessor"):
        BitImageProcessor.from_pretrained(fixtures / "dinov3-vit")
    with pytest.raises(OSError, match="from_pretrained"):
        dinoxide.AutoImageProcessor()
    with pytest.raises(ValueError, match="push_to_hub"):
        BitImageProcessor().save_pretrained(tmp_path, push_to_hub=True)
    with pytest.raises(ValueError, match="`force_download`"):
        auto("builtin:tiny", force_download=True)


def test_the_built_in_processor_opens() -> None:
    processor = dinoxide.AutoImageProcessor.from_pretrained("builtin:tiny")
    assert type(processor) is BitImageProcessor
    assert processor.image_processor_type == "BitImageProcessor"
    assert processor(PIXELS, return_tensors="np")["pixel_values"].shape[:2] == (1, 3)


def test_a_batch_feature_is_a_dictionary_with_attributes() -> None:
    batch = BitImageProcessor(size=40, crop_size=32)([PIXELS, PIXELS], return_tensors="np")
    assert list(batch) == list(batch.keys()) == ["pixel_values"] and len(batch) == 1
    assert batch.pixel_values is batch["pixel_values"] and batch["pixel_values"].shape == (2, 3, 32, 32)
    assert {**batch}["pixel_values"] is batch["pixel_values"]
    assert (lambda pixel_values: pixel_values)(**batch) is batch["pixel_values"]
    for other in (pickle.loads(pickle.dumps(batch)), copy(batch), deepcopy(batch)):
        assert type(other) is BatchFeature and np.array_equal(other.pixel_values, batch.pixel_values)
    with pytest.raises(AttributeError, match="labels"):
        _ = batch.labels
    with pytest.raises(KeyError):
        batch[0]  # type: ignore[index]


def test_without_return_tensors_there_is_a_list() -> None:
    processor = BitImageProcessor(size=40, do_center_crop=False)
    batch = processor([PIXELS, PIXELS[:, :40]])
    assert [value.shape for value in batch["pixel_values"]] == [(3, 40, 57), (3, 40, 43)]
    with pytest.raises(ValueError, match=r"do_pad.*return_tensors"):
        processor([PIXELS, PIXELS[:, :40]], return_tensors="np")
    padded = processor([PIXELS, PIXELS[:, :40]], return_tensors="np", do_pad=True)["pixel_values"]
    assert padded.shape == (2, 3, 40, 57) and not padded[1, :, :, 43:].any()
    assert np.array_equal(padded[1, :, :, :43], batch["pixel_values"][1])


def test_a_batch_feature_makes_tensors_of_numbers_only() -> None:
    batch = BatchFeature(
        {"a": [[1, 2], [3, 4]], "name": "x", "b": [np.ones(2), np.ones(2)]}, tensor_type="np"
    )
    assert batch["a"].shape == (2, 2) and batch["name"] == "x" and batch["b"].shape == (2, 2)
    kept = BatchFeature({"a": [1, 2]}, tensor_type="np", skip_tensor_conversion=["a"])
    assert kept["a"] == [1, 2]
    with pytest.raises(ValueError, match="shapes"):
        BatchFeature({"a": [np.ones(2), np.ones(3)]}, tensor_type="np")


def test_pt_gives_torch_tensors_without_a_copy() -> None:
    torch = pytest.importorskip("torch")
    batch = BitImageProcessor(size=40, crop_size=32)([PIXELS, PIXELS], return_tensors="pt")
    assert isinstance(batch["pixel_values"], torch.Tensor) and batch["pixel_values"].dtype == torch.float32
    moved = batch.to("cpu", torch.float16)
    assert moved is batch and batch["pixel_values"].dtype == torch.float16
    assert batch.to(torch.bfloat16)["pixel_values"].dtype == torch.bfloat16
    labels = BatchFeature({"labels": torch.tensor([1])}).to("cpu", torch.float16)
    assert labels["labels"].dtype == torch.int64
