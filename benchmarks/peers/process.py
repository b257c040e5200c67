"""A worker's process, and how much of the processor others used meanwhile.

A round is one `RUN`. What other processes used of the processors in it is the machine's busy time (`/proc/stat`, steal included)
less the worker's and our own; a round above the limit is repeated, and if it stays above, kept but marked.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

from .settings import BENCH_WORKER, CHECKPOINTS, REPOSITORY, Cell, environment, our_dtype

TICK = os.sysconf("SC_CLK_TCK")
TRIES = 4
PAUSE = 0.5
SETTLE = 0.1
"""Seconds before a round, in which the last peer's threads stop spinning."""


class PeerError(Exception):
    """A worker that said ERR, or ended."""


def foreign_limit(seconds: float) -> float:
    """Cores that others may use in an undisturbed round; the clock's ticks blur short ones."""
    return 0.06 + 0.04 / seconds


def machine_seconds() -> float:
    user, nice, system, _idle, _io, irq, soft_irq, steal, *_ = map(int, Path("/proc/stat").read_text().split()[1:11])
    return (user + nice + system + irq + soft_irq + steal) / TICK


def process_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


class Worker:
    """A peer with a model."""

    def __init__(self, peer: str, model: str, threads: int, log: IO[str]) -> None:
        self.peer = peer
        if dtype := our_dtype(peer):
            command = [str(BENCH_WORKER), str(CHECKPOINTS / model), dtype, str(threads)]
        else:
            command = [sys.executable, "-m", "peers.worker", peer, model]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=environment(threads),
            cwd=REPOSITORY,
        )
        self.read("READY")

    def read(self, wanted: str) -> Any:
        line = self.process.stdout.readline()
        name, _, value = line.strip().partition(" ")
        if name == wanted:
            return json.loads(value)
        raise PeerError(f"{self.peer}: {json.loads(value) if name == 'ERR' else f'ended, exit code {self.process.wait()}'}")

    def ask(self, wanted: str, *request: object) -> Any:
        """Sends a request and reads its answer, which must have that name."""
        try:
            print(*request, file=self.process.stdin, flush=True)
        except BrokenPipeError:
            raise PeerError(f"{self.peer}: ended, exit code {self.process.wait()}") from None
        return self.read(wanted)

    def cls(self, cell: Cell) -> list[float]:
        return self.ask("CHK", "CHK", *cell)["v"]

    def run(self, cell: Cell, seconds: float, least: int = 1) -> list[float]:
        return self.ask("RES", "RUN", *cell, seconds, least)["times"]

    def guarded(self, cell: Cell, seconds: float) -> dict[str, Any]:
        """A round in peace, or the last of some tries: its times, cores used by others, whether that is too much."""
        for attempt in range(TRIES):
            time.sleep(SETTLE)
            start, before = time.monotonic(), machine_seconds() - self.used()
            times = self.run(cell, seconds)
            took = time.monotonic() - start
            foreign = max(0.0, machine_seconds() - self.used() - before) / took
            disturbed = foreign > foreign_limit(took)
            if not disturbed:
                break
            if attempt + 1 < TRIES:
                time.sleep(PAUSE)
        return {"times": times, "foreign": round(foreign, 3), "disturbed": disturbed}

    def used(self) -> float:
        return process_seconds(self.process.pid) + process_seconds(os.getpid())

    def quit(self) -> None:
        try:
            print("QUIT", file=self.process.stdin, flush=True)
            self.process.wait(15)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
