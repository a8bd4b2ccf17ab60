"""Rows of every kind on their way in: rows a second, beside the same rows converted whole beforehand, and memory held.

    python benchmarks/speed/converting.py [--rows N] [--only WORD ...]

`run` is that of FOGD, `model` that of a `Model` around it, `scikit-learn` a facade's `fit` and `prequential` the
evaluation of the learner (of dicts and mixed columns: of the model). "of whole" is the time of converting all rows at
once to a float64 matrix in C order and doing the same with that, over the time taken: above 1 it is faster as it is.
Mixed columns have no such matrix.
"held" is the peak of tracemalloc over the size of the matrix (of mixed columns: eight bytes a value). Lists, dicts and
mixed columns are a tenth of the rows. Least processor time of several runs.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import argparse
import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
from _results import note
from _timing import in_turn

import nystream as ny
from nystream.sklearn import OnlineKernelRegressor

COLUMNS = 20
NAMES = [f"c{j}" for j in range(COLUMNS)]
MIXED = {NAMES[j]: ("number", "number", "category", "category", "time")[j % 5] for j in range(COLUMNS)}
REPEATS = 3


def fogd() -> ny.FOGD:
    return ny.FOGD(ny.Gaussian(4.0), dim=20, loss="squared", seed=0)


def model(kinds: dict[str, str] | None = None) -> ny.Model:
    learner = fogd() if kinds is None else ny.Encoded(fogd())
    return ny.Model(learner, ny.Schema(kinds or NAMES, task="regression"))


def chunked(X: np.ndarray, chunks: int) -> pyarrow.Table:
    tables = [pyarrow.table(dict(zip(NAMES, part.T.copy(), strict=True))) for part in np.array_split(X, chunks)]
    return pyarrow.concat_tables(tables)


def dicts(X: np.ndarray) -> list[dict[str, float]]:
    return [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]


def frame(X: np.ndarray, width: int = 8) -> dict[str, np.ndarray]:
    """Columns by name, every second one of another type where `width` is 4."""
    return {name: X[:, j].astype(f"f{width}" if j % 2 else "f8") for j, name in enumerate(NAMES)}


def mixed(X: np.ndarray) -> pandas.DataFrame:
    """Numbers, categories, strings and times."""
    levels = np.array([f"level {i}" for i in range(50)], dtype=object)
    found: dict[str, Any] = {}
    for j, name in enumerate(NAMES):
        places = (np.abs(X[:, j]) * 25).astype(int) % 50
        if MIXED[name] == "number":
            found[name] = X[:, j]
        elif MIXED[name] == "time":
            found[name] = np.datetime64("2024-01-01", "us") + (1e6 * np.abs(X[:, j])).astype("timedelta64[s]")
        else:
            found[name] = pandas.Categorical(levels[places]) if j % 5 == 2 else levels[places]
    return pandas.DataFrame(found)


KINDS: dict[str, Callable[[np.ndarray], Any]] = {
    "float64, C": lambda X: X,
    "float64, Fortran": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "pandas": lambda X: pandas.DataFrame(X, columns=NAMES),
    "pandas, two types": lambda X: pandas.DataFrame(frame(X, 4)),
    "polars": lambda X: polars.DataFrame(frame(X)),
    "polars, two types": lambda X: polars.DataFrame(frame(X, 4)),
    "arrow": lambda X: pyarrow.table(frame(X)),
    "arrow, two types": lambda X: pyarrow.table(frame(X, 4)),
    "arrow, 100 chunks": lambda X: chunked(X, 100),
    "lists": lambda X: X.tolist(),
    "dicts": dicts,
    "mixed pandas": mixed,
    "mixed polars": lambda X: polars.from_pandas(mixed(X)),
    "mixed arrow": lambda X: pyarrow.Table.from_pandas(mixed(X), preserve_index=False),
    "mixed dicts": lambda X: mixed(X).to_dict("records"),
}


def whole(rows: Any) -> np.ndarray:
    """All rows at once as a clean matrix."""
    if isinstance(rows, list) and isinstance(rows[0], dict):
        rows = [list(row.values()) for row in rows]
    return np.ascontiguousarray(np.asarray(rows), dtype=np.float64)


def held(work: Callable[[], object], size: int) -> float:
    gc.collect()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / size
    finally:
        tracemalloc.stop()


def ways(kind: str) -> dict[str, Callable[[Any, np.ndarray], object]]:
    if kind.startswith("mixed"):
        return {
            "model": lambda rows, y: model(MIXED).run(rows, y),
            "prequential": lambda rows, y: ny.prequential((rows, y), model(MIXED), ["mse"], every=10**9),
        }
    named = kind == "dicts"
    found: dict[str, Callable[[Any, np.ndarray], object]] = (
        {} if named else {"run": lambda rows, y: fogd().run(rows, y)}
    )
    if kind != "lists":
        found["model"] = lambda rows, y: model().run(rows, y)
    if not named:
        found["scikit-learn"] = lambda rows, y: OnlineKernelRegressor(fogd()).fit(rows, y)
    found["prequential"] = lambda rows, y: ny.prequential((rows, y), model() if named else fogd(), ["mse"], every=10**9)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="*", default=[], help="kinds whose names have one of these words")
    options = parser.parse_args()
    print(f"{'rows':>18} {'way':>12} {'rows/s':>11} {'of whole':>9} {'held':>6}")
    for kind, made in KINDS.items():
        if options.only and not any(word in kind for word in options.only):
            continue
        slow = kind in ("lists", "dicts") or kind.startswith("mixed")
        n = options.rows // 10 if slow else options.rows
        X = np.random.default_rng(0).normal(size=(n, COLUMNS))
        y, rows = X[:, 0] * X[:, 1], made(X)
        for name, way in ways(kind).items():
            works: dict[str, Callable[[], object]] = {"parts": lambda way=way, rows=rows, y=y: way(rows, y)}
            if not kind.startswith("mixed"):
                works["whole"] = lambda way=way, rows=rows, y=y: way(whole(rows), y)
            try:
                taken = in_turn(works, REPEATS)
            except (TypeError, ValueError) as error:
                print(f"{kind:>18} {name:>12} {'refused':>11}   {str(error)[:60]}", flush=True)
                continue
            ratio = taken["whole"] / taken["parts"] if "whole" in taken else None
            memory = held(works["parts"], 8 * n * COLUMNS)
            shown = f"{ratio:>9.2f}" if ratio is not None else f"{'':>9}"
            print(f"{kind:>18} {name:>12} {n / taken['parts']:>11,.0f} {shown} {memory:>6.2f}", flush=True)
            note(f"{kind} to {name}", "whole stream", n / taken["parts"], "rows/s", ratio, "converted whole")


if __name__ == "__main__":
    main()
