"""Arguments that programs get wrong, or that only look right: arrays at odd places in memory, of no numbers,
of other shapes; keyword arguments of Transformers; copies of models."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import dinoxide
import numpy as np
import pytest

PIXELS = np.random.default_rng(5).standard_normal((2, 3, 28, 28)).astype(np.float32)


@pytest.fixture(scope="module")
def model(fixtures: Path) -> Any:
    return dinoxide.Dinov2Model.from_pretrained(fixtures / "dinov2")


@pytest.fixture(scope="module")
def classifier(fixtures: Path) -> Any:
    return dinoxide.AutoModelForImageClassification.from_pretrained(fixtures / "dinov2-classifier")


def tokens(model: Any, pixel_values: Any, **kwargs: Any) -> np.ndarray:
    return np.asarray(model(pixel_values, **kwargs).last_hidden_state)


def off_by_one(array: np.ndarray) -> np.ndarray:
    """The same numbers at an odd address."""
    odd = (
        np.frombuffer(bytearray(array.nbytes + 1), np.uint8, offset=1).view(array.dtype).reshape(array.shape)
    )
    odd[...] = array
    return odd


def in_records(array: np.ndarray, other: str) -> np.ndarray:
    """The same numbers as a field of packed records, `other` being the dtype of the field before."""
    records = np.zeros(array.shape, np.dtype([("other", other), ("value", array.dtype)]))
    records["value"] = array
    return records["value"]


@pytest.mark.parametrize("other", ["u1", "u2", "f4", "f8"])
def test_numbers_in_packed_records_are_read_where_they_are(model: Any, other: str) -> None:
    assert np.array_equal(tokens(model, in_records(PIXELS, other)), tokens(model, PIXELS))


def test_arrays_at_odd_addresses_are_taken(model: Any, classifier: Any) -> None:
    assert np.array_equal(tokens(model, off_by_one(PIXELS)), tokens(model, PIXELS))
    labels = np.array([1, 0])
    assert classifier(PIXELS, off_by_one(labels)).loss == classifier(PIXELS, labels).loss
    picture = np.random.default_rng(0).random((30, 40, 3), np.float32)
    processor = dinoxide.BitImageProcessor(do_rescale=False)
    for given in (off_by_one(picture), in_records(picture, "u1"), in_records(picture, "u2")):
        assert np.array_equal(processor(given)["pixel_values"][0], processor(picture)["pixel_values"][0])


@pytest.mark.parametrize("dtype", ["complex64", "U8", "S8", "M8[s]", "m8[s]"])
def test_what_is_no_real_number_is_a_type_error(model: Any, classifier: Any, dtype: str) -> None:
    mask = np.zeros((2, 49), int).astype(dtype)
    for call in (
        lambda: model(np.zeros(PIXELS.shape, int).astype(dtype)),
        lambda: model(PIXELS, mask),
        lambda: classifier(PIXELS, np.zeros(2, int).astype(dtype)),
    ):
        with pytest.raises(
            TypeError, match=r"(pixel_values|bool_masked_pos|labels) must hold real numbers, got"
        ):
            call()


@pytest.mark.parametrize("name", ["bool_masked_pos", "attention_mask"])
@pytest.mark.parametrize("shape", [(49,), (2, 1, 1, 50), ()])
def test_a_mask_of_another_rank_is_a_value_error_that_names_it(
    model: Any, name: str, shape: tuple[int, ...]
) -> None:
    with pytest.raises(ValueError, match=f"{name} has shape"):
        model(PIXELS, **{name: np.ones(shape)})


class Lends:
    """Lends its memory as libraries do whose dtypes or devices numpy does not know."""

    def __init__(self, array: np.ndarray | None) -> None:
        self.array = array

    def __dlpack__(self, **_kwargs: Any) -> Any:
        raise BufferError("cannot export readonly array")

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class LendsACopy(Lends):
    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        assert self.array is not None
        return self.array


def test_an_array_whose_memory_cannot_be_lent_is_read_by_array(model: Any) -> None:
    assert np.array_equal(tokens(model, LendsACopy(PIXELS)), tokens(model, PIXELS))
    with pytest.raises(TypeError, match="Lends cannot be read as an array: cannot export"):
        model(Lends(None))


def test_tensors_with_a_pending_sign_are_taken(model: Any, torch: Any) -> None:
    pixels = torch.from_numpy(PIXELS)
    pending = torch.complex(torch.zeros_like(pixels), -pixels).conj().imag
    assert pending.is_neg()
    assert np.array_equal(model(pending).last_hidden_state.numpy(), tokens(model, PIXELS))


@pytest.mark.parametrize("asked", [range(2), (0, 1), np.array([0, 1]), [np.int64(0), 1]])
def test_hidden_states_may_be_chosen_by_any_sequence_of_whole_numbers(model: Any, asked: Any) -> None:
    assert len(model(PIXELS, output_hidden_states=asked).hidden_states) == 2
    assert len(model(PIXELS, output_hidden_states=np.int64(2)).hidden_states) == 1
    for wrong in ([1.5], "all", 1.0):
        with pytest.raises(TypeError):
            model(PIXELS, output_hidden_states=wrong)


def test_the_number_of_items_may_be_a_float_or_a_tensor_but_not_negative(classifier: Any) -> None:
    loss = classifier(PIXELS, [0, 1], num_items_in_batch=4).loss
    for count in (4.0, np.int64(4), np.array(4), np.float32(4)):
        assert classifier(PIXELS, [0, 1], num_items_in_batch=count).loss == loss
    for wrong in (-1, 1.5, float("nan"), float("inf"), "4"):
        with pytest.raises(ValueError, match="num_items_in_batch"):
            classifier(PIXELS, [0, 1], num_items_in_batch=wrong)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"key_mapping": None},
        {"device_mesh": None},
        {"generation_config": None},
        {"use_kernels": False},
        {"experts_implementation": None},
        {"disable_mmap": True},
        {"_commit_hash": None},
        {"attn_implementation": {"": "sdpa"}},
        {"num_labels": np.int64(3)},
    ],
)
def test_arguments_that_transformers_takes_are_taken(fixtures: Path, kwargs: dict[str, Any]) -> None:
    dinoxide.AutoModel.from_pretrained(fixtures / "dinov2", **kwargs)


@pytest.mark.parametrize(
    ("kwargs", "kind", "text"),
    [
        ({"token": 5}, TypeError, "token must be a str, got a int"),
        ({"revision": 5}, TypeError, "revision must be a str"),
        ({"isa": 5}, TypeError, "isa must be a str"),
        ({"num_threads": -1}, ValueError, "num_threads must be a whole number"),
        ({"num_threads": 1 << 70}, ValueError, "num_threads must be a whole number"),
        ({"num_threads": 1.5}, TypeError, "num_threads must be a whole number, got a float"),
        ({"config": {"hidden_size": 3}}, TypeError, "config must be a config of this package"),
        ({"hidden_dropout_prob": float("nan")}, ValueError, "hidden_dropout_prob"),
        ({"hidden_size": {1}}, ValueError, "hidden_size"),
    ],
)
def test_wrong_arguments_are_named(
    fixtures: Path, kwargs: dict[str, Any], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=text):
        dinoxide.AutoModel.from_pretrained(fixtures / "dinov2", **kwargs)


def test_counts_out_of_range_are_value_errors(model: Any) -> None:
    with pytest.raises(ValueError, match="num_threads"):
        model.num_threads = -1
    for seed in (-1, 1 << 64):
        with pytest.raises(ValueError, match="seed"):
            dinoxide.Dinov2Model(model.config, seed=seed)


def test_a_config_may_be_given_as_its_folder(fixtures: Path) -> None:
    folder = fixtures / "dinov2"
    assert dinoxide.AutoModel.from_pretrained(folder, config=str(folder)).config.hidden_size == 32


@pytest.mark.parametrize(
    "data", [b"\xff\xfe{}", b"[" * 100_000, b" " * (5 << 20)], ids=["bytes", "deep", "long"]
)
def test_a_file_that_is_no_json_is_an_os_error(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "some.json"
    file.write_bytes(data)
    for opening in (
        dinoxide.AutoConfig.from_pretrained,
        dinoxide.Dinov2Config.from_json_file,
        dinoxide.AutoImageProcessor.from_pretrained,
        dinoxide.BitImageProcessor.from_json_file,
    ):
        with pytest.raises(OSError, match=r"some\.json"):
            opening(file)


def test_a_batch_without_pictures_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="there are no images in it"):
        dinoxide.BitImageProcessor()(np.zeros((0, 30, 30, 3), np.uint8))


def test_other_arguments_of_to_are_no_devices(model: Any, recwarn: pytest.WarningsRecorder) -> None:
    assert model.to("cpu", non_blocking=True) is model
    assert not recwarn.list
    with pytest.warns(UserWarning, match="there is no device 0"):
        model.to(0)


COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
}


@pytest.mark.parametrize("way", COPIES)
def test_a_copy_of_a_model_is_as_the_model_is_now(fixtures: Path, way: str) -> None:
    model = dinoxide.Dinov2Backbone.from_pretrained(fixtures / "dinov2-backbone")
    model.out_indices = [0, 1]
    model.set_attn_implementation("eager")
    model.config.output_hidden_states = True
    model.num_threads = 1
    model.note = "mine"
    other = COPIES[way](model)
    ours, theirs = other(PIXELS), model(PIXELS)
    assert len(ours.feature_maps) == 2 and ours.hidden_states is not None
    assert all(np.array_equal(a, b) for a, b in zip(ours.feature_maps, theirs.feature_maps, strict=True))
    assert (other.attn_implementation, other.num_threads, other.note) == ("eager", 1, "mine")


def test_a_copy_is_set_by_itself(fixtures: Path) -> None:
    model = dinoxide.Dinov2Backbone.from_pretrained(fixtures / "dinov2-backbone", num_threads=2)
    other = copy.deepcopy(model)
    other.num_threads = 1
    other.out_indices = [0, 1]
    other.config.output_hidden_states = True
    assert model.num_threads == 2
    assert len(model(PIXELS).feature_maps) == 1 and model(PIXELS).hidden_states is None


def test_a_model_with_random_weights_can_be_copied() -> None:
    config = dinoxide.Dinov2Config(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=2, image_size=28, patch_size=4
    )
    model = dinoxide.Dinov2Model(config, seed=1)
    for way in ("copy", "deepcopy"):
        assert np.array_equal(tokens(COPIES[way](model), PIXELS), tokens(model, PIXELS))
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(model)
