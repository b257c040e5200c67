"""Two more questions to workers: how much slower beside a busy process, and how much memory.

Contention: the busy process wants one core all the time and is pinned to none, as another job of the machine would be. Each round
measures every peer alone and then beside it. Memory: a fresh process's peak after loading, and after forwards, against
the weights' file.
"""

from __future__ import annotations

import signal
import statistics
import subprocess
import sys
import time
from typing import IO

from .forward import Plan, agreeing, load
from .process import Worker
from .results import Results
from .settings import CHECKPOINTS, OURS, Cell

MEMORY_CELLS = (Cell(1, 224), Cell(8, 224))
SETTLE = 0.3
"""Seconds until the system has found places for all threads."""


def contention(model: str, cell: Cell, peers: tuple[str, ...], plan: Plan, results: Results, log: IO[str]) -> None:
    workers = load(model, peers, plan.threads, log)
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        busy.send_signal(signal.SIGSTOP)
        ready = agreeing(model, cell, workers)
        alone: dict[str, list[float]] = {worker.peer: [] for worker in ready}
        beside: dict[str, list[float]] = {worker.peer: [] for worker in ready}
        for _ in range(plan.rounds):
            for worker in ready:
                alone[worker.peer].append(statistics.median(worker.guarded(cell, plan.seconds)["times"]))
                busy.send_signal(signal.SIGCONT)
                time.sleep(SETTLE)
                beside[worker.peer].append(statistics.median(worker.run(cell, plan.seconds, 3)))
                busy.send_signal(signal.SIGSTOP)
    finally:
        busy.kill()
        busy.wait()
        for worker in workers:
            worker.quit()
    for peer in alone if plan.rounds else ():
        quiet_ms, busy_ms = (statistics.median(times[peer]) * 1e3 for times in (alone, beside))
        row = {"model": model, "cell": str(cell), "peer": peer, "threads": plan.threads}
        row |= {"alone_ms": quiet_ms, "beside_ms": busy_ms, "slower": busy_ms / quiet_ms}
        results.add("contention", row, "model", "cell", "peer", "threads")
        print(f"{model} {cell} {peer}: alone {quiet_ms:.1f} ms, beside a busy process {busy_ms:.1f}, {row['slower']:.2f} times", flush=True)


def memory(model: str, threads: int, results: Results, log: IO[str]) -> None:
    worker = Worker(OURS, model, threads, log)
    row = {
        "model": model,
        "threads": threads,
        "weights_mb": (CHECKPOINTS / model / "model.safetensors").stat().st_size / 2**20,
        "loaded_mb": worker.ask("MEM", "MEM")["peak_mb"],
    }
    for cell in MEMORY_CELLS:
        worker.run(cell, 0, 3)
        row[f"batch_{cell.batch}_mb"] = worker.ask("MEM", "MEM")["peak_mb"]
    worker.quit()
    results.add("memory", row, "model", "threads")
    print(f"{model}: weights {row['weights_mb']:.0f} MiB, peak {row['batch_1_mb']:.0f} at batch 1, {row['batch_8_mb']:.0f} at batch 8", flush=True)
