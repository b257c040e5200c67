"""Writes resample.txt: maps resized by torch, as the position tables of DINOv2 are (see tests/resample.rs).

Each line: rule, input rows and cols, output rows and cols, channels, then the output [rows, cols, C] as the hexadecimal
bits of its f32 values. The input is hash32(seed = line number from 0), the generator of crates/testkit/src/data.rs.
Made with torch 2.15.0 on a processor with AVX-512; usage: python resample.py > resample.txt
"""

import numpy as np
import torch

CHANNELS = 3
SIZES = [
    (37, 37, 16, 16),
    (37, 37, 4, 6),
    (37, 37, 37, 37),
    (37, 37, 39, 2),
    (16, 16, 40, 12),
    (7, 7, 61, 2),
    (7, 7, 2, 115),
    (1, 1, 5, 3),
    (3, 3, 1, 2),
]
RULES = {
    "bicubic": dict(mode="bicubic"),
    "bicubic_antialias": dict(mode="bicubic", antialias=True),
}


def hash32(seed: int, length: int) -> np.ndarray:
    mask = 0xFFFFFFFF
    h = (np.arange(1, length + 1, dtype=np.uint64) * 2654435761 + seed * 40503) & mask
    h ^= h >> np.uint64(16)
    h = (h * np.uint64(2246822519)) & np.uint64(mask)
    h ^= h >> np.uint64(13)
    return ((h >> np.uint64(8)).astype(np.float64) / 4194304.0 - 2.0).astype(np.float32)


seed = 0
for name, options in RULES.items():
    for y_in, x_in, y_out, x_out in SIZES:
        table = torch.from_numpy(hash32(seed, y_in * x_in * CHANNELS)).reshape(1, y_in, x_in, CHANNELS)
        # The stride order of Transformers' interpolate_pos_encoding.
        map_ = table.permute(0, 3, 1, 2)
        out = torch.nn.functional.interpolate(map_, size=(y_out, x_out), align_corners=False, **options)
        bits = out.permute(0, 2, 3, 1).contiguous().numpy().view(np.uint32).ravel()
        print(name, y_in, x_in, y_out, x_out, CHANNELS, " ".join(f"{b:x}" for b in bits))
        seed += 1
