"""Growth of curves: exponents and laws are those that the curves were made with."""

import numpy as np
import pytest

from nystream.reproduce.growth import growth, slope

ROUNDS = np.unique(np.geomspace(10, 5000, 40).astype(int))


@pytest.mark.parametrize(
    ("law", "curve"), [("log T", 3 + 2 * np.log(ROUNDS)), ("sqrt T", 3 + 2 * np.sqrt(ROUNDS)), ("T", 3 + 0.1 * ROUNDS)]
)
def test_the_law_that_a_curve_follows_explains_all_of_it(law, curve):
    found = growth(ROUNDS, curve)
    assert found.law == law
    assert found.fits[law] == pytest.approx(1.0, abs=1e-12)


def test_the_exponent_of_a_power_is_the_same_everywhere():
    found = growth(ROUNDS, 0.3 * ROUNDS**0.7)
    assert found.early == pytest.approx(0.7)
    assert found.exponent == pytest.approx(0.7)


def test_the_exponent_of_a_logarithm_falls():
    found = growth(ROUNDS, np.log(ROUNDS))
    assert 0 < found.exponent < found.early


def test_values_that_are_not_positive_have_no_exponent():
    assert np.isnan(slope(np.array([1, 2, 3]), np.array([1.0, -1.0, 2.0])))
