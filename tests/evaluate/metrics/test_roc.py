"""The pooled ROC curve: the rank formula within its own bound, ties, bounded memory, thresholds that can be used."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import rankdata

from nystream.evaluate.metrics.roc import ROC


def by_ranks(positive, scores):
    n, ranks = positive.sum(), rankdata(scores)
    return (ranks[positive].sum() - n * (n + 1) / 2) / n / (~positive).sum()


@pytest.mark.parametrize("spread", [1e-30, 1e-3, 1.0, 1e30])
def test_the_area_is_that_of_average_ranks_within_the_bound(spread):
    rng = np.random.default_rng(0)
    positive = rng.random(20_000) < 0.1
    scores = spread * (rng.normal(size=20_000) + positive)
    roc = ROC()
    for i in range(0, 20_000, 3000):
        roc.update(positive[i : i + 3000], scores[i : i + 3000])
    assert 0 < roc.error < 1e-3
    assert abs(roc.area - by_ranks(positive, scores)) <= roc.error


def test_equal_scores_count_half():
    rng = np.random.default_rng(0)
    positive = rng.random(5000) < 0.3
    scores = rng.integers(-4, 5, size=5000) / 4.0
    roc = ROC().update(positive, scores)
    assert_allclose(roc.area, by_ranks(positive, scores), rtol=1e-12)
    assert ROC().update(positive, np.zeros(5000)).area == 0.5
    assert ROC().update(positive, np.where(positive, -0.0, 0.0)).area == 0.5


def test_a_threshold_of_the_curve_gives_its_rates():
    rng = np.random.default_rng(1)
    positive = rng.random(4000) < 0.4
    scores = rng.normal(size=4000) + positive
    false, true, thresholds = ROC().update(positive, scores).curve()
    assert_array_equal([false[0], true[0], false[-1], true[-1]], [0, 0, 1, 1])
    assert thresholds[0] == math.inf
    assert (np.diff(thresholds) < 0).all()
    for i in range(1, len(thresholds), 97):
        assert_allclose(false[i], (scores[~positive] >= thresholds[i]).mean(), rtol=1e-12)
        assert_allclose(true[i], (scores[positive] >= thresholds[i]).mean(), rtol=1e-12)


def test_infinite_scores_are_the_ends_and_nan_is_refused():
    roc = ROC().update(np.array([True, False, True, False]), np.array([np.inf, -np.inf, 0.0, 1e300]))
    assert roc.area == pytest.approx(0.625)  # 1e300 is beyond float32: it ties with infinity
    with pytest.raises(ValueError, match="scores has NaN"):
        roc.update(np.array([True]), np.array([np.nan]))
    assert roc.counts == (2, 2)


def test_without_both_kinds_there_is_no_area():
    assert math.isnan(ROC().area)
    roc = ROC().update(np.array([True, True]), np.array([0.1, 0.2]))
    assert math.isnan(roc.area)
    assert math.isnan(roc.error)
    assert np.isnan(roc.curve()[0]).all()
