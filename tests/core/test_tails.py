"""Medians and cuts of residuals, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from nystream._core.auto.drift import cuts, medians, weighed

REACHES = np.array([1.5, 3.0, 6.0, 12.0])


def plainly(sizes, median, least):
    """What sizes of one column are cut to, the part that is not cut, and the variance."""
    found = []
    for k in np.maximum(REACHES * median, least):
        q = max(np.mean(sizes <= k), 0.5)
        found.append((np.mean(np.minimum(sizes, k) ** 2) / q**2, k, q))
    variance, k, q = min(found)
    return k, q, variance


@pytest.mark.parametrize("n", [1, 2, 3, 10, 99, 100, 501])
@pytest.mark.parametrize("kind", ["normal", "equal", "few", "sorted"])
def test_medians_are_those_of_numpy(n, kind):
    X = np.random.default_rng(n).normal(size=(n, 6))
    if kind == "equal":
        X[:] = 2.5
    elif kind == "few":
        X = np.round(X)
    elif kind == "sorted":
        X = np.sort(X, axis=0)
    np.testing.assert_allclose(medians(X), np.median(X, axis=0), rtol=1e-15, atol=1e-300)
    np.testing.assert_allclose(medians(X[:, ::2]), np.median(X[:, ::2], axis=0), rtol=1e-15, atol=1e-300)


def test_medians_of_no_rows_are_refused():
    with pytest.raises(ValueError, match="at least one row"):
        medians(np.empty((0, 2)))


@pytest.mark.parametrize("seed", range(4))
def test_cuts_are_as_by_the_definition(seed):
    rng = np.random.default_rng(seed)
    noise = [rng.standard_cauchy(300), rng.normal(size=300), rng.standard_t(3, size=300), 1e70 * rng.laplace(size=300)]
    sizes, least = np.abs(np.column_stack(noise)), np.array([0.0, 2.0, 0.1, 1e60])
    found = np.array(cuts(sizes, medians(sizes), least, REACHES, 0.5))
    wanted = [plainly(sizes[:, k], np.median(sizes[:, k]), least[k]) for k in range(4)]
    np.testing.assert_allclose(found, np.transpose(wanted), rtol=1e-12)


def test_where_all_residuals_are_0_nothing_is_known():
    reach, kept, variance = cuts(np.zeros((5, 1)), np.zeros(1), np.zeros(1), REACHES, 0.5)
    assert (reach[0], kept[0], variance[0]) == (1.0, 1.0, np.inf)


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="median and least"):
        cuts(np.ones((5, 2)), np.ones(1), np.ones(2), REACHES, 0.5)


@pytest.mark.parametrize("first", [0, 7, 39])
def test_labels_are_weighed_by_the_residuals_of_a_ring_whose_oldest_row_is_anywhere(first):
    rng, K = np.random.default_rng(first), 3
    past = rng.standard_cauchy(size=(40, 2 * K))
    past[:, -1] = 0.0  # the median of the last target is not above 0
    past[-6:, K] *= 1e3
    p, least = rng.normal(size=K), np.full(K, 0.1)
    y = p + np.array([0.1, 1e4, 1e4])
    found = weighed(np.roll(past, first, axis=0), first, 10, y, p, least, REACHES, 0.5, 8.0, 3.0, 10.0)
    sizes = np.abs(past[:, K:])
    median = np.median(sizes, axis=0)
    reach, kept, variance = cuts(sizes, median, least, REACHES, 0.5)
    far = (np.abs(y - p) > 8.0 * median) & (((sizes**2).sum(axis=0) + (y - p) ** 2) / 41 > 3.0 * variance)
    beyond = np.where(median > 0.0, (sizes[-10:] > 10.0 * median).sum(axis=0), 10)
    np.testing.assert_array_equal(found, [reach, kept, far, beyond, median])
    assert far.tolist() == [False, True, True]
    assert beyond[0] >= 6


def test_rings_and_labels_that_do_not_fit_are_refused():
    rules = (np.ones(1), REACHES, 0.5, 8.0, 3.0, 10.0)
    for first, last, y in ((5, 2, np.ones(1)), (-1, 2, np.ones(1)), (0, 6, np.ones(1)), (0, 2, np.ones(2))):
        with pytest.raises(ValueError, match="do not fit together"):
            weighed(np.ones((5, 2)), first, last, y, np.ones(1), *rules)
