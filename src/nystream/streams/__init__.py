"""Streams of examples: files, pipes, arrays, generators, adversaries, and what can be chained onto them."""

from nystream.streams.adversary import Adversary, alternating, greedy_adversary
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
