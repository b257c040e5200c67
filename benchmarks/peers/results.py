"""What was measured, as JSON on disk: written after each row, so that a run which ends early keeps what it has.

Kinds of rows by name; a row measured again takes the place of the old one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class Results:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.kinds: dict[str, list[dict[str, Any]]] = json.loads(path.read_text()) if path.exists() else {}

    def rows(self, kind: str, **wanted: object) -> list[dict[str, Any]]:
        return [row for row in self.kinds.get(kind, []) if all(row.get(key) == value for key, value in wanted.items())]

    def add(self, kind: str, row: dict[str, Any], *keys: str) -> None:
        """Adds a row, in place of the one with the same values of the keys."""
        same = {key: row[key] for key in keys}
        replaced = self.rows(kind, **same)
        self.kinds[kind] = [other for other in self.kinds.get(kind, []) if other not in replaced] + [row]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(self.kinds, indent=1))
        unfinished.replace(self.path)
