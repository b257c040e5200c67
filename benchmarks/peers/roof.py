"""The best f32 matrix products of this machine, as the roof that speeds are told as shares of.

Candidates: torch's and our own GEMM at the shapes of vision transformers and at 2048³, in turns; and multiply-adds out of
registers (`dinoxide cpu`). The roof is the greatest figure of all.
"""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict

from .process import Worker
from .settings import DINOXIDE, OURS, environment

SHAPES = ((257, 1152, 384), (257, 1536, 384), (257, 384, 1536), (2056, 1536, 384), (2056, 3072, 768), (2056, 768, 3072), (2048, 2048, 2048))
"""Rows, columns, depth."""
SECONDS = 0.15
TURNS = 3


def measure(workers: list[Worker], threads: int) -> dict[str, object]:
    """By candidates that are there: the greatest GFLOP/s of each way, at which shape."""
    best: dict[str, tuple[float, str]] = defaultdict(lambda: (0.0, ""))
    for _ in range(TURNS):
        for m, n, k in SHAPES:
            for worker in workers:
                for way, times in worker.ask("OPS", "GEMM", m, n, k, SECONDS).items():
                    best[way] = max(best[way], (2e-9 * m * n * k / min(times), f"{m} × {n} × {k}"))
    command = [str(DINOXIDE), "cpu", "--json", "--threads", str(threads)]
    cpu = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=environment(threads)).stdout)
    best["multiply-adds in registers"] = (cpu["fma_gflops"], "")
    return {
        "threads": threads,
        "isa": cpu["isa"],
        "gflops": max(figure for figure, _ in best.values()),
        "ways": {way: {"gflops": round(figure, 1), "shape": shape} for way, (figure, shape) in best.items()},
    }


def can_measure(worker: Worker) -> bool:
    return worker.peer in (OURS, "torch-eager")
