"""Streams of rows and labels: files, pipes, arrays, generators, adversaries, and their transformations."""

import importlib as _importlib
from typing import TYPE_CHECKING
from typing import Any as _Any

from nystream.streams.alternating import alternating
from nystream.streams.base import Stream
from nystream.streams.binary import numpy
from nystream.streams.columnar import parquet
from nystream.streams.delimited import csv
from nystream.streams.drift import drifting_gaussians, friedman, switching
from nystream.streams.in_memory import ArrayStream, arrays, as_stream
from nystream.streams.opening import GENERATORS, READERS, open_stream
from nystream.streams.pipe import stdin
from nystream.streams.svmlight import libsvm
from nystream.streams.synth import bumps, checkerboard, sine
from nystream.streams.transforms import rescale, shuffle, skip, standardize, take
from nystream.streams.weka import arff

if TYPE_CHECKING:
    from nystream.streams.adversary import Adversary, greedy_adversary

__all__ = [
    "GENERATORS",
    "READERS",
    "Adversary",
    "ArrayStream",
    "Stream",
    "alternating",
    "arff",
    "arrays",
    "as_stream",
    "bumps",
    "checkerboard",
    "csv",
    "drifting_gaussians",
    "friedman",
    "greedy_adversary",
    "libsvm",
    "numpy",
    "open_stream",
    "parquet",
    "rescale",
    "shuffle",
    "sine",
    "skip",
    "standardize",
    "stdin",
    "switching",
    "take",
]


if not TYPE_CHECKING:  # for which every name would be there

    def __getattr__(name: str) -> _Any:
        """Import the adversary at its first use, because its optimiser loads slowly."""
        if name in ("Adversary", "greedy_adversary"):
            return getattr(_importlib.import_module("nystream.streams.adversary"), name)
        raise AttributeError(f"module 'nystream.streams' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
