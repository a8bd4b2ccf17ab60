"""No law is idle: for each there are learners that break it, and it says so."""

from __future__ import annotations

import pytest
from broken import BROKEN

from laws import LAWS, Variant

CASES = [pytest.param(law, v, id=f"{law}-{type(v.pattern).__name__}") for law, found in BROKEN.items() for v in found]


def test_every_law_has_a_learner_that_breaks_it():
    assert set(BROKEN) == set(LAWS)


@pytest.mark.parametrize(("law", "variant"), CASES)
def test_a_broken_learner_is_caught(law, variant, tmp_path):
    assert LAWS[law].concerns(variant)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        LAWS[law](variant, tmp_path)


@pytest.mark.parametrize(("law", "variant"), CASES)
def test_it_is_caught_for_what_was_broken(law, variant, tmp_path):
    """The learner that it was made from obeys the law."""
    whole = type(variant.pattern).__mro__[1](**variant.pattern.get_params(deep=False))
    LAWS[law](Variant(whole, variant.targets, variant.weights), tmp_path)
