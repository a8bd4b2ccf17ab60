"""Read golden files: load each model of a folder, make its calls, and compare what they give with `expected.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from write import plain

import nystream

RTOL, ATOL = 1e-7, 1e-9
"""Other processors round otherwise. A file with a tolerance of its own says why (`case.py`)."""


class Folder:
    """The golden files of one format."""

    def __init__(self, path: Path) -> None:
        self.path = path
        found = json.loads((path / "expected.json").read_text(encoding="utf-8"))
        self.files: dict[str, Any] = found["files"]
        self.tables = {name: np.array(table["rows"], dtype=table["dtype"]) for name, table in found["tables"].items()}

    def faults(self) -> list[str]:
        """Return what is wrong, a line for each file or call; files that the text does not name are wrong too."""
        names = {path.stem for path in self.path.glob("*.nys")}
        faults = [f"{name}.nys: not in expected.json" for name in sorted(names - set(self.files))]
        for name, entry in self.files.items():
            try:
                faults += self.faults_of(name, entry)
            except Exception as error:
                faults.append(f"{name}.nys: {type(error).__name__}: {error}")
        return faults

    def faults_of(self, name: str, entry: dict[str, Any]) -> list[str]:
        model = nystream.load(self.path / f"{name}.nys", trust=entry.get("trust", []))
        rtol = entry.get("tolerance", RTOL)
        faults = []
        for number, call in enumerate(entry["calls"], start=1):
            gives = plain(self.call(model, call))
            if not agree(gives, call["gives"], rtol, max(ATOL, rtol * 1e-2)):
                faults.append(f"{name}.nys, call {number}, {call['name']}: {call['gives']!r} expected, {gives!r} found")
        return faults

    def call(self, model: Any, call: dict[str, Any]) -> Any:
        found = model
        for part in call["name"].split("."):
            found = getattr(found, part)
        return found(*map(self.argument, call["args"])) if "args" in call else found

    def argument(self, value: Any) -> Any:
        """Return rows of a table for [table, start, stop], one row where stop is null, and other values as they are."""
        is_rows = isinstance(value, list) and len(value) == 3 and isinstance(value[0], str) and value[0] in self.tables
        if not is_rows:
            return value
        name, start, stop = value
        table = self.tables[name]
        if stop is not None:
            return table[start:stop]
        return table[start].copy() if table.ndim > 1 else table[start].item()


def agree(found: Any, expected: Any, rtol: float, atol: float) -> bool:
    """Compare numbers up to rounding, and everything else exactly, through lists."""
    if isinstance(expected, list):
        same = isinstance(found, list) and len(found) == len(expected)
        return same and all(agree(a, b, rtol, atol) for a, b in zip(found, expected, strict=True))
    if isinstance(expected, float) and isinstance(found, (int, float)):
        return bool(np.isclose(found, expected, rtol=rtol, atol=atol, equal_nan=True))
    return bool(found == expected)
