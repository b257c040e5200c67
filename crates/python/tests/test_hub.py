"""Checkpoints from a hub, for which a server on this machine stands in."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from conftest import FIXTURES

COMMIT = "0123456789abcdef0123456789abcdef01234567"
# Bytes a second of the weights while the hub is slow: the file then takes minutes.
SLOW = 256


class Hub(ThreadingHTTPServer):
    """Serves one folder as the repo `someone/tiny`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder = folder
        self.slow = False
        self.ranges: list[str | None] = []

    @property
    def endpoint(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Says nothing."""

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, body: bool) -> None:
        path = self.server.folder / Path(self.path).name
        if "/someone/tiny/resolve/" not in self.path or not path.is_file():
            self.send_response(404)
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("X-Error-Code", "EntryNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        data = path.read_bytes()
        start = 0
        if body and path.suffix == ".safetensors":
            wanted = self.headers.get("Range")
            self.server.ranges.append(wanted)
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{hashlib.sha256(data).hexdigest()}"')
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        if not body:
            return
        try:
            if path.suffix == ".safetensors" and self.server.slow:
                for at in range(start, len(data), SLOW):
                    self.wfile.write(data[at : at + SLOW])
                    self.wfile.flush()
                    time.sleep(1)
            else:
                self.wfile.write(data[start:])
        except OSError:
            self.close_connection = True  # whoever asked has gone


@pytest.fixture
def hub() -> Iterator[Hub]:
    server = Hub(FIXTURES / "dinov2")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


_RUN = """
import sys, numpy as np, dinoxide
print("ready", flush=True)
try:
    model = dinoxide.AutoModel.from_pretrained("someone/tiny")
except KeyboardInterrupt:
    print("stopped")
    sys.exit()
print(model(np.zeros((1, 3, 28, 28), np.float32)).pooler_output.shape)
"""


def run(hub: Hub, cache: Path) -> subprocess.Popen[str]:
    outside = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("HF_") and "proxy" not in name.lower()
    }
    env = {**outside, "HF_ENDPOINT": hub.endpoint, "HF_HUB_CACHE": str(cache)}
    return subprocess.Popen(
        [sys.executable, "-c", _RUN], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_a_hub_id_is_downloaded_and_opened(hub: Hub, tmp_path: Path) -> None:
    out, err = run(hub, tmp_path).communicate(timeout=120)
    assert out == "ready\n(1, 32)\n", err
    assert hub.ranges == [None]
    # The second time nothing is asked for but whether it is still the same.
    out, err = run(hub, tmp_path).communicate(timeout=120)
    assert out == "ready\n(1, 32)\n" and hub.ranges == [None], err


def test_ctrl_c_stops_a_download_which_goes_on_the_next_time(hub: Hub, tmp_path: Path) -> None:
    hub.slow = True
    child = run(hub, tmp_path)
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    deadline = time.monotonic() + 60
    while not any(path.stat().st_size >= 2 * SLOW for path in tmp_path.rglob("*.incomplete")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert out == "stopped\n", err
    hub.slow = False
    out, err = run(hub, tmp_path).communicate(timeout=120)
    assert out == "ready\n(1, 32)\n", err
    assert hub.ranges[-1] is not None, "the download began anew"


def test_an_id_that_the_hub_does_not_have_is_an_oserror(hub: Hub, tmp_path: Path) -> None:
    import dinoxide

    env = {"HF_ENDPOINT": hub.endpoint, "HF_HUB_CACHE": str(tmp_path)}
    before = dict(os.environ)
    os.environ.update(env)
    try:
        for cls in (
            dinoxide.AutoModel,
            dinoxide.AutoConfig,
            dinoxide.AutoImageProcessor,
            dinoxide.Dinov2Model,
        ):
            with pytest.raises(OSError, match="someone/else"):
                cls.from_pretrained("someone/else")
    finally:
        os.environ.clear()
        os.environ.update(before)
