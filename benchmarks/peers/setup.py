"""Makes what a comparison needs: our binaries, checkpoints, ONNX graphs and what is quantised of them, inputs, photographs. What is there is left alone.

Checkpoints are those of tools/golden/make_true_size.py: true sizes, random weights. Graphs have fixed shapes, with the
position table of that size as a constant, so that no runtime resizes it anew for each forward.
"""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from .precision import form_of
from .quantised import quantised
from .settings import CHECKPOINTS, INPUTS, ONNX, PHOTOGRAPHS, REPOSITORY, Cell, onnx_batch, takes_part

PHOTOGRAPH_SIZES = {"640x480": (640, 480), "12-megapixel": (4000, 3000)}
GRAIN = 6
"""Levels of noise in photographs, which are else smoother than a camera's."""


def build() -> None:
    """Our command and worker, as a release."""
    for what in (["-p", "dinoxide-cli"], ["-p", "dinoxide", "--example", "bench_worker"]):
        subprocess.run(["cargo", "build", "--release", "--locked", "--quiet", *what], check=True, cwd=REPOSITORY)


def checkpoint(name: str) -> Path:
    """A folder like a public one, with random weights."""
    folder = CHECKPOINTS / name
    if not (folder / "model.safetensors").exists():
        sys.path.insert(0, str(REPOSITORY / "tools/golden"))
        true_size = importlib.import_module("make_true_size")
        true_size.quiet()
        size = true_size.sizes()[name]
        model = size.model(size.config).eval()
        true_size.fill(model, true_size.seed_of(name), size.scales)
        true_size.save_processor(size.config.model_type, folder)
        model.save_pretrained(folder)
        print(f"made {folder}", flush=True)
    return folder


def graph(name: str, cell: Cell) -> Path:
    """The ONNX graph of a cell."""
    path = cell.onnx(name)
    if not path.exists():
        import torch
        import transformers

        warnings.filterwarnings("ignore", category=torch.jit.TracerWarning)
        transformers.utils.logging.disable_progress_bar()
        ONNX.mkdir(parents=True, exist_ok=True)
        model = transformers.AutoModel.from_pretrained(checkpoint(name)).eval()
        embeddings = getattr(model, "embeddings", None)
        if hasattr(embeddings, "interpolate_pos_encoding"):
            fix_positions(embeddings, model.config, cell.side)
        unfinished = path.with_suffix(".unfinished")
        with torch.no_grad():
            torch.onnx.export(
                first_output(model),
                (torch.zeros(cell.batch, 3, cell.side, cell.side),),
                unfinished,
                input_names=["pixel_values"],
                output_names=["last_hidden_state"],
                opset_version=18,
                dynamo=False,  # its graphs are the ones whose attention all runtimes fuse
            )
        unfinished.rename(path)
        print(f"made {path}", flush=True)
    return path


def first_output(model):
    """A module that gives `last_hidden_state` alone."""
    import torch

    class First(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, pixel_values):
            return self.model(pixel_values=pixel_values).last_hidden_state

    return First().eval()


def fix_positions(embeddings, config, side: int) -> None:
    """Makes the resized position table a constant."""
    import torch

    tokens = (side // config.patch_size) ** 2 + 1
    with torch.no_grad():
        table = embeddings.interpolate_pos_encoding(torch.zeros(1, tokens, config.hidden_size), side, side).clone()
    embeddings.interpolate_pos_encoding = lambda *_: table


def pixels(cell: Cell) -> np.ndarray:
    """[B, 3, H, W], the same for all peers; raw little-endian floats on disk."""
    path, shape = cell.input(), (cell.batch, 3, cell.side, cell.side)
    if not path.exists():
        INPUTS.mkdir(parents=True, exist_ok=True)
        np.random.default_rng(cell.batch * cell.side).standard_normal(shape).astype("<f4").tofile(path)
    return np.fromfile(path, dtype="<f4").reshape(shape)


def photograph(name: str) -> Path:
    """A JPEG of one of the sizes, of the repository's coffee cup."""
    path = PHOTOGRAPHS / f"{name}.jpg"
    if not path.exists():
        from PIL import Image

        PHOTOGRAPHS.mkdir(parents=True, exist_ok=True)
        image = Image.open(REPOSITORY / "pictures/coffee.jpg").convert("RGB")
        levels = np.asarray(image.resize(PHOTOGRAPH_SIZES[name], Image.Resampling.LANCZOS)).astype(int)
        grain = np.random.default_rng(0).integers(-GRAIN, GRAIN + 1, levels.shape)
        Image.fromarray(np.clip(levels + grain, 0, 255).astype(np.uint8)).save(path, quality=90)
    return path


def prepare(wanted: dict[str, tuple[Cell, ...]], peers: Iterable[str]) -> None:
    """Files of some cells, and graphs for those of the peers that run them."""
    if any(peer.startswith("torch") and peer.endswith("-compile") for peer in peers) and shutil.which("g++") is None:
        print("warning: no g++, so torch-compile and torch-bf16-compile will fail", file=sys.stderr)
    for name, of_model in wanted.items():
        checkpoint(name)
        for cell in of_model:
            pixels(cell)
            for peer in peers:
                if peer.startswith(("onnxruntime", "openvino")) and takes_part(peer, cell):
                    run = Cell(onnx_batch(peer, cell.batch), cell.side)
                    made = graph(name, run)
                    if form := form_of(peer):
                        quantised(made, name, run, form)
    for name in PHOTOGRAPH_SIZES:
        photograph(name)
