"""Pictures that are formulas: the base of the awkward files, and pictures too big to be files.

A case may name a picture `checkerboard:WxH`; a reader makes it from the formula in `checkerboard`.
"""

from __future__ import annotations

import numpy as np
from PIL import Image

CORNERS = ((255, 255, 255), (255, 0, 0), (0, 160, 0), (16, 16, 96))
"""Top left, top right, bottom left, bottom right: a flip or a transpose is visible."""


def _ramps(width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
    across = np.arange(width, dtype=np.int64) * 255 // max(width - 1, 1)
    down = np.arange(height, dtype=np.int64) * 255 // max(height - 1, 1)
    return np.broadcast_to(across, (height, width)), np.broadcast_to(down[:, None], (height, width))


def ramp_array(width: int, height: int) -> np.ndarray:
    """Red rises to the right, green downwards, blue falls to the right; four different corners. u8 [H, W, 3]."""
    across, down = _ramps(width, height)
    pixels = np.stack([across, down, 255 - across], axis=-1).astype(np.uint8)
    side_y, side_x = height // 5, width // 5
    if side_y and side_x:
        pixels[:side_y, :side_x], pixels[:side_y, -side_x:] = CORNERS[0], CORNERS[1]
        pixels[-side_y:, :side_x], pixels[-side_y:, -side_x:] = CORNERS[2], CORNERS[3]
    return pixels


def ramp(width: int, height: int) -> Image.Image:
    """The same as a picture."""
    return Image.fromarray(ramp_array(width, height))


def checkerboard(width: int, height: int) -> Image.Image:
    """A one-pixel checkerboard over ramps, the hardest case for a resize without antialias.

    c = 255 where x + y is even, else 0; rx = x*255 // (W-1); ry = y*255 // (H-1) (integer division, W, H > 1);
    R = (c + rx) // 2, G = (c + ry) // 2, B = (c + 255 - rx) // 2.
    """
    across, down = _ramps(width, height)
    c = 255 * (1 - (np.arange(width)[None, :] + np.arange(height)[:, None]) % 2)
    pixels = np.stack([(c + across) // 2, (c + down) // 2, (c + 255 - across) // 2], axis=-1)
    return Image.fromarray(pixels.astype(np.uint8))


def from_name(name: str) -> Image.Image:
    """The picture that `checkerboard:WxH` names."""
    kind, size = name.split(":")
    if kind != "checkerboard":
        raise ValueError(f"unknown picture formula {name}")
    width, height = map(int, size.split("x"))
    return checkerboard(width, height)
