"""The eight mixed tables: typed columns and labels, in their order."""

from __future__ import annotations

import csv
import json
import lzma
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["MixedTable", "names", "read"]

FOLDER = Path(os.environ.get("NYSTREAM_DATA", Path(__file__).parents[4] / "shared" / "data")) / "tables"
KINDS = {"num": "number", "cat": "category", "time": "time", "text": "text"}


@dataclass(frozen=True)
class MixedTable:
    """Columns by name, float64 with nan, str or None, datetime64[us]; classes is 0 for regression."""

    name: str
    kinds: dict[str, str]
    columns: dict[str, Any]
    y: np.ndarray
    classes: int

    def __len__(self) -> int:
        return len(self.y)

    def losses(self, said: np.ndarray) -> np.ndarray:
        """Wrong or right, 1 or 0; squared errors."""
        return (said != self.y).astype(float) if self.classes else (said - self.y) ** 2

    def error(self, losses: np.ndarray) -> float:
        """Error rate, or root of the mean squared error."""
        return float(losses.mean() if self.classes else np.sqrt(losses.mean()))


def names() -> list[str]:
    if not FOLDER.is_dir():
        raise SystemExit(f"the tables are not in {FOLDER}; set NYSTREAM_DATA to the folder that has `tables`")
    return list(json.loads((FOLDER / "kinds.json").read_text()))


def read(name: str, rows: int | None = None) -> MixedTable:
    about = json.loads((FOLDER / "kinds.json").read_text())[name]
    with lzma.open(FOLDER / f"{name}.csv.xz", "rt", encoding="utf-8", newline="") as file:
        lines = [line for line, _ in zip(csv.DictReader(file), range(rows or 10**9), strict=False)]
    kinds = {column: KINDS[kind] for column, kind in about["kinds"].items()}
    columns = {column: typed([line[column] for line in lines], kind) for column, kind in kinds.items()}
    target = [line["target"] for line in lines]
    if about["task"].startswith("regression"):
        return MixedTable(name, kinds, columns, np.array(target, dtype=float), 0)
    numbers: dict[str, int] = {}
    y = np.array([numbers.setdefault(label, len(numbers)) for label in target], dtype=float)
    return MixedTable(name, kinds, columns, y, len(numbers))


def typed(values: list[str], kind: str) -> np.ndarray:
    if kind == "number":
        return np.array([float(v) if v else np.nan for v in values])
    if kind == "time":
        return np.array([v or "NaT" for v in values], dtype="datetime64[us]")
    return np.array([v or None for v in values], dtype=object)
