"""Cells as people write them: each text with the number or the time that it is."""

from __future__ import annotations

import datetime
import math
import pickle

import numpy as np
import pytest

from nystream.data.cells import (
    DAY_FIRST,
    MISFIT,
    MONTH_FIRST,
    date_order,
    decimal_mark,
    parse_number,
    parse_time,
)
from nystream.data.places import BadCell, Place

NUMBERS = {  # with a decimal point, with a decimal comma, in a file with semicolons
    "1042.3": (1042.3, 1042.3, 1042.3),
    "1,042.3": (1042.3, 1042.3, 1042.3),
    "1.042,3": (1042.3, 1042.3, 1042.3),
    "1 042,3": (1042.3, 1042.3, 1042.3),
    "1\u202f042,3": (1042.3, 1042.3, 1042.3),
    "1'042.3": (1042.3, 1042.3, 1042.3),
    "1\u2019042.3": (1042.3, 1042.3, 1042.3),
    "1,042": (1042.0, 1.042, 1.042),
    "1.042": (1.042, 1042.0, 1.042),
    "0,125": (0.125, 0.125, 0.125),
    "12.5": (12.5, 12.5, 12.5),
    "1,042,300": (1042300.0, 1042300.0, 1042300.0),
    "1.042.300": (1042300.0, 1042300.0, 1042300.0),
    "12,34,567": (1234567.0, 1234567.0, 1234567.0),
    "(1,234.5)": (-1234.5, -1234.5, -1234.5),
    "($5)": (-5.0, -5.0, -5.0),
    "12.5%": (0.125, 0.125, 0.125),
    "3,50 \u20ac": (3.5, 3.5, 3.5),
    "-$5": (-5.0, -5.0, -5.0),
    "$ -5": (-5.0, -5.0, -5.0),
    "USD 12": (12.0, 12.0, 12.0),
    "\u22127": (-7.0, -7.0, -7.0),
    "1,5e3": (1500.0, 1500.0, 1500.0),
}


@pytest.mark.parametrize("text", NUMBERS)
def test_a_number_is_read(text):
    for mark, value in zip(".,;", NUMBERS[text], strict=True):
        assert parse_number(text, mark) == pytest.approx(value, rel=1e-15)
        assert parse_number(f" {text}\u00a0", mark) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    "text",
    ["abc", "inf", "1e999", "1_000", "()", "(", "%", "$", "(-5)", "1.2.3", "1,2,3", "5-6", "-$-5", "12 cm"],
)
def test_other_texts_are_no_numbers(text):
    assert all(parse_number(text, mark) is MISFIT for mark in ".,;")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "?",
        "-",
        "--",
        ".",
        "NA",
        "n/a",
        "NaN",
        "null",
        "None",
        "<NA>",
        "#N/A",
        "#VALUE!",
        "(null)",
        r"\N",
        "unknown",
    ],
)
def test_absent_values_are_nan(text):
    assert math.isnan(parse_number(text))
    assert parse_time(text) is None


@pytest.mark.parametrize(
    ("cells", "mark"),
    [
        (["1,042", "2,500"], None),
        (["1.042", "2.500"], None),
        (["1,042", "3,5"], ","),
        (["1.042", "3,5"], ","),
        (["1,042", "1,042.5"], "."),
        (["1,042", "3.14159"], "."),
        (["12,34", "1,5", "2.5"], ","),
        ([None, 5.0, "7"], None),
    ],
)
def test_a_column_shows_its_decimal_mark(cells, mark):
    assert decimal_mark(cells) == mark


TIMES = {
    "2024-05-01": "2024-05-01",
    "2024-5-1 7:03": "2024-05-01T07:03",
    "2024-05-01T10:00:00+02:00": "2024-05-01T08:00",
    "2024-05-01 10:00 UTC": "2024-05-01T10:00",
    "2024-05": "2024-05-01",
    "01 January 2023": "2023-01-01",
    "1st of March 2023": "2023-03-01",
    "March 1, 2023 5:04 PM": "2023-03-01T17:04",
    "Jan-2023": "2023-01-01",
    "12-Jan-69": "1969-01-12",
    "12-Jan-68": "2068-01-12",
    "12:00 AM": "1970-01-01",
    "12:30 pm": "1970-01-01T12:30",
    "31.12.2023 10:00": "2023-12-31T10:00",
    "Sun, 06 Nov 1994 08:49:37 GMT": "1994-11-06T08:49:37",
    "Tue Mar  5 14:00:01 2024": "2024-03-05T14:00:01",
    "10/Oct/2000:13:55:36 -0700": "2000-10-10T20:55:36",
    "20240501": "2024-05-01",
    "20240501T103000": "2024-05-01T10:30",
    "20240501T103000Z": "2024-05-01T10:30",
    "2024-W18": "2024-04-29",
    "2024-05-01 10:00:00 EST": "2024-05-01T15:00",
    "Wed May 1 10:00:00 PDT 2024": "2024-05-01T17:00",
    "2024-05-01T10:00:00+02:00[Europe/Berlin]": "2024-05-01T08:00",
    "20240501103000": "2024-05-01T10:30",
    "1714557600": "2024-05-01T10:00",
    "1714557600.5": "2024-05-01T10:00:00.5",
    "1714557600000": "2024-05-01T10:00",
}


@pytest.mark.parametrize("text", TIMES)
def test_a_time_is_read(text):
    expected = datetime.datetime.fromisoformat(TIMES[text].replace(".5", ".500"))
    assert parse_time(text) == parse_time(text, DAY_FIRST) == expected


@pytest.mark.parametrize("text", ["May", "1.5", "hello 2023", "2023-13-01", "24:00", "13:00 PM", "2023-01-05 7"])
def test_other_texts_are_no_times(text):
    assert parse_time(text) is MISFIT


def test_the_order_of_day_and_month_is_never_changed_for_one_cell():
    assert parse_time("01/02/23") == datetime.datetime(2023, 1, 2)
    assert parse_time("01/02/23", DAY_FIRST) == datetime.datetime(2023, 2, 1)
    assert parse_time("13/01/2023") is MISFIT
    assert parse_time("01/13/2023", DAY_FIRST) is MISFIT
    assert date_order(["01/02/2023", "13/01/2023"]) == (DAY_FIRST, True)
    assert date_order(["01/13/2023"]) == (MONTH_FIRST, False)
    assert date_order(["01/02/2023", None]) == (None, True)
    assert date_order(["2023-01-02", "01.02.2023"]) == (None, False)


def test_a_bad_cell_carries_its_place_and_can_be_sent_to_another_process():
    others = [(Place(9, "a.csv", True), "y")]
    error = pickle.loads(pickle.dumps(BadCell(Place(7, "a.csv", True), "x", "oops", "finite number", others, 5)))
    assert (error.file, error.row, error.column, error.value, error.count) == ("a.csv", 7, "x", "oops", 5)
    assert error.problem == (
        "a.csv:7: column 'x' is 'oops', which is no finite number (nor is 'y' at a.csv:9, and 3 more)"
    )
    assert BadCell(Place(0), "y", np.str_("a"), "number").problem == "row 0: column 'y' is 'a', which is no number"
