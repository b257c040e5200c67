"""`load_image`: files, URLs of a server on the loopback, base64; with and without Pillow."""

from __future__ import annotations

import base64
import io
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import dinoxide
import numpy as np
import pytest
from dinoxide import download, image_utils

ROOT = Path(__file__).resolve().parents[3]
PICTURE = ROOT / "fixtures/pictures/rgb.png"
DATA = PICTURE.read_bytes()


class Server(BaseHTTPRequestHandler):
    """A server that answers each path in its own way."""

    waiting = threading.Event()

    def do_GET(self) -> None:
        if self.path == "/picture.png":
            self.answer(200, {"Content-Length": str(len(DATA))}, DATA)
        elif self.path.startswith("/again/"):
            left = int(self.path.rpartition("/")[2])
            target = f"/again/{left - 1}" if left else "/picture.png"
            self.answer(302, {"Location": target}, b"")
        elif self.path == "/to-a-file":
            self.answer(302, {"Location": PICTURE.as_uri()}, b"")
        elif self.path == "/to-ftp":
            self.answer(302, {"Location": "ftp://127.0.0.1/picture.png"}, b"")
        elif self.path == "/endless":
            self.endless()
        elif self.path == "/short":
            self.answer(200, {"Content-Length": str(len(DATA) + 9)}, DATA)
        elif self.path == "/silent":
            self.waiting.wait(30)
        elif self.path == "/text":
            self.answer(200, {}, b"no picture")
        else:
            self.answer(404, {}, b"")

    def answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def endless(self) -> None:
        self.send_response(200)
        self.end_headers()
        try:
            while not self.waiting.is_set():
                self.wfile.write(bytes(1 << 16))
        except OSError:
            pass

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as running:
        running.daemon_threads = True
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        Server.waiting.set()
        running.shutdown()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture()
def without_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_utils, "pillow", lambda: None)


def same(image: Any) -> bool:
    return np.array_equal(np.asarray(image), np.asarray(image_utils.load_image(PICTURE)))


def test_a_url_is_fetched_and_followed(server: str) -> None:
    assert same(dinoxide.load_image(f"{server}/picture.png", timeout=20))
    assert same(dinoxide.load_image(f"{server}/again/3"))


def test_redirects_end_at_their_limit(server: str) -> None:
    with pytest.raises(OSError, match="could not be fetched"):
        dinoxide.load_image(f"{server}/again/{download.MAX_REDIRECTS + 2}")


@pytest.mark.parametrize("path", ["to-a-file", "to-ftp"])
def test_a_server_cannot_lead_to_files_or_ftp(server: str, path: str) -> None:
    with pytest.raises((OSError, ValueError), match="file|ftp"):
        dinoxide.load_image(f"{server}/{path}")


def test_an_endless_answer_ends_at_the_limit_of_bytes(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "MAX_URL_BYTES", 1 << 20)
    with pytest.raises(ValueError, match="MAX_URL_BYTES"):
        dinoxide.load_image(f"{server}/endless")


def test_a_slow_answer_ends_at_the_limit_of_seconds(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "MAX_URL_SECONDS", -1.0)
    with pytest.raises(OSError, match="MAX_URL_SECONDS"):
        dinoxide.load_image(f"{server}/endless")


def test_a_silent_server_is_left_after_the_timeout(server: str) -> None:
    with pytest.raises(OSError, match="timed out"):
        dinoxide.load_image(f"{server}/silent", timeout=0.2)


def test_a_cut_answer_an_error_and_a_text_are_told(server: str) -> None:
    with pytest.raises(OSError, match="ended after"):
        dinoxide.load_image(f"{server}/short")
    with pytest.raises(OSError, match="404"):
        dinoxide.load_image(f"{server}/nothing")
    with pytest.raises(OSError):
        dinoxide.load_image(f"{server}/text")


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/a.png", "s3://bucket/a.png", "file:///etc/passwd"])
def test_other_schemes_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="only http and https"):
        dinoxide.load_image(url)


def test_every_form_of_a_picture_is_the_same_picture() -> None:
    encoded = base64.b64encode(DATA).decode()
    forms = (str(PICTURE), DATA, io.BytesIO(DATA), encoded, f"data:image/png;base64,{encoded}")
    for form in (*forms, dinoxide.load_image(PICTURE)):
        assert same(dinoxide.load_image(form)), type(form)
    first, rest = image_utils.load_images([PICTURE, [DATA]])
    assert same(first) and same(rest[0])


def test_pictures_are_those_of_transformers(transformers: ModuleType, fixtures: Path) -> None:
    from transformers.image_utils import load_image

    count = 0
    for path in sorted((fixtures / "pictures").iterdir()):
        if path.name == "grey-16-bit.png":  # whose high byte is kept here
            continue
        try:
            want = load_image(str(path))
        except Exception:
            with pytest.raises((OSError, ValueError)):
                dinoxide.load_image(path)
            continue
        got = dinoxide.load_image(path)
        assert (got.mode, got.size, got.info.get("transparency")) == (
            "RGB",
            want.size,
            want.info.get("transparency"),
        )
        assert np.array_equal(np.asarray(got), np.asarray(want)), path.name
        count += 1
    assert count >= 50


def test_what_is_no_picture_is_refused(tmp_path: Path) -> None:
    for error, image in (
        (TypeError, None),
        (TypeError, np.zeros((3, 3, 3), np.uint8)),
        (FileNotFoundError, tmp_path / "none.png"),
        (FileNotFoundError, "none.png"),
        (OSError, b"no picture"),
    ):
        with pytest.raises(error):
            dinoxide.load_image(image)


def test_without_pillow_there_is_a_picture_with_sizes_and_pixels(
    without_pillow: None, fixtures: Path
) -> None:
    picture = dinoxide.load_image(PICTURE)
    pixels = np.asarray(picture)
    assert type(picture).__module__.startswith("dinoxide")
    assert pixels.shape == (picture.height, picture.width, 3) and pixels.dtype == np.uint8
    assert picture.size == (picture.width, picture.height)
    assert picture.convert("RGB") is picture and dinoxide.load_image(picture) is picture
    with pytest.raises(ValueError, match="Pillow"):
        picture.convert("L")
    with pytest.raises(FileNotFoundError):
        dinoxide.load_image("none.png")
    processor = dinoxide.BitImageProcessor(size=30, crop_size=24)
    for path in (PICTURE, fixtures / "pictures/transparent.gif", fixtures / "pictures/rgb-trns.png"):
        got = processor(dinoxide.load_image(path), return_tensors="np")["pixel_values"]
        assert np.array_equal(got, processor(path, return_tensors="np")["pixel_values"]), path.name


def test_without_pillow_a_flat_picture_keeps_its_layout(without_pillow: None, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    pixels = np.arange(3 * 40 * 3, dtype=np.uint8).reshape(3, 40, 3)
    image.fromarray(pixels).save(tmp_path / "flat.png")
    processor = dinoxide.BitImageProcessor(
        do_resize=False, do_center_crop=False, do_rescale=False, do_normalize=False
    )
    got = processor(dinoxide.load_image(tmp_path / "flat.png"), return_tensors="np")["pixel_values"]
    assert np.array_equal(got[0].transpose(1, 2, 0), pixels)
