"""Streams where Vowpal Wabbit lives: text, and clicks with 10^5 levels of categories; beside VW with its defaults.

Run: python benchmarks/accuracy/sparse.py [--rows N] [--only WORD ...]

`words` and `clicks` are generated from a seed, `tweets` is the text of a real table (NYSTREAM_DATA). Every row is
predicted before its label is learnt. Printed are error rates (of clicks, where nearly nobody clicks, log losses too)
over all rows and over the second half, and rows per second of processor time, reading the rows included: strings for VW
and for the learners that say so, hashed sparse rows for the others. One thread.
"""

from __future__ import annotations

import os

for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"  # before NumPy is loaded

import argparse
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from mixed.reading import FOLDER, read
from scipy.sparse import csr_array

from nystream import Auto, SparseLinear
from nystream.data.batch import Batch
from nystream.data.encoding import hash_level

WIDTH = 2**32
"""Hashed columns."""


@dataclass(frozen=True)
class Stream:
    """Rows as columns of strings and as lists of tokens; labels 0, 1, ..."""

    kind: str
    columns: dict[str, np.ndarray]
    tokens: list[list[str]]
    y: np.ndarray

    @property
    def classes(self) -> int:
        return int(self.y.max()) + 1

    def hashed(self) -> csr_array:
        """Sparse rows of ones."""
        places: dict[str, int] = {}
        for row in self.tokens:
            for token in row:
                if token not in places:
                    places[token] = hash_level("token", token)
        lengths = [len(row) for row in self.tokens]
        indices = np.array([places[token] for row in self.tokens for token in row], dtype=np.int64)
        ends = np.concatenate([[0], np.cumsum(lengths)])
        found = csr_array((np.ones(len(indices)), indices, ends), shape=(len(lengths), WIDTH))
        found.sum_duplicates()
        return found


# -- streams -----------------------------------------------------------------------------------------------------------
def words(n: int) -> Stream:
    """Texts of 10 to 50 words out of 50,000, as frequent as in a language; a class likes some words better."""
    rng = np.random.default_rng(1)
    vocabulary = 50_000
    frequency = 1 / (np.arange(vocabulary) + 10)
    sums = [np.cumsum(frequency * np.exp(0.6 * rng.normal(size=vocabulary))) for _ in range(4)]
    y = rng.integers(4, size=n)
    texts = [
        np.searchsorted(sums[k], sums[k][-1] * rng.random(rng.integers(10, 50))).astype(str).tolist()
        for k in y.tolist()
    ]
    rows = [[f"w{word}" for word in dict.fromkeys(text)] for text in texts]
    return Stream("text", {"text": np.array([" ".join(row) for row in rows], dtype=object)}, rows, y.astype(float))


def tweets(n: int) -> Stream:
    table = read("tweets", n)
    text = np.array([value or "" for value in table.columns["text"]], dtype=object)
    rows = [list(dict.fromkeys(re.findall(r"\w+|[^\w\s:|]", value.lower()))) for value in text]
    return Stream("text", {"text": text}, rows, table.y)


def clicks(n: int) -> Stream:
    """20 categories with 10 to 40,000 levels, 10^5 in all, the frequent ones seen often; levels and pairs matter."""
    rng = np.random.default_rng(2)
    levels = np.geomspace(10, 40_000, 20).astype(int)
    logit = np.full(n, -2.5)
    drawn = []
    for size in levels:
        chosen = rng.choice(size, size=n, p=(p := 1 / (np.arange(size) + 3)) / p.sum())
        drawn.append(chosen)
        logit += 0.35 * rng.normal(size=size)[chosen]
    for a, b in ((2, 5), (3, 8), (1, 12)):
        logit += 0.7 * np.sin(drawn[a] * 12.9898 + drawn[b] * 78.233)
    y = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(float)
    columns = {f"c{f}": np.char.add("v", chosen.astype(str)).astype(object) for f, chosen in enumerate(drawn)}
    rows = [
        [f"{name}={value}" for name, value in zip(columns, row, strict=True)]
        for row in zip(*columns.values(), strict=True)
    ]
    return Stream("category", columns, rows, y)


# -- contestants: (n, K) scores, of two classes one: log odds ----------------------------------------------------------
def sparse(stream: Stream, **settings: Any) -> Callable[[], np.ndarray]:
    X = stream.hashed()
    if stream.classes == 2:
        return lambda: SparseLinear("logistic", **settings).run(X, 2 * stream.y - 1)
    return lambda: SparseLinear("softmax", **settings).run(X, stream.y)


def automatic(stream: Stream) -> Callable[[], np.ndarray]:
    def run() -> np.ndarray:
        kinds = dict.fromkeys(stream.columns, stream.kind)
        learner, rows = Auto(task="classification"), Batch(stream.columns, kinds)
        learner.reserve_for(rows, stream.classes)
        P = learner.run(rows, stream.y)
        return P[:, 1] - P[:, 0] if stream.classes == 2 else P

    return run


def vw(stream: Stream, options: str = "") -> Callable[[], np.ndarray]:
    from vowpalwabbit import Workspace

    two = stream.classes == 2
    lines = []
    for row, y in zip(stream.tokens, stream.y.astype(int).tolist(), strict=True):
        if stream.kind == "text":
            spaces = "|t " + " ".join(row)
        else:
            spaces = " ".join(f"|{chr(97 + f)} {token}" for f, token in enumerate(row))
        lines.append(f"{2 * y - 1 if two else y + 1} {spaces}")

    def run() -> np.ndarray:
        model = Workspace(f"--quiet --loss_function logistic {'' if two else f'--oaa {stream.classes}'} {options}")
        said = np.empty(len(lines))
        for t, line in enumerate(lines):
            example = model.example(line)
            model.learn(example)
            said[t] = example.get_prediction()
            model.finish_example(example)
        model.finish()
        return said if two else np.eye(stream.classes)[said.astype(int) - 1]

    return run


CONTESTANTS: dict[str, Callable[[Stream], Callable[[], np.ndarray]]] = {
    "SparseLinear": sparse,
    "SparseLinear, pairs": lambda stream: sparse(stream, pairs=True),
    "Auto, from strings": automatic,
    "VW": vw,
    "VW -q ::": lambda stream: vw(stream, "-q ::"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000, help="of each stream, at most")
    parser.add_argument("--only", nargs="*", help="contestants whose names contain one of these")
    asked = parser.parse_args()
    streams = {"words": words, "tweets": tweets, "clicks": clicks}
    if not FOLDER.is_dir():
        del streams["tweets"]
    for name, made in streams.items():
        stream = made(asked.rows)
        n, half = len(stream.y), len(stream.y) // 2
        columns = len({token for row in stream.tokens for token in row})
        print(f"\n{name}: {n:,} rows, {columns:,} tokens, {stream.classes} classes")
        for contestant, prepared in CONTESTANTS.items():
            if asked.only and not any(word.lower() in contestant.lower() for word in asked.only):
                continue
            if stream.kind == "text" and ("pairs" in contestant or "::" in contestant):
                continue  # of words there are too many
            work = prepared(stream)
            start = time.process_time()
            P = work()
            seconds = time.process_time() - start
            wrong = (P > 0) != stream.y if stream.classes == 2 else P.argmax(axis=1) != stream.y
            line = f"  {contestant:22} error {wrong.mean():.4f}   second half {wrong[half:].mean():.4f}"
            if stream.classes == 2:
                losses = np.logaddexp(0, np.where(stream.y > 0, -P, P))
                line += f"   log loss {losses.mean():.4f}   second half {losses[half:].mean():.4f}"
            print(f"{line}   {n / seconds:>9,.0f} rows/s", flush=True)


if __name__ == "__main__":
    main()
