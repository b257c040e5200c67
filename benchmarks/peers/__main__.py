"""The command: `benchmarks/run.sh [MODE] [options]`; see `--help`."""

from __future__ import annotations

import argparse
import datetime
import sys
from pathlib import Path
from typing import IO

from . import cold, forward, lower, machine, pictures, record, setup, side
from .precision import DTYPES, FULL, all_peers, default_cells, peers_of
from .results import Results
from .settings import CACHE, DEFAULT_CELLS, OURS, REPOSITORY, RESULTS, ROOT, Cell

MODES = {
    "all": "everything below and the record (about an hour on two cores)",
    "setup": "only build and make what is missing: checkpoints, graphs, inputs, photographs",
    "forward": "speed of the forward, cell by cell",
    "contention": "the same beside a process that keeps a core busy",
    "memory": "our peak memory against the weights",
    "cold": "from the start of a process to the embedding of one photograph",
    "pictures": "from a JPEG to pixel_values",
    "record": "only write benchmarks/<date>-peers.md and its picture, of what was measured",
}
PICTURE = (Cell(1, 224),)
NEEDED = {
    "contention": {"dinov2-small": PICTURE, "dinov2-base": PICTURE},
    "cold": {cold.MODEL: PICTURE},
    "pictures": dict.fromkeys(pictures.MODELS, PICTURE),
    "memory": dict.fromkeys(DEFAULT_CELLS, side.MEMORY_CELLS),
}
"""Models and cells of the modes that have their own."""


def arguments() -> argparse.Namespace:
    modes = "\n".join(f"  {mode:11} {what}" for mode, what in MODES.items())
    parser = argparse.ArgumentParser(
        prog="benchmarks/run.sh",
        description=f"Measures dinoxide beside other CPU runtimes, in f32 and in lower precision.\n\n{modes}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("mode", nargs="?", choices=MODES, default="all")
    parser.add_argument("--models", nargs="+", choices=DEFAULT_CELLS, help="default: all")
    parser.add_argument("--cells", type=lambda text: tuple(map(Cell.parse, text.split(","))), help="BATCH:SIDE,…; default: each model's own")
    parser.add_argument("--dtype", nargs="+", choices=DTYPES, default=[FULL], help="of the forward; half is bf16 and f16; the rest is in f32")
    parser.add_argument("--peers", nargs="*", choices=all_peers(), help="beside us; default: all of the dtype")
    parser.add_argument("--rounds", type=int, default=7, help="of each peer and cell; 0 only checks that all agree")
    parser.add_argument("--seconds", type=float, default=0.6, help="of a round, at least one forward")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--date", default=datetime.date.today().isoformat(), help="of the record; results of a date are added to")
    parser.add_argument("--no-setup", action="store_true", help="take binaries and files as they are")
    return parser.parse_args()


def chosen(mode: str, args: argparse.Namespace, dtype: str = FULL) -> dict[str, tuple[Cell, ...]]:
    """Models and cells of a mode, as far as the options leave it a choice."""
    default = NEEDED.get(mode, default_cells(dtype))
    if mode in ("cold", "pictures"):
        return default
    cells = None if mode == "memory" else args.cells
    return {model: cells or default.get(model, PICTURE) for model in args.models or default}


def prepare(modes: tuple[str, ...], args: argparse.Namespace) -> None:
    """Binaries and files of some modes."""
    setup.build()
    for mode in modes:
        if mode == "forward":
            for dtype in args.dtype:
                setup.prepare(chosen(mode, args, dtype), peers_of(dtype, args.peers))
        else:
            setup.prepare(chosen(mode, args), {"contention": peers_of(FULL, args.peers), "cold": cold.RUNTIMES}.get(mode, ()))


def measure(modes: tuple[str, ...], args: argparse.Namespace, results: Results, log: IO[str]) -> None:
    plan = forward.Plan(args.rounds, args.seconds, args.threads)
    if "forward" in modes:
        for dtype in args.dtype:
            peers = peers_of(dtype, args.peers)
            for model, cells in chosen("forward", args, dtype).items():
                if dtype == FULL:
                    forward.compare(model, cells, (*peers, OURS), plan, results, log)
                else:
                    lower.compare(dtype, model, cells, peers, plan, results, log)
    if "contention" in modes:
        for model, cells in chosen("contention", args).items():
            for cell in cells:
                side.contention(model, cell, (*peers_of(FULL, args.peers), OURS), plan, results, log)
    if "memory" in modes:
        for model in chosen("memory", args):
            side.memory(model, args.threads, results, log)
    if "pictures" in modes:
        pictures.compare(plan, results, log)
    if "cold" in modes:
        cold.compare(plan, results)


def main() -> None:
    args = arguments()
    CACHE.mkdir(parents=True, exist_ok=True)
    modes = ("forward", *NEEDED) if args.mode in ("all", "setup") else (args.mode,)
    results = Results(RESULTS / f"{args.date}.json")
    if not args.no_setup and args.mode != "record":
        prepare(modes, args)
    if args.mode == "setup":
        return
    if args.mode != "record":
        results.add("run", machine.described_run(args.mode, sys.argv[1:], args.threads), "mode", "threads", "arguments")
        with Path(ROOT / "workers.log").open("a") as log:
            measure(modes, args, results, log)
    if args.mode in ("all", "record"):
        print(f"wrote {record.write(results, REPOSITORY / 'benchmarks', args.date)}")


if __name__ == "__main__":
    main()
