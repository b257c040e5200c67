"""From the bytes of a JPEG to `pixel_values`: our processor beside Transformers' torchvision processor on what Pillow decodes.

Both first give the same pixels, up to the level that torchvision's and our rounding may differ by; then they take turns.
"""

from __future__ import annotations

import statistics
from typing import IO

import numpy as np

from .forward import Plan
from .process import Worker
from .results import Results
from .settings import OURS
from .setup import PHOTOGRAPH_SIZES, photograph

MODELS = ("dinov2-small", "dinov3-vits16")
"""One of each processor: bicubic on bytes with a crop, bilinear on floats."""
MAX_ABS = 0.02
"""A level of 255, normalised."""


def compare(plan: Plan, results: Results, log: IO[str]) -> None:
    for model in MODELS:
        workers = [Worker(peer, model, plan.threads, log) for peer in ("processor", OURS)]
        for name in PHOTOGRAPH_SIZES:
            path = photograph(name)
            theirs, ours = (np.array(worker.ask("CHK", "PIXELS", path)["v"]) for worker in workers)
            difference = float(np.abs(theirs - ours).max())
            if difference > MAX_ABS:
                raise SystemExit(f"{model} {name}: the processors differ by {difference}")
            times: dict[str, list[list[float]]] = {worker.peer: [] for worker in workers}
            for _ in range(plan.rounds):
                for worker in workers:
                    times[worker.peer].append(worker.ask("RES", "PICTURE", plan.seconds, 3, path)["times"])
            for peer, of_rounds in times.items():
                median = statistics.median(map(statistics.median, of_rounds)) * 1e3
                row = {"model": model, "photograph": name, "peer": peer, "threads": plan.threads}
                row |= {"median_ms": median, "min_ms": min(map(min, of_rounds)) * 1e3, "max_abs": difference}
                results.add("pictures", row, "model", "photograph", "peer", "threads")
                print(f"{model} {name} {peer}: median {median:.2f} ms, least {row['min_ms']:.2f}", flush=True)
        for worker in workers:
            worker.quit()
