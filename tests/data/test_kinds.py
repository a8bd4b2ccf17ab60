"""Kinds of columns from their first values: which words are missing, and what is said of doubtful columns."""

from __future__ import annotations

import pytest

from nystream.data.kinds import ID_NOTE, look_at

NUMBERS = [f"{i / 7:.2f}" for i in range(300)]


@pytest.mark.parametrize("word", ["", "NA", "#N/A", "--", ".", "none", "unknown", "#DIV/0!"])
def test_words_for_missing_numbers_leave_a_column_of_numbers(word):
    look = look_at([word if i % 3 == 0 else v for i, v in enumerate(NUMBERS)])
    assert look.kind == "number"
    assert look.missing == pytest.approx(1 / 3)


def test_of_names_none_and_a_dash_are_two_more():
    look = look_at(["none", "mild", "-"] * 50 + ["NA"] * 50)
    assert (look.kind, look.example, look.missing) == ("category", "none", 0.25)
    assert look_at(["none"] * 50).kind == "category"
    assert look_at(["-", "--", "."] * 50).kind == look_at([None] * 50).kind == "number"


def test_a_column_of_names_that_is_mostly_numbers_gets_a_note():
    look = look_at(["TBD" if i % 5 == 0 else v for i, v in enumerate(NUMBERS)], name="price")
    assert look.kind == "category"
    assert look.note == (
        "80% of the values are numbers, but not 'TBD'; with --kind price=number --on-error missing such cells count as "
        "missing"
    )
    assert look_at(["none", "known", "unknown"] * 50).note == ""
    assert look_at(["a", "b", "1"] * 50).note == ""
    ids = look_at([f"{i}" if i % 2 else f"{i}-" for i in range(300)])
    assert ids.kind == "ignored"
    assert ids.note.startswith(f"{ID_NOTE}; 50% of the values are numbers")
