"""Pictures in every form: PIL modes, arrays, tensors, files; beside Transformers where it is installed."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from types import ModuleType
from typing import Any

import dinoxide
import numpy as np
import pytest
from dinoxide import BitImageProcessor, DINOv3ViTImageProcessor
from tolerances import BYTES_MAX_ABS, FLOATS_MAX_ABS, FLOATS_RELATIVE, HALVES_MAX_ABS, LEVEL_MAX_ABS

RNG = np.random.default_rng(11)
RGB = RNG.integers(0, 256, (37, 53, 3), dtype=np.uint8)
BIT = BitImageProcessor(size=30, crop_size=24)
DINO = DINOv3ViTImageProcessor(size=24)
MODES = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBa", "RGBX", "CMYK", "YCbCr", "LAB", "HSV", "I", "F")
SETTINGS: list[dict[str, Any]] = [
    {},
    {"do_convert_rgb": True},
    {"do_rescale": False, "do_normalize": False},
    {"do_resize": False, "do_center_crop": False},
]


def values(processor: Any, image: Any, **overrides: Any) -> np.ndarray:
    out = processor(image, return_tensors="np", **overrides)["pixel_values"]
    assert isinstance(out, np.ndarray)
    return out


def in_mode(mode: str) -> Any:
    """A random PIL image in a mode."""
    image = pytest.importorskip("PIL.Image")
    bands = {"I": 4, "F": 4}.get(mode, len(image.new(mode, (1, 1)).getbands()))
    if mode == "I":
        return image.fromarray(RNG.integers(-50, 400, (37, 53), dtype=np.int32))
    if mode == "F":
        return image.fromarray(RNG.uniform(-20, 300, (37, 53)).astype(np.float32))
    if mode == "1":
        return image.fromarray(RGB).convert("1")
    picture = image.frombytes(mode, (53, 37), RNG.integers(0, 256, 37 * 53 * bands, dtype=np.uint8).tobytes())
    if mode in ("P", "PA"):
        picture.putpalette(RNG.integers(0, 256, 768, dtype=np.uint8).tobytes())
    return picture


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("name", ["BitImageProcessor", "DINOv3ViTImageProcessor"])
@pytest.mark.parametrize("mode", MODES)
def test_a_pil_image_of_every_mode_is_treated_as_in_transformers(
    transformers: ModuleType, mode: str, name: str, settings: dict[str, Any]
) -> None:
    image = in_mode(mode)
    settings = {"size": {"height": 24, "width": 30}, **settings}
    ours, theirs = getattr(dinoxide, name)(**settings), getattr(transformers, name)(**settings)
    try:
        want = values(theirs, image)
    except (RuntimeError, ValueError):
        with pytest.raises(ValueError, match="do_convert_rgb|La|RGBa"):
            values(ours, image)
        return
    if want.shape[1] == 2:  # two channels that nothing normalises: no model takes them
        with pytest.raises(ValueError, match="do_convert_rgb"):
            values(ours, image)
        return
    got = values(ours, image)
    assert got.shape == want.shape
    if name.startswith("Bit") and got.dtype.kind == want.dtype.kind == "u" or mode not in ("I", "F"):
        np.testing.assert_allclose(got.astype(float), want.astype(float), rtol=0, atol=FLOATS_MAX_ABS)
    else:  # sums of floats far from 0..255
        np.testing.assert_allclose(
            got.astype(float), want.astype(float), rtol=FLOATS_RELATIVE, atol=FLOATS_MAX_ABS
        )


@pytest.mark.parametrize("kind", ["P", "L", "RGB"])
def test_a_transparent_colour_is_white_as_in_transformers(transformers: ModuleType, kind: str) -> None:
    image = in_mode(kind)
    key: Any = {"P": 3, "L": 128, "RGB": tuple(int(v) for v in np.asarray(in_mode("RGB"))[0, 0])}[kind]
    image.info["transparency"] = tuple(int(v) for v in np.asarray(image)[2, 5]) if kind == "RGB" else key
    want = values(transformers.BitImageProcessor(size=30, crop_size=24), image)
    assert np.array_equal(values(BIT, image), want)


def test_16_bit_grey_keeps_its_high_byte_from_a_file_and_from_pillow(fixtures: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    path = fixtures / "pictures/grey-16-bit.png"
    with image.open(path) as opened:
        assert opened.mode.startswith("I")
        wide = np.asarray(opened)
        for processor in (BIT, DINO):
            got = values(processor, opened)
            assert np.array_equal(got, values(processor, path))
            assert np.array_equal(got, values(processor, (wide >> 8).astype(np.uint8)))
        assert np.array_equal(np.asarray(dinoxide.load_image(opened))[..., 0], wide >> 8)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int16", "uint16", "int32", "int64", "float16", "float32"]
)
@pytest.mark.parametrize("shape", [(37, 53, 3), (3, 37, 53), (37, 53, 1), (1, 37, 53)])
def test_an_array_of_every_dtype_is_treated_as_in_transformers(
    transformers: ModuleType, dtype: str, shape: tuple[int, ...]
) -> None:
    array = RNG.integers(0, 2 if dtype == "bool" else 128, shape).astype(dtype)
    # Smooth, so that no sum of the resize passes what the dtype holds, which torch would wrap around.
    array = array if dtype == "bool" else np.sort(np.sort(array // 2 + 20, axis=0), axis=1).astype(dtype)
    for name, processor in (("BitImageProcessor", BIT), ("DINOv3ViTImageProcessor", DINO)):
        theirs = getattr(transformers, name)(
            **({"size": 30, "crop_size": 24} if name[0] == "B" else {"size": 24})
        )
        want = values(theirs, array).astype(np.float32)
        floats = HALVES_MAX_ABS if dtype == "float16" else FLOATS_MAX_ABS
        most = LEVEL_MAX_ABS if np.dtype(dtype).kind in "iu" and name[0] == "B" else floats
        np.testing.assert_allclose(values(processor, array), want, rtol=0, atol=most)
        whole = {"do_resize": False, "do_center_crop": False}
        want = values(theirs, array, **whole)
        np.testing.assert_allclose(
            values(processor, array, **whole),
            want.astype(np.float32),
            rtol=0,
            atol=HALVES_MAX_ABS if dtype == "float16" else BYTES_MAX_ABS,
        )


def test_integers_that_nothing_makes_floats_of_keep_their_dtype() -> None:
    whole = {"do_rescale": False, "do_normalize": False}
    for dtype in ("uint8", "int16", "int64", "bool"):
        array = RGB.astype(dtype)
        out = values(BIT, array, **whole, do_resize=False, do_center_crop=False)
        assert out.dtype == dtype and np.array_equal(out[0].transpose(1, 2, 0), array)
        assert values(BIT, array, **whole).dtype == dtype


def test_alpha_of_an_array_goes_on_white_as_in_transformers(transformers: ModuleType) -> None:
    rgba = RNG.integers(0, 256, (37, 53, 4), dtype=np.uint8)
    theirs = transformers.BitImageProcessor(size=30, crop_size=24)
    assert np.array_equal(values(BIT, rgba), values(theirs, rgba))
    floats = (rgba / 255).astype(np.float32)
    want = values(theirs, floats, do_rescale=False)
    np.testing.assert_allclose(values(BIT, floats, do_rescale=False), want, rtol=0, atol=FLOATS_MAX_ABS)
    with pytest.raises(ValueError, match="between 0 and 1"):
        BIT(rgba.astype(np.float32))
    with pytest.raises(ValueError, match="four channels"):
        BIT(rgba.astype(np.int32))


def test_layout_strides_and_kind_of_an_array_change_nothing() -> None:
    want = values(BIT, RGB)
    planes = RGB.transpose(2, 0, 1)
    padded = np.zeros((74, 53, 6), np.uint8)
    padded[::2, :, ::2] = RGB
    reading = RGB.copy()
    reading.flags.writeable = False

    class Wrapped:
        __array_interface__ = RGB.__array_interface__

    class Capsule:
        def __dlpack__(self, **kwargs: Any) -> Any:
            return RGB.__dlpack__(**kwargs)

        def __dlpack_device__(self) -> Any:
            return RGB.__dlpack_device__()

    forms = (
        planes,
        planes.copy(),
        np.asfortranarray(RGB),
        padded[::2, :, ::2],
        reading,
        Wrapped(),
        Capsule(),
    )
    for form in (*forms, RGB[None], [RGB], (RGB,), [[RGB]], [RGB[None]]):
        assert np.array_equal(values(BIT, form), want), type(form)
    for form, layout in ((RGB, "channels_last"), (planes, "channels_first")):
        assert np.array_equal(values(BIT, form, input_data_format=layout), want)
    assert values(BIT, RGB[::-1, ::-1]).tobytes() == values(BIT, RGB[::-1, ::-1].copy()).tobytes()


def test_a_grey_picture_has_no_axis_of_channels() -> None:
    grey = RGB[..., 0]
    for form in (grey, grey[..., None], grey[None]):
        assert np.array_equal(values(BIT, form), values(BIT, np.repeat(grey[..., None], 3, axis=2)))
    assert values(DINO, grey).shape == (1, 3, 24, 24)


def test_the_first_of_two_possible_axes_holds_the_channels() -> None:
    both = RNG.integers(0, 256, (3, 40, 3), dtype=np.uint8)
    first = values(BIT, both, input_data_format="channels_first")
    assert np.array_equal(values(BIT, both), first)
    assert not np.array_equal(values(BIT, both, input_data_format="channels_last"), first)


def test_lists_nest_and_batches_unfold_as_in_transformers(transformers: ModuleType) -> None:
    theirs = transformers.BitImageProcessor(size=30, crop_size=24)
    batch = RNG.integers(0, 256, (2, 37, 53, 3), dtype=np.uint8)
    for form in ([RGB, RGB], (RGB, RGB), batch, [batch, batch], [[RGB], [RGB, RGB]], [[], [RGB]]):
        assert np.array_equal(values(BIT, form), values(theirs, form))


def test_torch_tensors_are_taken_as_they_are() -> None:
    torch = pytest.importorskip("torch")
    want = values(BIT, RGB)
    tensor = torch.from_numpy(RGB)
    for form in (tensor, tensor.permute(2, 0, 1), tensor[None], [tensor, tensor]):
        assert np.array_equal(values(BIT, form)[:1], want)
    floats = tensor.float()
    assert np.array_equal(values(BIT, floats.requires_grad_()), values(BIT, RGB.astype(np.float32)))
    assert values(BIT, tensor.to(torch.bfloat16)).shape == want.shape


def test_a_file_by_path_text_bytes_and_stream_is_one_picture(pictures: Path) -> None:
    path = pictures / "chelsea.png"
    data = path.read_bytes()
    encoded = base64.b64encode(data).decode()
    want = values(BIT, path)
    uri = f"data:image/png;base64,{encoded}"
    for form in (
        str(path),
        data,
        bytearray(data),
        memoryview(data),
        io.BytesIO(data),
        encoded,
        uri,
        path.open("rb"),
    ):
        assert np.array_equal(values(BIT, form), want), type(form)
    assert np.array_equal(values(BIT, [path, data])[1:], want)
    image = pytest.importorskip("PIL.Image")
    with image.open(path) as opened:
        assert np.array_equal(values(BIT, opened), want)
        assert np.array_equal(values(BIT, np.asarray(opened)), want)
        assert np.array_equal(values(BIT, dinoxide.load_image(path)), want)


def test_photographs_from_pillow_have_transformers_pixels(transformers: ModuleType, pictures: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    files = sorted(file for file in pictures.iterdir() if file.suffix in (".png", ".jpg"))
    assert len(files) >= 6
    for file in files:
        with image.open(file) as opened:
            want = values(transformers.BitImageProcessor(), opened)
            assert np.array_equal(values(BitImageProcessor(), opened), want)
            rgb = opened.convert("RGB")
            want = values(transformers.DINOv3ViTImageProcessor(), rgb)
            np.testing.assert_allclose(
                values(DINOv3ViTImageProcessor(), rgb), want, rtol=0, atol=FLOATS_MAX_ABS
            )


def test_what_is_no_picture_is_refused_by_its_kind(tmp_path: Path) -> None:
    (tmp_path / "text.png").write_text("no picture")
    for error, image, words in (
        (TypeError, None, "NoneType"),
        (TypeError, io.StringIO("text"), "binary mode"),
        (TypeError, 3, "int"),
        (TypeError, {"a": 1}, "dict"),
        (TypeError, np.array([["a", "b"]]), "array of"),
        (TypeError, RGB.astype(complex), "complex"),
        (ValueError, [], "no images"),
        (ValueError, "https://example.org/cat.jpg", "load_image"),
        (ValueError, np.zeros((37, 53, 2), np.uint8), "channels"),
        (ValueError, np.zeros((2, 2, 3, 4, 3), np.uint8), "channels"),
        (ValueError, np.zeros((0, 53, 3), np.uint8), "0x53x3"),
        (ValueError, np.zeros(7), "channels"),
        (ValueError, np.full((37, 53, 3), np.nan, np.float32), "finite"),
        (ValueError, RGB / 255, "do_rescale"),
        (ValueError, "data:image/png;base64,%%%", "base64"),
        (FileNotFoundError, tmp_path / "none.png", "none.png"),
        (FileNotFoundError, "none.png", "none.png"),
        (IsADirectoryError, tmp_path, str(tmp_path)),
        (OSError, tmp_path / "text.png", "text.png"),
        (OSError, b"no picture", "not a picture"),
        (OSError, b"", "empty"),
    ):
        with pytest.raises(error, match=words):
            BIT(image)


def test_an_error_in_a_list_says_which_picture(tmp_path: Path) -> None:
    missing = tmp_path / "none.png"
    with pytest.raises(FileNotFoundError, match=r"^images\[2\]: .*none\.png"):
        BIT([RGB, RGB, missing])
    with pytest.raises(ValueError, match=r"^images\[1\]\[0\]: "):
        BIT([[RGB], [RGB / 255]])
    with pytest.raises(TypeError, match=r"images\[1\] must be .* got int"):
        BIT([RGB, 3])
    with pytest.raises(OSError, match=r"^images\[1\]: "):
        BIT([RGB, b"no picture"])


def test_zeros_alone_may_be_floats_and_unit_floats_are_welcome_without_rescale() -> None:
    assert values(BIT, np.zeros((37, 53, 3))).shape == (1, 3, 24, 24)
    unit = values(DINO, (RGB / 255).astype(np.float32), do_rescale=False)
    np.testing.assert_allclose(unit, values(DINO, RGB), rtol=0, atol=FLOATS_MAX_ABS)
