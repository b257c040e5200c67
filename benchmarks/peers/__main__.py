"""The command: `benchmarks/run.sh [MODE] [options]`; see `--help`."""

from __future__ import annotations

import argparse
import datetime
import sys
from pathlib import Path

from . import cold, forward, machine, pictures, record, setup, side
from .results import Results
from .settings import CACHE, DEFAULT_CELLS, OURS, PEERS, REPOSITORY, RESULTS, ROOT, Cell

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
SIDE_CELLS = {"dinov2-small": (Cell(1, 224),), "dinov2-base": (Cell(1, 224),)}
"""Of contention."""


def arguments() -> argparse.Namespace:
    modes = "\n".join(f"  {mode:11} {what}" for mode, what in MODES.items())
    parser = argparse.ArgumentParser(
        prog="benchmarks/run.sh",
        description=f"Measures dinoxide beside other CPU runtimes, in f32.\n\n{modes}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("mode", nargs="?", choices=MODES, default="all")
    parser.add_argument("--models", nargs="+", choices=DEFAULT_CELLS, help="default: all")
    parser.add_argument("--cells", type=lambda text: tuple(map(Cell.parse, text.split(","))), help="BATCH:SIDE,…; default: each model's own")
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=PEERS, help="beside us; default: all")
    parser.add_argument("--rounds", type=int, default=7, help="of each peer and cell; 0 only checks that all agree")
    parser.add_argument("--seconds", type=float, default=0.6, help="of a round, at least one forward")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--date", default=datetime.date.today().isoformat(), help="of the record; results of a date are added to")
    parser.add_argument("--no-setup", action="store_true", help="take binaries and files as they are")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    CACHE.mkdir(parents=True, exist_ok=True)
    default = SIDE_CELLS if args.mode == "contention" else DEFAULT_CELLS
    wanted = {model: args.cells or default.get(model, (Cell(1, 224),)) for model in args.models or default}
    peers = (*args.peers, OURS)
    results = Results(RESULTS / f"{args.date}.json")
    plan = forward.Plan(args.rounds, args.seconds, args.threads)
    if not args.no_setup and args.mode != "record":
        setup.prepare(wanted, args.peers)
    if args.mode != "setup":
        results.add("run", machine.described_run(args.mode, sys.argv[1:], args.threads), "mode", "threads", "arguments")
    with Path(ROOT / "workers.log").open("a") as log:
        if args.mode in ("all", "forward"):
            for model, cells in wanted.items():
                forward.compare(model, cells, peers, plan, results, log)
        if args.mode in ("all", "contention"):
            for model in args.models or SIDE_CELLS:
                side.contention(model, SIDE_CELLS.get(model, (Cell(1, 224),))[0], peers, plan, results, log)
        if args.mode in ("all", "memory"):
            for model in wanted:
                side.memory(model, args.threads, results, log)
        if args.mode in ("all", "pictures"):
            pictures.compare(plan, results, log)
    if args.mode in ("all", "cold"):
        cold.compare(plan, results)
    if args.mode in ("all", "record"):
        print(f"wrote {record.write(results, REPOSITORY / 'benchmarks', args.date)}")


if __name__ == "__main__":
    main()
