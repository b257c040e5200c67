"""What is compared with what, where its files are, and how many operations a forward has.

A cell is a model, a batch and a side in pixels. Operations are multiplications and additions of matrix products,
convolutions and attention; norms and activations count nothing, so a rate is one of useful work.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parents[2]
ROOT = Path(os.environ.get("PEERS_ROOT", REPOSITORY / "target/peers")).resolve()
CHECKPOINTS, ONNX, QUANTISED, INPUTS = ROOT / "checkpoints", ROOT / "onnx", ROOT / "quantised", ROOT / "inputs"
PHOTOGRAPHS, CACHE, RESULTS = ROOT / "photographs", ROOT / "cache", ROOT / "results"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")).resolve()
DINOXIDE = TARGET / "release/dinoxide"
BENCH_WORKER = TARGET / "release/examples/bench_worker"

OURS = "dinoxide"
PEERS = ("torch-eager", "torch-compile", "onnxruntime", "openvino", "openvino-2s")
REFERENCE = "torch-eager"
"""Transformers itself: what all others must agree with."""
LARGEST_PEER_BATCH = 64
"""Above this batch only our own speed is measured."""


class Cell(NamedTuple):
    """What a forward runs on."""

    batch: int
    side: int

    @classmethod
    def parse(cls, text: str) -> Cell:
        batch, side = text.split(":")
        return cls(int(batch), int(side))

    def __str__(self) -> str:
        return f"{self.batch}:{self.side}"

    def input(self) -> Path:
        return INPUTS / f"x_b{self.batch}_r{self.side}.f32"

    def onnx(self, model: str) -> Path:
        return ONNX / f"{model}_b{self.batch}_r{self.side}.onnx"

    def quantised(self, model: str, form: str) -> Path:
        """ONNX Runtime's form is ONNX, OpenVINO's forms are its own files."""
        end = "onnx" if form == "int8-dynamic" else "xml"
        return QUANTISED / f"{model}_b{self.batch}_r{self.side}_{form}.{end}"


def cells(*texts: str) -> tuple[Cell, ...]:
    return tuple(map(Cell.parse, texts))


DEFAULT_CELLS = {
    "dinov2-small": cells("1:224", "8:224", "1:518", "256:224"),
    "dinov2-with-registers-small": cells("1:224", "8:224"),
    "dinov2-base": cells("1:224", "8:224", "1:518"),
    "dinov2-large": cells("1:224"),
    "dinov3-vits16": cells("1:224", "8:224"),
    "dinov3-vitb16": cells("1:224", "8:224"),
    "dinov3-convnext-tiny": cells("1:224", "8:224"),
}
VITS = {  # width, layers, patch, tokens before the patches
    "dinov2-small": (384, 12, 14, 1),
    "dinov2-with-registers-small": (384, 12, 14, 5),
    "dinov2-base": (768, 12, 14, 1),
    "dinov2-large": (1024, 24, 14, 1),
    "dinov3-vits16": (384, 12, 16, 5),
    "dinov3-vitb16": (768, 12, 16, 5),
}
CONVNEXT = "dinov3-convnext-tiny"
CONVNEXT_STAGES = ((3, 96), (3, 192), (9, 384), (3, 768))


def gflop(model: str, side: int) -> float:
    """Operations of one picture's forward, in 10⁹."""
    if model not in VITS:
        return convnext_gflop(side)
    width, layers, patch, prefix = VITS[model]
    patches = (side // patch) ** 2
    tokens = patches + prefix
    layer = 12 * tokens * width**2 + 2 * tokens**2 * width  # qkv, out, two of the MLP; scores and their sum
    return 2 * (patches * 3 * patch**2 * width + layers * layer) / 1e9


def convnext_gflop(side: int) -> float:
    side //= 4
    products = side**2 * 48 * CONVNEXT_STAGES[0][1]
    for stage, (blocks, width) in enumerate(CONVNEXT_STAGES):
        if stage:
            side //= 2
            products += side**2 * 4 * CONVNEXT_STAGES[stage - 1][1] * width
        products += blocks * side**2 * (49 * width + 8 * width**2)
    return 2 * products / 1e9


def ours(dtype: str) -> str:
    """Our name among the peers."""
    return OURS if dtype == "f32" else f"{OURS}-{dtype}"


def our_dtype(peer: str) -> str | None:
    """The dtype of one of our names; none of another's."""
    if peer == OURS:
        return "f32"
    return peer.removeprefix(f"{OURS}-") if peer.startswith(f"{OURS}-") else None


def streams(peer: str) -> bool:
    """Whether the peer has two streams."""
    return peer.endswith("-2s")


def onnx_batch(peer: str, batch: int) -> int:
    """The batch of the graph that a peer runs: two streams share single pictures."""
    return 1 if streams(peer) else batch


def takes_part(peer: str, cell: Cell) -> bool:
    """Two streams need several pictures; large batches are for ours alone."""
    if our_dtype(peer):
        return True
    return cell.batch <= LARGEST_PEER_BATCH and (not streams(peer) or cell.batch > 1)


def environment(threads: int) -> dict[str, str]:
    """For a peer's process: threads, and where it keeps what it compiled."""
    count = str(threads)
    return dict(
        os.environ,
        PEERS_ROOT=str(ROOT),
        PEERS_THREADS=count,
        OMP_NUM_THREADS=count,
        MKL_NUM_THREADS=count,
        TORCHINDUCTOR_CACHE_DIR=str(CACHE / "inductor"),
        TRANSFORMERS_VERBOSITY="error",
        PYTHONPATH=str(REPOSITORY / "benchmarks"),
    )
