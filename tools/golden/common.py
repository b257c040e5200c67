"""What all golden makers share: places, seeded data, safetensors with stable bytes, tool versions.

Input tensors that are too big to store are named by a formula instead (`hash32`), which the Rust tests
compute as well (crates/testkit/src/data.rs). Python and Rust agree to the bit: every step is an integer
operation, and the last division is exact in float32.
"""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path

import numpy as np
import safetensors.torch
import torch
import torchvision
import transformers

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures"
MAX_FILE_BYTES = 200_000
MAX_FIXTURE_BYTES = 200_000
"""Of all files of a checkpoint's folder, goldens included."""

Tensors = dict[str, torch.Tensor]
Shape = tuple[int, ...]


def hash32(seed: int, shape: Shape) -> torch.Tensor:
    """Values in [-2, 2) from the flat index: h = (i+1)*2654435761 + seed*40503 mod 2^32, mixed, (h>>8)/2^22 - 2."""
    count = int(np.prod(shape))
    with np.errstate(over="ignore"):
        h = np.arange(1, count + 1, dtype=np.uint32) * np.uint32(2654435761)
        h += np.uint32(seed * 40503 & 0xFFFF_FFFF)
        h ^= h >> np.uint32(16)
        h *= np.uint32(2246822519)
        h ^= h >> np.uint32(13)
    values = (h >> np.uint32(8)).astype(np.float32) / np.float32(1 << 22) - np.float32(2)
    return torch.from_numpy(values.reshape(shape))


def hash32_name(seed: int, shape: Shape) -> str:
    """How a golden's metadata names such a tensor: `hash32:SEED:B,C,H,W`."""
    return f"hash32:{seed}:{','.join(map(str, shape))}"


def seed_of(*parts: str) -> int:
    """A seed that follows from names, so that adding a golden changes no other."""
    return zlib.crc32("/".join(parts).encode()) % 100_000


def versions() -> dict[str, str]:
    """The tools that made a golden, for its metadata."""
    return {
        "transformers": transformers.__version__,
        "torch": torch.__version__.split("+")[0],
        "torchvision": torchvision.__version__.split("+")[0],
    }


def save_tensors(path: Path, tensors: Tensors, metadata: dict[str, str], limit: int | None = MAX_FILE_BYTES) -> None:
    """Writes a safetensors file whose bytes depend only on its content (the library shuffles the metadata)."""
    contiguous = {name: tensor.detach().contiguous().clone() for name, tensor in tensors.items()}
    blob = safetensors.torch.save(contiguous, metadata=versions() | metadata)
    (header_len,) = struct.unpack_from("<Q", blob)
    header = json.loads(blob[8 : 8 + header_len])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=True).encode()
    text += b" " * (-len(text) % 8)
    data = struct.pack("<Q", len(text)) + text + blob[8 + header_len :]
    if limit is not None and len(data) > limit:
        raise ValueError(f"{path}: {len(data)} bytes, more than {limit}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def quiet() -> None:
    """One thread and no progress bars: the same rounding and readable logs on every run."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.set_grad_enabled(False)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
