"""Numbers in lines of text: the bits of Python's float, or nothing at all."""

from __future__ import annotations

import random
import struct
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nystream._core.tables import end_of_lines, rows_of_numbers


def columns_of_numbers(lines: list[str], width: int, mark: str, blanks: bool) -> np.ndarray | None:
    rows = rows_of_numbers("".join(lines).encode(), len(lines), width, mark, blanks)
    return None if rows is None else np.ascontiguousarray(rows.T)


def texts(count: int, seed: int) -> list[str]:
    """Finite numbers in all sorts of writing, the hard ones between two doubles among them."""
    rng = random.Random(seed)
    found = []
    while len(found) < count:
        digits, more = (rng.randint(0, 10 ** rng.randint(1, 25)) for _ in range(2))
        half = (2 * (rng.getrandbits(53) | 1 << 52) + 1) << rng.randint(0, 9)
        exact = Fraction(half, 2 ** rng.randint(0, 20))
        whole, rest = divmod(exact.numerator, exact.denominator)
        shown = f"{whole}.{rest * 10**30 // exact.denominator:030}"
        text = rng.choice(
            [
                repr(struct.unpack("d", rng.randbytes(8))[0]),
                repr(rng.gauss(0, 1) * 10 ** rng.randint(-12, 12)),
                f"{rng.choice(['', '-', '+'])}{digits}",
                f"{digits}.{more}{rng.choice('eE')}{rng.choice(['', '-', '+'])}{rng.randint(0, 330)}",
                f"{digits}e{rng.randint(-65, 65)}",
                f"{rng.randint(0, 10**6)}.",
                f".{more}",
                f"{rng.uniform(-1e3, 1e3):.{rng.randint(0, 6)}f}",
                f"000{digits}.{more}000",
                str(half),
                shown,
            ]
        )
        if np.isfinite(float(text)):
            found.append(text)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_numbers_have_the_bits_of_pythons_float(seed):
    fields = texts(6000, seed)
    lines = [";".join(fields[i : i + 6]) + "\n" for i in range(0, 6000, 6)]
    lines[-1] = lines[-1].rstrip("\n")  # the last line of a file may have no end
    found = columns_of_numbers(lines, 6, ";", False)
    assert found is not None
    expected = np.array([float(text) for text in fields]).reshape(-1, 6).T
    assert_array_equal(found.view(np.int64), np.ascontiguousarray(expected).view(np.int64))


def test_spaces_and_empty_fields():
    lines = [" 1 ,2 , 3\n", ",  ,-0.0\n"]
    assert columns_of_numbers(lines, 3, ",", False) is None
    found = columns_of_numbers(lines, 3, ",", True)
    assert_array_equal(found, [[1.0, np.nan], [2.0, np.nan], [3.0, -0.0]])
    assert np.signbit(found[2, 1])
    assert_array_equal(columns_of_numbers(["1\t \n"], 2, "\t", True), [[1.0], [np.nan]])


@pytest.mark.parametrize(
    "line",
    [
        *(
            "a,1",
            '"1",2',
            "1,2,3",
            "1",
            "",
            "nan,1",
            "1,inf",
            "1e999,1",
            "1_0,1",
            "1,0x10",
            "1,1e",
            "1,.",
            "1,-",
            "1,+-1",
        ),
        *("1,\u0661", "1,2\r\r", "1\r,2", "1,2 3", "1;2", "1,1e5.5", "--1,1", "1,NA", "1,\u00a02", "1,1d5"),
    ],
)
def test_whatever_is_doubtful_is_left_alone(line):
    good = "3,4\n"
    assert columns_of_numbers([good, good], 2, ",", True) is not None
    for lines in ([line + "\n", good], [good, line + "\n"], [good, line]):
        assert columns_of_numbers(lines, 2, ",", True) is None


def test_marks_that_are_part_of_numbers_and_tables_of_nothing_are_left_alone():
    for mark in ".-+e5\n\r":
        assert columns_of_numbers([f"1{mark}2\n"], 2, mark, True) is None
    assert columns_of_numbers([], 2, ",", True) is None
    assert columns_of_numbers(["\n"], 1, ",", True) is None  # an empty line is no row
    assert columns_of_numbers(["1" * 500 + ".5,1\n"], 2, ",", True) is None  # beyond every number


def test_lines_may_end_as_on_windows():
    assert_array_equal(columns_of_numbers(["1,2\r\n", "3,4\r\n"], 2, ",", False), [[1.0, 3.0], [2.0, 4.0]])
    assert_array_equal(columns_of_numbers(["1,\r\n", "3,4"], 2, ",", True), [[1.0, 3.0], [np.nan, 4.0]])
    assert columns_of_numbers(["1,2\r\n", "3,4\r"], 2, ",", False) is None  # there is no knowing what follows


@pytest.mark.parametrize("lines", [0, 1, 3, 5])
def test_lines_that_are_not_there_are_not_read(lines):
    assert rows_of_numbers(b"1,2\n3,4\n", lines, 2, ",", True) is None
    assert rows_of_numbers(b"", lines, 2, ",", True) is None


def test_the_end_of_so_many_lines():
    data = b"ab\n\ncd\nrest"
    found = [end_of_lines(data, start, count) for start, count in [(0, 1), (0, 2), (0, 9), (3, 1), (7, 1), (99, 1)]]
    assert found == [(3, 1), (4, 2), (7, 3), (4, 1), (7, 0), (99, 0)]
    assert end_of_lines(b"", 0, 3) == (0, 0)
