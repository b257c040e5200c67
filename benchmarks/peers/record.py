"""The record of a date: a page of tables, its picture and the raw figures, of all that was measured under that date."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from . import chart, lower_record
from .precision import FULL, PRECISIONS
from .results import Results
from .settings import DEFAULT_CELLS, OURS
from .tables import Row, agreement, counted, order, place, same_cell, spread, table

READING = """Milliseconds a picture, forward only, inputs ready. All runtimes of a model are loaded before the first round and asked in turns; an
idle one waits for a line. A median is that of the medians of undisturbed rounds: those in which others used next to nothing of the
processor. A least time is that of all rounds. A ratio is the best peer's time by ours, medians by medians and least by least. Shares
are of the roof: the best f32 rate that any way to multiply reached in the same run."""


def write(results: Results, folder: Path, date: str) -> Path:
    """Writes the page, a picture for each number of threads, and the figures; returns the page."""
    page, stem = folder / f"{date}-peers.md", f"{date}-peers"
    dtypes = ", ".join(dtype for dtype in (FULL, *PRECISIONS) if results.rows("forward" if dtype == FULL else dtype))
    lines = [f"# dinoxide beside other CPU runtimes, {dtypes}, {date}", "", *head(results), READING, ""]
    for threads in sorted({row["threads"] for row in results.rows("forward")}, reverse=True):
        rows = sorted(results.rows("forward", threads=threads), key=order)
        title = f"Forward in f32, {counted(threads, 'thread')}: share of the roof, least time a picture"
        picture = f"{stem}-{threads}.svg"
        (folder / picture).write_text(chart.bars([row for row in rows if has_peer(row, rows)], title))
        lines += [f"## Forward, {counted(threads, 'thread')}", "", f"![{title}]({picture})", ""]
        lines += [*summary(rows), "", *roofs(results.rows("roof", threads=threads)), ""]
        lines += [f"### Every peer, {counted(threads, 'thread')}", "", *every_peer(rows), ""]
    for dtype in PRECISIONS:
        lines += lower_record.sections(dtype, results.rows(dtype), folder, stem)
    for kind, section in (("contention", contention), ("cold", cold), ("pictures", pictures), ("memory", memory)):
        if results.rows(kind):
            lines += [*section(results.rows(kind)), ""]
    (folder / f"{stem}.json").write_bytes(results.path.read_bytes())
    page.write_text("\n".join(lines))
    return page


def head(results: Results) -> Iterator[str]:
    runs = results.rows("run")
    for what in ("machine", "versions"):
        yield from (f"{text}\n" for text in dict.fromkeys(run[what] for run in runs))
    yield "Random weights at the true sizes. Made by:\n"
    yield from dict.fromkeys(f"    benchmarks/run.sh {run['arguments']}".rstrip() for run in runs)
    commits = ", ".join(dict.fromkeys(run["commit"] for run in runs))
    yield f"\nof commit {commits}. The raw figures are beside this page.\n"


def has_peer(row: Row, rows: Iterable[Row]) -> bool:
    return any(other["peer"] != OURS for other in same_cell(row, rows))


def percent(row: Row) -> str:
    return f"{100 * row['gflops_best'] / row['roof_gflops']:.0f} %"


def summary(rows: list[Row]) -> Iterator[str]:
    def line(ours: Row) -> Iterable[object]:
        peers = [row for row in same_cell(ours, rows) if row["peer"] != OURS]
        mine = (*place(ours), f"{ours['median_ms']:.1f} / {ours['min_ms']:.1f}")
        if not peers:
            return *mine, "", "", "", percent(ours), ""
        median, least = (min(peers, key=lambda row: row[key]) for key in ("median_ms", "min_ms"))
        names = median["peer"] if median is least else f"{median['peer']} / {least['peer']}"
        best = f"{median['median_ms']:.1f} / {least['min_ms']:.1f} ({names})"
        ratios = (f"{theirs[key] / ours[key]:.2f}" for theirs, key in ((median, "median_ms"), (least, "min_ms")))
        return *mine, best, *ratios, percent(ours), percent(least)

    headings = "model | size | batch | dinoxide, median / least | best peer, median / least | ratio of medians | ratio of least | our share of the roof | best peer's"
    return table(headings, (line(row) for row in rows if row["peer"] == OURS))


def roofs(rows: list[Row]) -> Iterator[str]:
    ways = list(dict.fromkeys(way for row in rows for way in row["ways"]))
    yield "Roof, GFLOP/s, measured with each model, the best way's figure and shape:\n"
    yield from table(
        "measured with | roof | " + " | ".join(ways),
        (
            (row["model"], f"{row['gflops']:.0f}", *(way_figure(row["ways"].get(way)) for way in ways))
            for row in sorted(rows, key=lambda row: list(DEFAULT_CELLS).index(row["model"]))
        ),
    )


def way_figure(way: Row | None) -> str:
    if way is None:
        return ""
    return f"{way['gflops']:.0f}" + (f" ({way['shape']})" if way["shape"] else "")


def every_peer(rows: list[Row]) -> Iterator[str]:
    def line(row: Row) -> Iterable[object]:
        return *place(row), row["peer"], f"{row['median_ms']:.1f}", f"{row['min_ms']:.1f}", *spread(row), percent(row), *agreement(row)

    headings = "model | size | batch | runtime | median | least | medians of rounds | undisturbed rounds | share of the roof | CLS: max abs | cosine"
    return table(headings, map(line, sorted(rows, key=lambda row: (*order(row), row["median_ms"]))))


def contention(rows: list[Row]) -> Iterator[str]:
    yield "## Beside a process that keeps one core busy\n"
    headings = "model | size | batch | threads | runtime | alone, ms | beside it, ms | times slower"
    yield from table(
        headings,
        (
            (*place(row), row["threads"], row["peer"], f"{row['alone_ms']:.1f}", f"{row['beside_ms']:.1f}", f"{row['slower']:.2f}")
            for row in sorted(rows, key=lambda row: (*order(row), row["threads"], row["slower"]))
        ),
    )


def cold(rows: list[Row]) -> Iterator[str]:
    yield "## From the start of a process to the embedding of a 640×480 JPEG, dinov2-small\n"
    yield "Files in the system's cache. ONNX Runtime and OpenVINO with Pillow and numpy in place of a processor.\n"
    ours = {row["threads"]: row["median_s"] for row in rows if row["peer"] == OURS}
    yield from table(
        "threads | runtime | median, s | least, s | by ours",
        (
            (row["threads"], row["peer"], f"{row['median_s']:.2f}", f"{row['min_s']:.2f}", f"{row['median_s'] / ours[row['threads']]:.1f}")
            for row in sorted(rows, key=lambda row: (row["threads"], row["median_s"]))
        ),
    )


def pictures(rows: list[Row]) -> Iterator[str]:
    yield "## From a JPEG to pixel_values\n"
    yield "Transformers' torchvision processor on what Pillow decodes, beside ours.\n"
    yield from table(
        "processor of | photograph | threads | runtime | median, ms | least, ms | max abs",
        (
            (
                row["model"],
                row["photograph"],
                row["threads"],
                OURS if row["peer"] == OURS else "Transformers",
                f"{row['median_ms']:.2f}",
                f"{row['min_ms']:.2f}",
                f"{row['max_abs']:.1e}",
            )
            for row in rows
        ),
    )


def memory(rows: list[Row]) -> Iterator[str]:
    yield "## Memory\n"
    yield "MiB; the peak of the whole process, inputs included. The ratio is of the peak at batch 1 to the weights.\n"
    yield from table(
        "model | threads | weights | after loading | batch 1, 224 | batch 8, 224 | ratio",
        (
            (
                row["model"],
                row["threads"],
                *(f"{row[key]:.0f}" for key in ("weights_mb", "loaded_mb", "batch_1_mb", "batch_8_mb")),
                f"{row['batch_1_mb'] / row['weights_mb']:.2f}",
            )
            for row in sorted(rows, key=lambda row: list(DEFAULT_CELLS).index(row["model"]))
        ),
    )
