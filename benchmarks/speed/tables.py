"""Encoding of tables and learners of sparse rows: microseconds a row. Run: python benchmarks/speed/tables.py"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np
from _results import note
from _timing import seconds
from scipy.sparse import csr_array

from nystream import GaussianFilter, SparseLinear
from nystream.data.batch import Batch
from nystream.data.encoding import Encoder

ROWS = 4000
WANTED = 20.0
"""Microseconds a row that fifteen columns may take."""


def shops(rng: np.random.Generator, levels: int) -> np.ndarray:
    names = np.array([f"level {i}" for i in range(levels)], dtype=object)
    return names[rng.integers(levels, size=ROWS)]


def table(numbers: int, categories: int, times: int, texts: int) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """Columns of each kind: normal numbers, categories of 10 to 10,000 levels, minutes, sentences of 15 words."""
    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(5000)])
    made = {
        "number": lambda _: rng.normal(size=ROWS),
        "category": lambda i: shops(rng, 10 ** (1 + i % 4)),
        "time": lambda _: np.datetime64("2024-01-01", "us") + np.arange(ROWS).astype("timedelta64[m]"),
        "text": lambda _: np.array([" ".join(words[rng.zipf(1.5, size=15) % 5000]) for _ in range(ROWS)], dtype=object),
    }
    kinds, content = {}, {}
    for kind, count in zip(made, (numbers, categories, times, texts), strict=True):
        for i in range(count):
            kinds[f"{kind} {i}"], content[f"{kind} {i}"] = kind, made[kind](i)
    return kinds, content


def encoding() -> None:
    print(f"{'columns':>40} {'dense':>6} {'tokens':>7} {'us a row':>9}   wanted: at most {WANTED:g} for 15 columns")
    for parts in ((15, 0, 0, 0), (7, 7, 1, 0), (0, 15, 0, 0), (7, 6, 1, 1)):
        kinds, content = table(*parts)
        columns, y = Batch(content, kinds), np.random.default_rng(1).normal(size=ROWS)

        def work(kinds=kinds, columns=columns, y=y):
            encoder = Encoder()
            encoder.start(kinds, 1)
            return encoder.run(columns, y)

        got = work()
        name = ", ".join(
            f"{n} {k}" for n, k in zip(parts, ("numbers", "categories", "times", "texts"), strict=True) if n
        )
        tokens = (got.tokens.end - got.tokens.begin).mean()
        taken = 1e6 * seconds(work) / ROWS
        print(f"{name:>40} {got.dense.shape[1]:>6} {tokens:>7.0f} {taken:>9.2f}")
        note(f"encoding {name}", "blocks", taken, "us", WANTED / taken if sum(parts) == 15 else None, "what was wanted")


def sparse_rows() -> None:
    print(f"\n{'rows of 10^6 columns':>40} {'classes':>8} {'nonzeros':>9} {'us a row':>9}")
    rng = np.random.default_rng(0)
    learners = {
        "SparseLinear, one rate": lambda loss: SparseLinear(loss, rates=(1.0,), bits=20, max_bytes=2**30),
        "SparseLinear, three rates": lambda loss: SparseLinear(loss, bits=20, max_bytes=2**30),
        "GaussianFilter": lambda loss: GaussianFilter(loss, bits=20, max_bytes=2**30),
    }
    for name, build in learners.items():
        for classes in (2, 6):
            for nonzeros in (10, 100, 300):
                places = 10**6 * rng.power(0.3, size=ROWS * nonzeros)  # a few columns are frequent
                X = csr_array(
                    (np.ones(ROWS * nonzeros), places.astype(np.int32), np.arange(0, ROWS * nonzeros + 1, nonzeros)),
                    shape=(ROWS, 10**6),
                )
                y = rng.integers(classes, size=ROWS)
                loss, labels = ("logistic", 2.0 * y - 1) if classes == 2 else ("softmax", y.astype(float))
                model = build(loss)
                model.run(X, labels)  # pages of the table are there afterwards
                taken = seconds(lambda model=model, X=X, labels=labels: model.run(X, labels), repeats=3)
                print(f"{name:>40} {classes:>8} {nonzeros:>9} {1e6 * taken / ROWS:>9.2f}")
                note(f"{name}, {classes} classes, {nonzeros} tokens a row", "whole stream", 1e6 * taken / ROWS, "us")


if __name__ == "__main__":
    encoding()
    sparse_rows()
