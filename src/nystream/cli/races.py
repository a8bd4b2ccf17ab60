"""The two built-in races of `nystream race --demo`; nothing is downloaded."""

from __future__ import annotations

import importlib
import sys

from nystream import streams
from nystream.streams import Stream

__all__ = ["demo_races"]

ROWS = 4000
"""Enough for the orders to settle, few enough for the exact kernel learner to take part."""


def demo_races() -> list[tuple[str, Stream, list[str]]]:
    """Name, stream and learners of each race."""
    races = [
        (
            "friedman-drift",
            streams.friedman(ROWS, drift="abrupt", at=ROWS // 2, seed=0).standardize(),
            ["auto", "pkawv", "pkrr", "kernel-ridge", "ons", "fogd"],
        )
    ]
    try:
        datasets = importlib.import_module("sklearn.datasets")
    except ModuleNotFoundError:
        print("nystream: the digits race needs scikit-learn: pip install 'nystream[sklearn]'", file=sys.stderr)
        return races
    X, y = datasets.load_digits(return_X_y=True)
    digits = streams.arrays(X / 16.0, y.astype(float)).shuffle(0)
    return [*races, ("digits", digits, ["auto", "pkrr", "kernel-awv", "fogd"])]
