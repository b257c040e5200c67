"""Bytes of a URL, within limits: http and https only, so many bytes, redirects and seconds.

Servers are not trusted: every limit holds for what they send, whatever they announce.
"""

from __future__ import annotations

import time
import urllib.error
import urllib.parse
import urllib.request
from http.client import HTTPException, HTTPMessage
from typing import IO, Any

from ._native import __version__

# Most bytes of a picture.
MAX_URL_BYTES = 256 << 20
# How often a server may lead on to another address.
MAX_REDIRECTS = 10
# Seconds to wait for a connection or the next bytes, where a call says nothing.
DEFAULT_TIMEOUT = 30.0
# Seconds for the whole of a picture.
MAX_URL_SECONDS = 600.0

_CHUNK = 1 << 16
_SCHEMES = ("http", "https")


class Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to http and https addresses only."""

    max_redirections = MAX_REDIRECTS

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        check_scheme(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def download(url: str, timeout: float | None = None) -> bytes:
    """The bytes of an http or https URL.

    Raises `ValueError` for another scheme or more than `MAX_URL_BYTES`, `OSError` for a server that does not
    answer, answers with an error or takes longer than `MAX_URL_SECONDS`.
    """
    check_scheme(url)
    wait = DEFAULT_TIMEOUT if timeout is None else timeout
    request = urllib.request.Request(url, headers={"User-Agent": f"dinoxide/{__version__}"})
    try:
        with opener().open(request, timeout=wait) as response:
            return limited(response, url)
    except (OSError, HTTPException) as error:
        raise OSError(f"{url} could not be fetched: {error}") from error


def opener() -> urllib.request.OpenerDirector:
    """What opens http and https addresses, and nothing else: no files, no FTP."""
    director = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        Redirects(),
    ):
        director.add_handler(handler)
    return director


def check_scheme(url: str) -> None:
    """Refuses what is neither http nor https."""
    scheme = urllib.parse.urlsplit(url).scheme.lower()
    if scheme not in _SCHEMES:
        raise ValueError(f"{url}: only http and https are opened, not {scheme or 'a URL without a scheme'}")


def limited(response: Any, url: str) -> bytes:
    """The body of a response, or an error once it passes a limit."""
    deadline = time.monotonic() + MAX_URL_SECONDS
    body = bytearray()
    while chunk := response.read1(_CHUNK):
        body += chunk
        if len(body) > MAX_URL_BYTES:
            raise ValueError(f"{url} gives more than MAX_URL_BYTES, {MAX_URL_BYTES} bytes")
        if time.monotonic() > deadline:
            raise OSError(f"it took longer than MAX_URL_SECONDS, {MAX_URL_SECONDS:.0f} s")
    announced = response.headers.get("Content-Length")
    if announced is not None and announced.isdigit() and len(body) < int(announced):
        raise OSError(f"it ended after {len(body)} of {announced} bytes")
    return bytes(body)
