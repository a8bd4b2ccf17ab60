import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from nystream.plot.labels import spread


def test_heights_with_room_between_them_stay_where_they_are():
    assert_allclose(spread(np.array([50.0, 10.0, 90.0]), 12.0, 0.0, 100.0), [50.0, 10.0, 90.0])


@pytest.mark.parametrize("seed", range(8))
def test_heights_end_up_apart_inside_and_in_order(seed):
    rng = np.random.default_rng(seed)
    wanted = rng.choice([20.0, 30.0, 31.0, 80.0, 99.0], 9) + rng.random(9)
    placed = spread(wanted, 11.0, 0.0, 100.0)
    order = np.argsort(wanted)
    assert np.diff(placed[order]).min() >= 11.0 - 1e-9
    assert placed.min() >= 5.5 - 1e-9
    assert placed.max() <= 94.5 + 1e-9


def test_no_arrangement_is_nearer_to_the_wanted_heights():
    wanted = np.array([40.0, 41.0, 45.0, 70.0, 72.0])
    placed = spread(wanted, 10.0, 0.0, 200.0)
    apart = [{"type": "ineq", "fun": lambda z, i=i: z[i + 1] - z[i] - 10.0} for i in range(4)]
    best = minimize(lambda z: ((z - wanted) ** 2).sum(), wanted, constraints=apart, method="SLSQP", tol=1e-12)
    assert_allclose(placed, best.x, atol=1e-5)


def test_equal_heights_are_spread_around_theirs():
    assert_allclose(np.sort(spread(np.full(3, 50.0), 10.0, 0.0, 100.0)), [40.0, 50.0, 60.0])
