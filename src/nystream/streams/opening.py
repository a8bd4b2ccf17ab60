"""Open a stream from a short text: a file name, "-", or the name of a generator with its parameters."""

from __future__ import annotations

import ast
import difflib
import inspect
import os
from collections.abc import Callable
from typing import Any

from nystream.streams.alternating import alternating
from nystream.streams.base import Stream
from nystream.streams.binary import numpy
from nystream.streams.columnar import parquet
from nystream.streams.delimited import csv
from nystream.streams.drift import drifting_gaussians, friedman, switching
from nystream.streams.pipe import line_format, stdin
from nystream.streams.svmlight import libsvm
from nystream.streams.synth import bumps, checkerboard, sine
from nystream.streams.text import COMPRESSED, TextFile, pipe_at
from nystream.streams.weka import arff

__all__ = ["GENERATORS", "READERS", "open_stream"]

GENERATORS: dict[str, Callable[..., Stream]] = {
    "alternating": alternating,
    "bumps": bumps,
    "checkerboard": checkerboard,
    "drifting_gaussians": drifting_gaussians,
    "friedman": friedman,
    "sine": sine,
    "switching": switching,
}
"""Synthetic streams by name."""

READERS: dict[str, Callable[..., Stream]] = {
    ".csv": csv,
    ".tsv": csv,
    ".data": csv,
    ".libsvm": libsvm,
    ".svmlight": libsvm,
    ".svm": libsvm,
    ".arff": arff,
    ".npy": numpy,
    ".npz": numpy,
    ".parquet": parquet,
    ".pq": parquet,
}
"""Readers of files by extension; a file with another one is read as what its first lines look like."""

_BY_LINES: dict[str, Callable[..., Stream]] = {"csv": csv, "libsvm": libsvm, "arff": arff}


def open_stream(spec: str | os.PathLike[str], **options: Any) -> Stream:
    """Open the stream that a text names.

    Parameters
    ----------
    spec : str or path
        "-" is standard input; a named pipe is read in the same way. ``"sine"`` or ``"friedman:n=5000,drift=abrupt"`` is
        a generator, unless a file has that name. Everything else is a file, read by its extension (.csv .tsv .data,
        .libsvm .svmlight .svm, .arff, .npy .npz, .parquet .pq, each also with .gz, .bz2, .xz, .zst or .zip) or, where
        that says nothing, by its first lines.
    **options
        Options of the reader or the generator. An unknown option raises an error that lists the known ones. `missing`
        is allowed for all sources, even those without missing values.

    Examples
    --------
    >>> open_stream("checkerboard:n=100,cells=3")
    <stream checkerboard: 100 rows, 2 columns>
    """
    text = os.fspath(spec)
    if text == "-":
        return stdin(**options)
    name, colon, rest = text.partition(":")
    if name in GENERATORS and not os.path.exists(text):
        given = _parameters(rest, text) if colon else {}
        return _called(GENERATORS[name], name, {**given, **options})
    if not os.path.exists(text):
        close = difflib.get_close_matches(name, GENERATORS, 1)
        hint = f" (did you mean the generator {close[0]}?)" if close else ""
        raise FileNotFoundError(f"no file {text!r}{hint}; generators are {', '.join(GENERATORS)}")
    if pipe_at(text) is not None:
        return stdin(file=text, **options)
    return _called(_reader(text), os.path.basename(text), {**options}, text)


def _reader(path: str) -> Callable[..., Stream]:
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path!r} is a directory, not a file")
    stem, extension = os.path.splitext(path.lower())
    if extension in COMPRESSED:
        extension = os.path.splitext(stem)[1]
    if extension in READERS:
        return READERS[extension]
    return _BY_LINES[line_format(TextFile(path).head(1))]


def _called(make: Callable[..., Stream], name: str, options: dict[str, Any], *arguments: Any) -> Stream:
    known = list(inspect.signature(make).parameters)[len(arguments) :]
    if "missing" not in known:
        options.pop("missing", None)
    for option in options:
        if option not in known:
            raise ValueError(f"{name} has no option {option!r}; it has {', '.join(known)}")
    return make(*arguments, **options)


def _parameters(text: str, spec: str) -> dict[str, Any]:
    """Parse ``a=1,b=x`` into a dictionary; values are Python literals, or else text."""
    parameters: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"{spec!r}: {part!r} is not name=value")
        try:
            parameters[key.strip()] = ast.literal_eval(value.strip())
        except (SyntaxError, ValueError):
            parameters[key.strip()] = value.strip()
    return parameters
