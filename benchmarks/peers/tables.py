"""Rows of results as lines of tables, for all sections of a record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .settings import DEFAULT_CELLS, Cell

Row = dict[str, Any]


def counted(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")


def order(row: Row) -> tuple[int, int, int]:
    cell = Cell.parse(row["cell"])
    return list(DEFAULT_CELLS).index(row["model"]), cell.side, cell.batch


def same_cell(row: Row, rows: Iterable[Row]) -> list[Row]:
    return [other for other in rows if (other["model"], other["cell"]) == (row["model"], row["cell"])]


def table(headings: str, rows: Iterable[Iterable[object]]) -> Iterator[str]:
    yield f"| {headings} |"
    yield "| " + " | ".join("---" for _ in headings.split("|")) + " |"
    yield from ("| " + " | ".join(map(str, row)) + " |" for row in rows)


def place(row: Row) -> tuple[str, int, int]:
    cell = Cell.parse(row["cell"])
    return row["model"], cell.side, cell.batch


def spread(row: Row) -> tuple[str, str]:
    """Least and greatest median of a round, and how many rounds were undisturbed."""
    medians = row["round_medians_ms"]
    return f"{medians[0]:.1f} – {medians[-1]:.1f}", f"{row['undisturbed']} of {row['rounds']}"


def agreement(row: Row) -> tuple[str, str]:
    return (f"{row['max_abs']:.1e}", f"{row['cosine']:.7f}") if "max_abs" in row else ("", "")
