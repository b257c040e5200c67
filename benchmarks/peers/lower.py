"""Forward passes in a lower precision, interleaved as those in f32 are, with our own f32 among them.

The reference is Transformers in f32, which is asked for its vectors and not timed. Everyone's vector must come as close to it as the
precision allows; how close is part of the result.
"""

from __future__ import annotations

from typing import IO

import numpy as np

from .forward import Plan, distance, load, rounds, vectors
from .precision import PRECISIONS
from .process import PeerError, Worker
from .results import Results
from .settings import OURS, REFERENCE, Cell, ours


def compare(dtype: str, model: str, cells: tuple[Cell, ...], peers: tuple[str, ...], plan: Plan, results: Results, log: IO[str]) -> None:
    """All cells of a model; rows are of the kind that the dtype names."""
    precision = PRECISIONS[dtype]
    references = reference_vectors(model, cells, plan.threads, log)
    beside = (peer for peer in precision.beside if peer.startswith(OURS))
    workers = load(model, (OURS, *map(ours, precision.ours), *beside, *peers), plan.threads, log)
    try:
        for cell in cells:
            ready = {}
            for worker, vector in vectors(model, cell, workers).items():
                ready[worker] = distance(vector, references[cell])
                told(f"{dtype}: {model} {cell} {worker.peer}", ready[worker], precision.cosine)
            for row in rounds(model, cell, ready, plan) if plan.rounds else ():
                results.add(dtype, row, "model", "cell", "peer", "threads")
    finally:
        for worker in workers:
            worker.quit()


def reference_vectors(model: str, cells: tuple[Cell, ...], threads: int, log: IO[str]) -> dict[Cell, np.ndarray]:
    try:
        worker = Worker(REFERENCE, model, threads, log)
        try:
            return {cell: np.array(worker.cls(cell)) for cell in cells}
        finally:
            worker.quit()
    except PeerError as error:
        raise SystemExit(f"{model}: {error}") from None


def told(who: str, closeness: dict[str, float], least: float) -> None:
    print(f"{who}: cosine {closeness['cosine']:.6f}, max abs {closeness['max_abs']:.1e}", flush=True)
    if not closeness["cosine"] >= least:
        raise SystemExit(f"{who} does not compute what {REFERENCE} does: {closeness}")
