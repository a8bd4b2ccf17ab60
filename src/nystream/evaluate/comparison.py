"""The results of several learners on one stream."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterator, Sequence
from typing import Any, Self

from nystream.evaluate.result import Result, dumps, loads, write
from nystream.evaluate.table import align, figures
from nystream.runtime.cards import card

__all__ = ["Comparison"]


class Comparison:
    """The results of several learners on the same rows, in the given order.

    `comparison["FOGD"]` is one result; iterating gives all; `print(comparison)` shows the last readings, with the
    best of each column marked.
    """

    def __init__(self, results: Sequence[Result]) -> None:
        names = [result.name for result in results]
        if not names or len(set(names)) != len(names):
            raise ValueError(f"a comparison needs results with distinct names, got {names}")
        self.results = tuple(results)

    def __getitem__(self, name: str) -> Result:
        for result in self.results:
            if result.name == name:
                return result
        raise KeyError(f"no result {name!r}; there are {', '.join(self.names)}")

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    @property
    def names(self) -> list[str]:
        """Names of the learners."""
        return [result.name for result in self.results]

    @property
    def metrics(self) -> list[str]:
        """Metrics of any of the results, in order."""
        return list(dict.fromkeys(metric for result in self.results for metric in result.metrics))

    @property
    def interrupted(self) -> bool:
        """Whether the evaluation was stopped from the keyboard."""
        return any(result.interrupted for result in self.results)

    def final(self, metric: str) -> dict[str, float]:
        """Return the last reading of a metric for each learner (NaN if it was not measured)."""
        if metric not in self.metrics:
            raise KeyError(f"{metric!r} was not measured; there are {', '.join(self.metrics)}")
        return {result.name: result.final.get(metric, math.nan) for result in self.results}

    def best(self, metric: str) -> str | None:
        """Return the learner with the best last reading (the first of equals), or None if there is none."""
        finals = {name: value for name, value in self.final(metric).items() if not math.isnan(value)}
        direction = next(r.directions.get(metric) for r in self.results if metric in r.columns)
        pick = max if direction == "higher" else min
        return pick(finals, key=finals.__getitem__) if finals and direction is not None else None

    def table(self) -> str:
        """Return the last readings as aligned text. A star marks the best of each column."""
        columns = [self.names]
        for metric in self.metrics:
            cells, best = figures(self.final(metric).values()), self.best(metric)
            columns.append([f"{c}{'*' if n == best else ' '}" for c, n in zip(cells, self.names, strict=True)])
        return align(["learner", *(f"{metric} " for metric in self.metrics)], columns, left=1)

    def __str__(self) -> str:
        return f"{self.table()}\n{self._seen()}; * best"

    def _seen(self) -> str:
        rows = sorted({result.rows for result in self.results})
        seen = f"{rows[0]} rows" if len(rows) == 1 else f"{rows[0]} to {rows[-1]} rows"
        return f"{seen}{', interrupted' if self.interrupted else ''}"

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self.names)}>"

    def _repr_html_(self) -> str:
        """Return a card for notebooks."""
        columns = [self.names, *(figures(self.final(metric).values()) for metric in self.metrics)]
        bests = [self.best(metric) for metric in self.metrics]
        marked = [(self.names.index(best), j) for j, best in enumerate(bests, 1) if best is not None]
        facts = [("rows", self._seen()), ("bold", "the best of its column")]
        return card("Comparison", "", facts, ["learner", *self.metrics], list(zip(*columns, strict=True)), marked)

    def to_json(self) -> str:
        """Return all results as standard JSON."""
        return dumps({"results": [result.to_dict() for result in self.results]})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the output of `to_json`."""
        content: Any = loads(text)
        if not isinstance(content, dict) or not isinstance(content.get("results"), list):
            raise ValueError("not a comparison: it has no list 'results'")
        return cls([Result.from_dict(result) for result in content["results"]])

    def to_csv(self) -> str:
        """Return CSV with a line for each learner and reading: `learner`, `n`, metrics; empty if not measured."""
        lines = io.StringIO()
        writer = csv.DictWriter(lines, ["learner", "n", *self.metrics], lineterminator="\n")
        writer.writeheader()
        for result in self.results:
            for line in result.lines():
                writer.writerow({"learner": result.name, **dict(zip(result.columns, line, strict=True))})
        return lines.getvalue()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file: .json for everything, .csv for the columns."""
        write(path, {".json": self.to_json, ".csv": self.to_csv})
