"""Standard input as a stream: CSV or LIBSVM lines, as they arrive."""

from __future__ import annotations

import inspect
from typing import Any

from nystream.data.cells import is_plain_number
from nystream.runtime.params import one_of
from nystream.streams.delimited import DelimitedStream
from nystream.streams.svmlight import SvmlightStream
from nystream.streams.text import Pipe

__all__ = ["line_format", "stdin"]


def stdin(
    format: str = "auto", *, flush_lines: int | None = None, file: Any = None, **options: Any
) -> DelimitedStream | SvmlightStream:
    """Read standard input as a stream, in bounded memory. A second pass is an error.

    The first two lines are read at once, to find format, header and delimiter; the rest only as blocks are asked
    for. A block comes when it is full or when the input ends; `rows()` gives each row as soon as its line is there.

    Parameters
    ----------
    format : "auto", "csv" or "libsvm"
        "auto": LIBSVM if the first line is a number followed by index:value tokens.
    flush_lines : int or None
        Largest number of lines in a block, so that rows of a slow pipe do not wait long.
    file : binary file object, path of a named pipe, or None
        Another source than `sys.stdin`.
    **options
        As for `csv` or `libsvm`; LIBSVM needs `d`, since a pipe cannot be searched for it first.
    """
    one_of("format", format, ("auto", "csv", "libsvm"))
    source = Pipe(file)
    if format == "auto":
        format = line_format(source.head(2))
    if format == "arff":
        raise ValueError(f"{source.name} looks like ARFF, which is read from files only; save it to a file")
    make: type[DelimitedStream | SvmlightStream] = SvmlightStream if format == "libsvm" else DelimitedStream
    known = [name for name in inspect.signature(make).parameters if name not in ("source", "flush_lines")]
    if "missing" not in known:
        options.pop("missing", None)
    for option in options:
        if option not in known:
            raise ValueError(f"{source.name} ({format}) has no option {option!r}; it has {', '.join(known)}")
    return make(source, flush_lines=flush_lines, **options)


def line_format(head: list[str]) -> str:
    """Return "arff", "libsvm" or "csv", from the first line that is not blank."""
    line = next((line.strip() for line in head if line.strip()), "")
    if line.startswith("%") or line.lower().startswith("@relation"):
        return "arff"
    tokens = line.partition("#")[0].split()
    keys = [token.partition(":") for token in tokens[1:]]
    pairs = all(colon and (key.isdecimal() or key == "qid") for key, colon, _ in keys)
    return "libsvm" if keys and pairs and is_plain_number(tokens[0]) else "csv"
