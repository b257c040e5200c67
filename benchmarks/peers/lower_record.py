"""The sections of a record on lower precisions: ours beside the best peer of the same precision, and beside our f32 in the same run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from . import chart
from .precision import PRECISIONS
from .settings import OURS, our_dtype
from .tables import Row, agreement, counted, order, place, same_cell, spread, table

READING = """Each table is of one run in turns, our f32 among them. Cosines are of the CLS vector with that of Transformers in f32. A ratio is another's
time by ours, medians by medians / least by least."""


def sections(dtype: str, all_rows: list[Row], folder: Path, stem: str) -> Iterator[str]:
    """For each number of threads: picture, comparison, everyone."""
    for threads in sorted({row["threads"] for row in all_rows}, reverse=True):
        rows = sorted((row for row in all_rows if row["threads"] == threads), key=order)
        title = f"Forward in {dtype}, {counted(threads, 'thread')}: speed by our f32, least time a picture"
        picture = f"{stem}-{dtype}-{threads}.svg"
        with_f32 = [row for row in rows if f32_of(row, rows)]
        axis = chart.times(lambda row, rows=rows: f32_of(row, rows)["min_ms"] / row["min_ms"], with_f32)
        (folder / picture).write_text(chart.bars(with_f32, title, axis))
        yield from (f"## Forward in {dtype}, {counted(threads, 'thread')}", "", READING, "", f"![{title}]({picture})", "")
        yield from (*comparison(dtype, rows), "", f"### Every peer in {dtype}, {counted(threads, 'thread')}", "", *everyone(rows), "")


def f32_of(row: Row, rows: Iterable[Row]) -> Row | None:
    return next((other for other in same_cell(row, rows) if other["peer"] == OURS), None)


def fastest(rows: list[Row]) -> tuple[Row, Row] | None:
    """By medians and by least times."""
    return tuple(min(rows, key=lambda row: row[key]) for key in ("median_ms", "min_ms")) if rows else None


def ratio(theirs: tuple[Row, Row] | None, mine: Row) -> str:
    return f"{theirs[0]['median_ms'] / mine['median_ms']:.2f} / {theirs[1]['min_ms'] / mine['min_ms']:.2f}" if theirs else ""


def comparison(dtype: str, rows: list[Row]) -> Iterator[str]:
    """A line for each of our dtypes; our f32's is there to be compared with too, before a dtype is."""
    precision = PRECISIONS[dtype]
    known = [peer for peer in precision.beside if any(row["peer"] == peer for row in rows)]

    def line(mine: Row) -> Iterable[object]:
        cell = same_cell(mine, rows)
        best = fastest([row for row in cell if row["peer"] in precision.peers])
        names = " / ".join(dict.fromkeys(row["peer"] for row in best or ()))
        figures = f"{best[0]['median_ms']:.1f} / {best[1]['min_ms']:.1f} ({names})" if best else ""
        f32 = f32_of(mine, rows)
        yield from (*place(mine), our_dtype(mine["peer"]), f"{mine['median_ms']:.1f} / {mine['min_ms']:.1f}", figures, ratio(best, mine))
        yield ratio(f32 and (f32, f32), mine)
        if known:
            yield ratio(fastest([row for row in cell if row["peer"] in known]), mine)
        yield from (f"{mine['cosine']:.6f}", f"{best[1]['cosine']:.6f}" if best else "")

    headings = "model | size | batch | our dtype | dinoxide, median / least | best peer, median / least | best peer by ours | our f32 by ours"
    headings += f" | best of {', '.join(known)} by ours" if known else ""
    return table(f"{headings} | our cosine | best peer's", (line(row) for row in rows if our_dtype(row["peer"])))


def everyone(rows: list[Row]) -> Iterator[str]:
    def line(row: Row) -> Iterable[object]:
        f32 = f32_of(row, rows)
        yield from (*place(row), row["peer"], f"{row['median_ms']:.1f}", f"{row['min_ms']:.1f}", *spread(row))
        yield f"{f32['median_ms'] / row['median_ms']:.2f} / {f32['min_ms'] / row['min_ms']:.2f}" if f32 else ""
        yield from (*agreement(row), f"{row['peak_mb']:.0f}")

    headings = "model | size | batch | runtime | median | least | medians of rounds | undisturbed rounds | speed by our f32, median / least"
    headings += " | CLS: max abs | cosine | peak of the process, MiB"
    return table(headings, map(line, sorted(rows, key=lambda row: (*order(row), row["median_ms"]))))
