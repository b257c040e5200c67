"""Surgery on JPEG bytes: segments removed, changed or cut, for files that no encoder writes."""

from __future__ import annotations

from collections.abc import Iterator

SOS, APP14, STANDALONE = 0xDA, 0xEE, {0xD8, 0xD9}


def segments(data: bytes) -> Iterator[tuple[int, int, int]]:
    """(marker, start, end) of each header segment up to and with the first SOS."""
    at = 0
    while at < len(data):
        marker = data[at + 1]
        end = at + 2 if marker in STANDALONE else at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        yield marker, at, end
        if marker == SOS:
            return
        at = end


def find(data: bytes, marker: int) -> tuple[int, int]:
    """Start and end of the first segment of a kind."""
    return next((start, end) for kind, start, end in segments(data) if kind == marker)


def without(data: bytes, marker: int) -> bytes:
    """The file with that segment taken out."""
    start, end = find(data, marker)
    return data[:start] + data[end:]


def with_adobe_transform(data: bytes, transform: int) -> bytes:
    """Changes the colour transform that the Adobe segment names (0 none, 1 YCbCr, 2 YCCK)."""
    _, end = find(data, APP14)
    return data[: end - 1] + bytes([transform]) + data[end:]


def with_spectral_end(data: bytes, value: int) -> bytes:
    """Changes the spectral selection end of the first scan (63 in a sequential file)."""
    _, end = find(data, SOS)
    return data[: end - 2] + bytes([value]) + data[end - 1 :]


def after_first_scan(data: bytes) -> bytes:
    """A progressive file cut where its second scan (or the tables before it) would start."""
    at = find(data, SOS)[1]
    while not (data[at] == 0xFF and data[at + 1] not in (0x00, *range(0xD0, 0xD8))):
        at += 1
    return data[:at]
