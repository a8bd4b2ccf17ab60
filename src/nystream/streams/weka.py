"""ARFF files (Weka, MOA), block by block."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from nystream.data.cells import is_plain_number
from nystream.runtime.params import one_of
from nystream.runtime.types import Array
from nystream.streams.base import Stream
from nystream.streams.columns import Choice, Column, Target, choose
from nystream.streams.cutting import Block
from nystream.streams.labels import Labels
from nystream.streams.table import Fields, SplitError, Table
from nystream.streams.text import Pipe, TextFile, text_at

__all__ = ["ArffStream", "arff"]

_NUMERIC = ("numeric", "real", "integer")
_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|[^\s{{]+)\s*(\{{.*\}}|\S+)", re.IGNORECASE | re.DOTALL)
_FIELD = re.compile(rf"\s*({_QUOTED}|[^,'\"]*?)\s*(,|$)")


def arff(
    path: str | os.PathLike[str],
    target: Target = -1,
    *,
    nominal: str = "code",
    drop: Column | Iterable[Column] = (),
    columns: Iterable[Column] | None = None,
    missing: str = "error",
) -> ArffStream:
    """Return an ARFF file as a stream, in bounded memory; .gz, .bz2 and .xz are unpacked while it is read.

    A nominal target gives classes: Y holds 0..K-1 in the order of the declaration, `stream.labels` the names.
    Sparse rows, and features of type string, date or relational, are refused (such attributes may be dropped).

    Parameters
    ----------
    path : path
    target : name, position, list of those, or None; default the last attribute
    nominal : "code" or "onehot"
        What becomes of a nominal feature. "code": one column, with the number of the value in its declaration, from
        0; or, where all declared values are numbers (weekdays {1,2,3,4,5,6,7}), that number. So columns are
        attributes, as published results on these files have it. "onehot": one 0/1 column per value, named
        ``attribute=value``, which is the better choice for a kernel where the order of the values means nothing.
    drop, columns
        As `csv`.
    missing : "error" or "nan"
        What a ? among the features becomes; a missing target is always an error.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "tiny.arff")
    >>> _ = path.write_text("@relation r\\n@attribute a real\\n@attribute w {wet,dry}\\n@attribute c {no,yes}\\n"
    ...                     "@data\\n1.5,dry,yes\\n2.5,wet,no\\n")
    >>> X, y = arff(path).load()
    >>> X.tolist(), y.tolist()
    ([[1.5, 1.0], [2.5, 0.0]], [1.0, 0.0])
    >>> arff(path, nominal="onehot").columns
    ('a', 'w=wet', 'w=dry')
    """
    return ArffStream(text_at(path), target, nominal=nominal, drop=drop, columns=columns, missing=missing)


class _Attribute(NamedTuple):
    name: str
    kind: str
    values: tuple[str, ...] = ()


class ArffStream(Stream):
    """ARFF from any source of lines; parameters as `arff`."""

    def __init__(
        self,
        source: TextFile | Pipe,
        target: Target = -1,
        *,
        nominal: str = "code",
        drop: Column | Iterable[Column] = (),
        columns: Iterable[Column] | None = None,
        missing: str = "error",
    ) -> None:
        one_of("nominal", nominal, ("code", "onehot"))
        if source.live:
            raise ValueError(f"{source.name}: ARFF is read from files only; save it to a file")
        attributes, self._first = _header(source)
        names = [attribute.name for attribute in attributes]
        choice = choose(names, target, drop, columns, source.name)
        coders = {j: _coder(attributes[j], j, choice, nominal, source.name) for j in choice.used}
        found = {j: coder for j, coder in coders.items() if coder is not None}
        self._table = Table(
            source.name, names, choice, found, ",", _split, special="'\"%", missing=missing
        )  # fmt: skip
        self._source = source
        self._values = {
            place: attributes[j].values
            for place, j in enumerate(choice.features)
            if nominal == "onehot" and attributes[j].values
        }
        classes = found.get(choice.targets[0]) if choice.targets and choice.single else None
        super().__init__(
            source.name,
            columns=tuple(
                f"{names[j]}={value}" if place in self._values else names[j]
                for place, j in enumerate(choice.features)
                for value in self._values.get(place, ("",))
            ),
            labels=classes,
            task="regression" if choice.targets and classes is None else None,
        )

    def _chunks(self, rows: int) -> Iterator[Block]:
        lines = self._source.lines()
        for _ in range(self._first):
            next(lines)
        for X, Y in self._table.chunks(lines, self._first, rows):
            yield self._expanded(X), Y

    def _expanded(self, X: Array) -> Array:
        """Turn codes of nominal features into 0/1 columns (nan where the value is missing)."""
        if not self._values:
            return X
        parts = []
        for j in range(X.shape[1]):
            x = X[:, j : j + 1]
            if j not in self._values:
                parts.append(x)
                continue
            ones = (x == np.arange(len(self._values[j]))).astype(np.float64)
            ones[np.isnan(x[:, 0])] = np.nan
            parts.append(ones)
        return np.ascontiguousarray(np.hstack(parts))


def _header(source: TextFile | Pipe) -> tuple[list[_Attribute], int]:
    """Return the attributes, and the number of the line that says @data."""
    attributes: list[_Attribute] = []
    number = 0
    for number, line in enumerate(source.lines(), 1):
        text = line.strip()
        word = text.split(maxsplit=1)[0].lower() if text else "%"
        if word.startswith("%") or word == "@relation":
            continue
        if word == "@data":
            if not attributes:
                raise ValueError(f"{source.name}:{number}: @data comes before any @attribute")
            return attributes, number
        if word != "@attribute":
            raise ValueError(f"{source.name}:{number}: expected @attribute or @data, got {text[:40]!r}")
        attributes.append(_attribute(text, f"{source.name}:{number}"))
    if not number:
        raise ValueError(f"{source.name} is empty")
    raise ValueError(f"{source.name} has no @data line; is it an ARFF file?")


def _attribute(text: str, place: str) -> _Attribute:
    match = _ATTRIBUTE.match(text)
    if match is None:
        raise ValueError(f"{place}: cannot read the attribute {text[:60]!r}")
    name, kind = _unquoted(match[1]), match[2]
    if not kind.startswith("{"):
        return _Attribute(name, kind.lower())
    try:
        values = tuple(_fields(kind[1:-1]))
    except SplitError as error:
        raise ValueError(f"{place}: {error}") from None
    return _Attribute(name, "nominal", values)


def _coder(attribute: _Attribute, j: int, choice: Choice, nominal: str, source: str) -> Labels | None:
    """Return how the values of one attribute become numbers; None where they are numbers."""
    if attribute.kind in _NUMERIC:
        return None
    if attribute.kind != "nominal":
        what = "drop it" if j in choice.features else "choose another target"
        raise ValueError(f"{source}: attribute {attribute.name!r} is of type {attribute.kind}; {what}")
    if j in choice.targets:
        if not choice.single:
            raise ValueError(f"{source}: several targets must be numeric, but {attribute.name!r} is nominal")
        return Labels(attribute.values)
    as_numbers = nominal == "code" and all(map(is_plain_number, attribute.values))
    return Labels(attribute.values, map(float, attribute.values) if as_numbers else None)


def _split(lines: Iterator[str]) -> Iterator[Fields]:
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text.startswith("{"):
            raise SplitError("sparse ARFF rows are not supported; write the file densely (Weka: SparseToNonSparse)")
        yield Fields(number, [] if not text or text.startswith("%") else list(_fields(text)))


def _fields(text: str) -> Iterator[str]:
    """Yield values separated by commas, without their quotes."""
    at = 0
    while True:
        match = _FIELD.match(text, at)
        if match is None:
            raise SplitError(f"cannot read {text[at : at + 40]!r}; is a quote not closed?")
        yield _unquoted(match[1])
        if not match[2]:
            return
        at = match.end()


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text[:1] in ("'", '"') else text
