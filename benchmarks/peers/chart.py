"""Bars of the forward's speed as SVG: a group a cell, a bar a peer, its label milliseconds, its length a share of the roof or a speed
by our f32.

Both make cells comparable that are far apart in milliseconds. Colours are read on light and dark pages; text follows the
reader's preference.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

from .settings import OURS, our_dtype

WIDTH, LEFT, RIGHT, TOP, BAR, GAP, HEADING = 860, 160, 70, 54, 15, 14, 22
COLOURS = {
    OURS: "#e4572e",
    "openvino": "#7c6bc9",
    "openvino-2s": "#a99be0",
    "onnxruntime": "#4f9bb5",
    "torch-compile": "#6fa36f",
    "torch-eager": "#9aa08f",
}
SHADES = {OURS: "#f0946f", "openvino": "#7c6bc9", "onnxruntime": "#4f9bb5", "torch": "#6fa36f"}
"""Of names that have no colour of their own: our lower precisions, then by runtime."""
STYLE = """<style>
text { font: 12px system-ui, sans-serif; fill: #333 } .cell { font-weight: 600 } .title { font-size: 15px; font-weight: 600 }
.grid { stroke: #8888; stroke-dasharray: 2 3 }
@media (prefers-color-scheme: dark) { text { fill: #ddd } }
</style>"""


@dataclass(frozen=True)
class Axis:
    """What a bar's length says."""

    value: Callable[[dict[str, Any]], float]
    most: float
    step: float
    label: Callable[[float], str]


SHARE = Axis(lambda row: row["gflops_best"] / row["roof_gflops"], 1.0, 0.2, lambda share: f"{100 * share:.0f} %")


def times(value: Callable[[dict[str, Any]], float], rows: list[dict[str, Any]]) -> Axis:
    """Of speeds by another's, as far as the greatest."""
    most = max(map(value, rows), default=1.0)
    step = 0.5 if most <= 4 else 1.0
    return Axis(value, step * math.ceil(most / step), step, lambda speed: f"{speed:.1f} ×")


def bars(rows: list[dict[str, Any]], title: str, axis: Axis = SHARE) -> str:
    """An SVG of rows of the forward: least times, best first within a cell."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["model"], row["cell"]), []).append(row)
    parts, y = [], TOP
    for (model, cell), of_cell in groups.items():
        batch, side = cell.split(":")
        parts.append(f'<text class="cell" x="8" y="{y + 14}">{escape(model)}, {side} × {side}, batch {batch}</text>')
        y += HEADING
        for row in sorted(of_cell, key=lambda row: row["min_ms"]):
            parts.append(bar(row, y, axis))
            y += BAR + 3
        y += GAP
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" role="img">'
    return "\n".join([head, f"<title>{escape(title)}</title>", STYLE, grid(title, y, axis), *parts, "</svg>", ""])


def x_of(value: float, axis: Axis) -> float:
    return LEFT + value / axis.most * (WIDTH - LEFT - RIGHT)


def grid(title: str, bottom: int, axis: Axis) -> str:
    parts = [f'<text class="title" x="8" y="20">{escape(title)}</text>']
    for tick in range(round(axis.most / axis.step) + 1):
        x = x_of(tick * axis.step, axis)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{bottom - GAP}"/>')
        parts.append(f'<text x="{x:.1f}" y="{TOP - 12}" text-anchor="middle">{axis.label(tick * axis.step)}</text>')
    return "\n".join(parts)


def bar(row: dict[str, Any], y: int, axis: Axis) -> str:
    end = x_of(axis.value(row), axis)
    return (
        f'<text x="{LEFT - 6}" y="{y + 12}" text-anchor="end">{escape(row["peer"])}</text>'
        f'<rect x="{LEFT}" y="{y}" width="{end - LEFT:.1f}" height="{BAR}" rx="2" fill="{colour(row["peer"])}"/>'
        f'<text x="{end + 5:.1f}" y="{y + 12}">{row["min_ms"]:.1f} ms</text>'
    )


def colour(peer: str) -> str:
    return COLOURS.get(peer) or SHADES[OURS if our_dtype(peer) else peer.split("-")[0]]
