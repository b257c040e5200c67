"""Forward passes, interleaved: all peers of a model are loaded, then each round asks one after the other.

First every peer must give the reference's vector. Then a cell's figure is the median of the medians of its undisturbed rounds,
and the least time of all its rounds.
"""

from __future__ import annotations

import statistics
import sys
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from . import roof
from .process import PeerError, Worker
from .results import Results
from .settings import REFERENCE, Cell, gflop, takes_part

MAX_ABS = 1e-3
"""Of outputs of order 1: other orders of summation differ by less, another computation by more."""


@dataclass(frozen=True)
class Plan:
    """How long to measure."""

    rounds: int
    seconds: float
    threads: int


def compare(model: str, cells: tuple[Cell, ...], peers: tuple[str, ...], plan: Plan, results: Results, log: IO[str]) -> None:
    """All cells of a model."""
    workers = load(model, peers, plan.threads, log)
    try:
        measured_roof = roof.measure([worker for worker in workers if roof.can_measure(worker)], plan.threads) if plan.rounds else None
        for cell in cells:
            ready = agreeing(model, cell, workers)
            if measured_roof:
                for row in rounds(model, cell, ready, plan):
                    results.add("forward", row | {"roof_gflops": measured_roof["gflops"]}, "model", "cell", "peer", "threads")
        if measured_roof:
            results.add("roof", measured_roof | {"model": model}, "model", "threads")
    finally:
        for worker in workers:
            worker.quit()


def load(model: str, peers: tuple[str, ...], threads: int, log: IO[str]) -> list[Worker]:
    workers = []
    for peer in peers:
        try:
            workers.append(Worker(peer, model, threads, log))
        except PeerError as error:
            print(f"{model}: {error}", file=sys.stderr, flush=True)
    return workers


def vectors(model: str, cell: Cell, workers: list[Worker]) -> dict[Worker, np.ndarray]:
    """Who runs the cell, and its vector. A peer that fails is left out."""
    found = {}
    for worker in workers:
        if takes_part(worker.peer, cell):
            try:
                found[worker] = np.array(worker.cls(cell))
            except PeerError as error:
                print(f"{model} {cell}: {error}", file=sys.stderr, flush=True)
    return found


def agreeing(model: str, cell: Cell, workers: list[Worker]) -> dict[Worker, dict[str, float]]:
    """Who runs the cell, and how close its vector is to the reference's. A peer that computes something else ends the comparison."""
    found = vectors(model, cell, workers)
    reference = next((vector for worker, vector in found.items() if worker.peer == REFERENCE), None)
    if reference is None:
        return {worker: {} for worker in found}
    agreement = {worker: distance(vector, reference) for worker, vector in found.items()}
    for worker, closeness in agreement.items():
        print(f"{model} {cell} {worker.peer}: max abs {closeness['max_abs']:.1e}, cosine {closeness['cosine']:.9f}", flush=True)
        if not closeness["max_abs"] < MAX_ABS:
            raise SystemExit(f"{model} {cell}: {worker.peer} does not compute what {REFERENCE} does: {closeness}")
    return agreement


def distance(vector: np.ndarray, reference: np.ndarray) -> dict[str, float]:
    lengths = np.linalg.norm(vector) * np.linalg.norm(reference)
    return {"max_abs": float(np.abs(vector - reference).max()), "cosine": float(vector @ reference / lengths)}


def rounds(model: str, cell: Cell, ready: dict[Worker, dict[str, float]], plan: Plan) -> list[dict[str, Any]]:
    for worker in ready:
        worker.run(cell, 0, 1)  # warm
    measured: dict[Worker, list[dict[str, Any]]] = {worker: [] for worker in ready}
    for _ in range(plan.rounds):
        for worker in ready:
            measured[worker].append(worker.guarded(cell, plan.seconds))
    rows = []
    for worker, agreement in ready.items():
        row = {"model": model, "cell": str(cell), "peer": worker.peer, "threads": plan.threads}
        row |= figures(measured[worker], cell) | agreement | worker.ask("MEM", "MEM")
        row["gflops_best"] = gflop(model, cell.side) / row["min_ms"] * 1e3
        rows.append(row)
        print(f"{model} {cell} {worker.peer}: median {row['median_ms']:.1f} ms, least {row['min_ms']:.1f}", flush=True)
    return rows


def figures(measured: list[dict[str, Any]], cell: Cell) -> dict[str, Any]:
    """Milliseconds a picture."""
    in_peace = [it for it in measured if not it["disturbed"]]
    medians = sorted(statistics.median(it["times"]) / cell.batch * 1e3 for it in in_peace or measured)
    return {
        "median_ms": statistics.median(medians),
        "min_ms": min(min(it["times"]) for it in measured) / cell.batch * 1e3,
        "round_medians_ms": medians,
        "foreign": [it["foreign"] for it in measured],
        "rounds": len(measured),
        "undisturbed": len(in_peace),
    }
