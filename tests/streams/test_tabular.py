"""Tables of text whose columns are known to be numbers: what the parser of numbers reads is what text would give."""

from __future__ import annotations

import random

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nystream.data.values import convert
from nystream.streams import csv
from nystream.streams.tabular import TextTables
from nystream.streams.text import TextFile

ODD = [
    *("", " ", "?", "-", "NA", "nan", "NaN", "null", "None", "inf", "-inf", "1e999", "1_000", "abc", '"3"', '"4,5"'),
    *('"6\n7"', '"open', "2,5", "1 2", "0x1", "1e-400", "\u0661", "1\r", "\t3\t", " 4 ", "+5", ".5", "6.", "1e5", "-0"),
]


def table(rng: random.Random) -> str:
    """A table of numbers with, at random, odd fields, rows of another length, empty lines and damaged characters."""
    width, rows, mark = rng.randint(1, 6), rng.randint(1, 60), rng.choice(",;\t|")
    odd = rng.choice([0.0, 0.0, 0.003, 0.03, 0.3])
    lines = [mark.join(f"x{j}" for j in range(width))] if rng.random() < 0.7 else []
    for _ in range(rows):
        fields = [
            rng.choice(ODD) if rng.random() < odd else repr(rng.choice([rng.gauss(0, 1), rng.randint(0, 9), 1e-7]))
            for _ in range(width + (rng.random() < odd / 5))
        ]
        lines.append(mark.join(fields))
        if rng.random() < odd / 3:
            lines.append("")
    text = rng.choice(["\n", "\n", "\r\n"]).join(lines) + rng.choice(["", "\n", "\n\n"])
    if rng.random() < odd:
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice('",;\n\r\0x') + text[at + 1 :]
    return text


def told(tables: TextTables, size: int) -> list:
    """Every block as numbers and the names of its rows, then the error that ended it, if one did."""
    found = []
    try:
        for block in tables.blocks(size):
            columns = {}
            for name, values in block.columns.items():
                columns[name] = convert(values, "number", name, place=block.place)[0]
            found.append((columns, [block.place(i) for i in range(block.n)], block.named))
    except ValueError as error:
        found.append(f"{type(error).__name__}: {error}")
    return found


@pytest.mark.parametrize("seed", range(400))
def test_columns_of_numbers_are_those_of_the_text(tmp_path, seed):
    rng = random.Random(seed)
    path = tmp_path / "a.csv"
    path.write_bytes(table(rng).encode())
    size = rng.choice([1, 2, 7, 16, 1000])
    try:
        plain, quick = (TextTables(TextFile(path)) for _ in range(2))
    except ValueError:  # no table at all
        return
    quick.numbers = frozenset(quick.columns)
    expected, found = told(plain, size), told(quick, size)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        if isinstance(a, str) or isinstance(b, str):
            assert a == b
            continue
        assert a[1:] == b[1:]
        assert a[0].keys() == b[0].keys()
        for name in a[0]:
            assert_array_equal(a[0][name].view(np.int64), b[0][name].view(np.int64))


def test_the_parser_of_numbers_is_used_where_it_may_be(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "".join(f"{i},{i / 7}\n" for i in range(10)))
    tables = TextTables(TextFile(path))
    blocks = tables.blocks(4)
    assert isinstance(next(blocks).columns["b"], list)
    tables.numbers = frozenset("ab")
    second = next(blocks)
    assert second.columns["b"].dtype == np.float64
    assert str(second.place(1)) == "a.csv:7"
    tables.numbers = frozenset("a")
    assert isinstance(next(blocks).columns["b"], list)


def rows_of(stream) -> list:
    found = []
    try:
        found += [(X.copy(), Y.copy()) for X, Y in stream.blocks(5)]
    except ValueError as error:
        found.append(f"{type(error).__name__}: {error}")
    return found


@pytest.mark.parametrize("missing", ["error", "nan"])
@pytest.mark.parametrize("seed", range(200))
def test_streams_of_numbers_are_those_of_the_exact_parser(tmp_path, seed, missing):
    """A column that is dropped and holds a word in its first row keeps every chunk from the parser of numbers."""
    rng = random.Random(seed)
    text = table(rng)
    if '"' in text or "\r" in text.replace("\r\n", ""):
        return
    lines = text.replace("\r\n", "\n").split("\n")
    mark = next((m for m in ";\t|," if m in lines[0]), None)
    if mark is None:
        return
    named = lines[0].startswith("x")
    whole = [line + f"{mark}word" if line.strip() else line for line in lines]
    if named:
        whole[0] = lines[0] + f"{mark}other"
    options = {"header": named, "delimiter": mark, "missing": missing}
    (tmp_path / "a.csv").write_text(text)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "a.csv").write_text("\n".join(whole))
    try:
        quick = csv(tmp_path / "a.csv", target=0, **options)
        slow = csv(tmp_path / "b" / "a.csv", target=0, drop=-1, **options)
    except ValueError:
        return
    if slow.labels is not None or slow.d != quick.d:
        return
    found, expected = rows_of(quick), rows_of(slow)
    if any(isinstance(part, str) and "fields, expected" in part for part in expected):
        assert "fields, expected" in found[-1]
        return
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        if isinstance(a, str) or isinstance(b, str):
            assert a == b
        else:
            for one, other in zip(a, b, strict=True):
                assert_array_equal(one.view(np.int64), other.view(np.int64))
