"""Forward passes of `dinoxide bench` and of Transformers (torch, sdpa, eager mode), turn by turn in one run.

    python benchmarks/forward.py DINOXIDE CHECKPOINT... [--cells 1:224,8:224,1:518] [--turns 5] [--threads 2]

DINOXIDE is the release binary, a CHECKPOINT a folder made by tools/golden/make_true_size.py. Before timing, both must give the
same vector for the same pixels. Each turn runs both for a moment, in changing order; a cell is the least time an
image over all turns, and the table shows the ratio. Run it on an idle machine.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors.numpy import load_file, save_file
from transformers import AutoModel


def pixels(batch: int, side: int) -> np.ndarray:
    return np.random.default_rng(batch * side).standard_normal((batch, 3, side, side)).astype(np.float32)


def check(binary: str, folder: str, model: torch.nn.Module, threads: int) -> float:
    """The largest difference of `pooler_output` at 224."""
    x = pixels(2, 224)
    with tempfile.TemporaryDirectory() as work:
        source, target = f"{work}/in.safetensors", f"{work}/out.safetensors"
        save_file({"pixel_values": x}, source)
        command = [binary, "features", "--pixel-values", source, "-m", folder, "-o", target, "--threads", str(threads)]
        subprocess.run(command, check=True, capture_output=True)
        got = load_file(target)["pooler_output"]
    with torch.inference_mode():
        want = model(torch.from_numpy(x)).pooler_output.numpy()
    return float(np.abs(got - want).max())


def ours(binary: str, folder: str, batch: int, side: int, threads: int, rounds: int) -> float:
    command = [binary, "bench", "-m", folder, "--batch", str(batch), "--size", str(side), "--rounds", str(rounds), "--json"]
    output = subprocess.run([*command, "--threads", str(threads)], check=True, capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[0])["ms_per_image"]["min"]


def theirs(model: torch.nn.Module, batch: int, side: int, rounds: int) -> float:
    x = torch.from_numpy(pixels(batch, side))
    with torch.inference_mode():
        model(x)
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            model(x)
            times.append(time.perf_counter() - start)
    return min(times) * 1e3 / batch


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("checkpoints", nargs="+")
    parser.add_argument("--cells", default="1:224,8:224,1:518")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    print(f"torch {torch.__version__}, transformers {transformers.__version__}, Python {platform.python_version()}, {args.threads} threads")
    print("| model | batch | size | dinoxide ms | Transformers ms | ratio | max abs |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for folder in args.checkpoints:
        model = AutoModel.from_pretrained(folder).eval()  # sdpa where there is attention
        difference = check(args.binary, folder, model, args.threads)
        assert difference < 1e-4, f"{folder}: {difference}"
        for cell in args.cells.split(","):
            batch, side = map(int, cell.split(":"))
            best = [float("inf"), float("inf")]
            for turn in range(args.turns):
                for who in (0, 1) if turn % 2 == 0 else (1, 0):
                    if who == 0:
                        ms = ours(args.binary, folder, batch, side, args.threads, args.rounds)
                    else:
                        ms = theirs(model, batch, side, args.rounds)
                    best[who] = min(best[who], ms)
            name = Path(folder).name
            print(f"| {name} | {batch} | {side} | {best[0]:.1f} | {best[1]:.1f} | {best[1] / best[0]:.2f} | {difference:.1e} |", flush=True)


main()
