"""Texts that stand for a picture: URLs, data URIs and base64.

`data:image/png;base64,…` and bare base64 are pictures themselves, as in Transformers; a text that is the path
of a file is that file.
"""

from __future__ import annotations

import base64
import binascii
import os
import re

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_DATA_URI = "data:image/"
# How files of the engine's formats begin: a long path may be base64 by chance, a picture by chance it is not.
_BEGINNINGS = (b"\xff\xd8\xff", b"\x89PNG", b"GIF8", b"RIFF", b"BM", b"II*\0", b"MM\0*")


def is_url(text: str) -> bool:
    """Whether a text is a URL with a host: `scheme://…`."""
    return _SCHEME.match(text) is not None


def encoded_picture(text: str) -> bytes | None:
    """The bytes of a picture given as a data URI or in base64; `None` for any other text, a path for one.

    Raises `ValueError` for a data URI whose base64 is damaged.
    """
    if text.startswith(_DATA_URI):
        try:
            return base64.b64decode("".join(text.partition(",")[2].split()), validate=True)
        except binascii.Error as error:
            raise ValueError(f"the data URI holds no base64: {error}") from error
    if os.path.exists(text):
        return None
    try:
        decoded = base64.b64decode("".join(text.split()), validate=True)
    except ValueError:
        return None
    return decoded if decoded.startswith(_BEGINNINGS) else None
