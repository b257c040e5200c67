"""Bars of the forward's speed as SVG: a group a cell, a bar a peer, its length the share of the roof, its label milliseconds.

Shares make cells comparable that are far apart in milliseconds. Colours are read on light and dark pages; text follows the
reader's preference.
"""

from __future__ import annotations

from html import escape
from typing import Any

from .settings import OURS

WIDTH, LEFT, RIGHT, TOP, BAR, GAP, HEADING = 860, 130, 70, 54, 15, 14, 22
COLOURS = {
    OURS: "#e4572e",
    "openvino": "#7c6bc9",
    "openvino-2s": "#a99be0",
    "onnxruntime": "#4f9bb5",
    "torch-compile": "#6fa36f",
    "torch-eager": "#9aa08f",
}
STYLE = """<style>
text { font: 12px system-ui, sans-serif; fill: #333 } .cell { font-weight: 600 } .title { font-size: 15px; font-weight: 600 }
.grid { stroke: #8888; stroke-dasharray: 2 3 }
@media (prefers-color-scheme: dark) { text { fill: #ddd } }
</style>"""


def bars(rows: list[dict[str, Any]], title: str) -> str:
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
            parts.append(bar(row, y))
            y += BAR + 3
        y += GAP
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" role="img">'
    return "\n".join([head, f"<title>{escape(title)}</title>", STYLE, grid(title, y), *parts, "</svg>", ""])


def x_of(share: float) -> float:
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def grid(title: str, bottom: int) -> str:
    parts = [f'<text class="title" x="8" y="20">{escape(title)}</text>']
    for percent in range(0, 101, 20):
        x = x_of(percent / 100)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{bottom - GAP}"/>')
        parts.append(f'<text x="{x:.1f}" y="{TOP - 12}" text-anchor="middle">{percent} %</text>')
    return "\n".join(parts)


def bar(row: dict[str, Any], y: int) -> str:
    share = row["gflops_best"] / row["roof_gflops"]
    end = x_of(share)
    return (
        f'<text x="{LEFT - 6}" y="{y + 12}" text-anchor="end">{escape(row["peer"])}</text>'
        f'<rect x="{LEFT}" y="{y}" width="{end - LEFT:.1f}" height="{BAR}" rx="2" fill="{COLOURS.get(row["peer"], "#888")}"/>'
        f'<text x="{end + 5:.1f}" y="{y + 12}">{row["min_ms"]:.1f} ms</text>'
    )
