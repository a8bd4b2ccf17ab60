import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import roc_auc_score

from nystream.evaluate.metrics import AUC, Windowed


def rows(n, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    p = 0.8 * y + rng.normal(size=n)
    return y, np.round(p, 1) if ties else p, rng.random(n)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_stored_scores_give_the_value_of_scikit_learn(ties, weighted):
    y, p, w = rows(500, ties=ties)
    w = w if weighted else None
    metric = AUC()
    for part in np.split(np.arange(500), (3, 4, 100)):
        metric.update(y[part], p[part], None if w is None else w[part])
    assert_allclose(metric.value, roc_auc_score(y, p, sample_weight=w), rtol=1e-12)
    assert metric.error == 0.0


def test_two_scores_a_row_are_compared_by_their_difference():
    y, p, _ = rows(200)
    scores = np.column_stack((-p, p))
    assert_allclose(AUC().over((y + 1) / 2, scores), roc_auc_score(y, p), rtol=1e-12)


@pytest.mark.parametrize(("ties", "largest"), [(False, 2e-4), (True, 0.03)])
def test_bins_keep_the_value_within_the_error_they_certify(ties, largest):
    y, p, w = rows(60_000, ties=ties)
    metric = AUC(limit=10_000).update(y, p, w)
    exact = roc_auc_score(y, p, sample_weight=w)
    assert 0 < metric.error < largest
    assert abs(metric.value - exact) <= metric.error
    assert abs(metric.value - exact) < 1e-5  # errors of bins cancel; ties have bins of their own


def test_the_certified_error_holds_and_grows_when_scores_move_away_from_the_bins():
    y, p, _ = rows(20_000)
    metric = AUC(limit=5_000).update(y[:10_000], p[:10_000])
    before = metric.error
    metric.update(y[10_000:], p[10_000:] + 50.0)
    exact = roc_auc_score(y, np.r_[p[:10_000], p[10_000:] + 50.0])
    assert metric.error > 100 * before
    assert abs(metric.value - exact) <= metric.error


def test_cutting_into_other_blocks_changes_no_bit_across_the_switch_to_bins():
    y, p, w = rows(3000)
    values = []
    for size in (1, 700, 3000):
        metric = AUC(limit=1000)
        for i in range(0, 3000, size):
            metric.update(y[i : i + size], p[i : i + size], w[i : i + size])
        values.append(metric.value)
    assert values[0] == values[1] == values[2]


def test_memory_is_bounded():
    metric = AUC(limit=1000)
    sizes = []
    for seed in range(20):
        y, p, _ = rows(2000, seed)
        metric.update(y, p)
        sizes.append(metric.stored_.nbytes + metric.bins_.nbytes)
    assert max(sizes) == sizes[0] <= 2 * 8 * 1002


def test_a_window_is_exact_beyond_the_limit():
    y, p, _ = rows(3000)
    metric = Windowed(AUC(limit=10), 2000).update(y, p)
    assert_allclose(metric.value, roc_auc_score(y[-2000:], p[-2000:]), rtol=1e-12)


def test_one_class_no_rows_and_nan_scores_are_nan():
    assert np.isnan(AUC().value)
    assert np.isnan(AUC().update([1, 1], [0.1, 0.2]).value)
    assert np.isnan(AUC().update([1, -1], [np.nan, 0.2]).value)
    assert np.isnan(AUC(limit=1).update([1, -1, 1], [0.1, 0.2, np.nan]).value)
    assert AUC().update([1, -1], [np.inf, -np.inf]).value == 1.0


def test_more_than_two_classes_are_refused():
    with pytest.raises(ValueError, match="auc compares two classes, got scores of 3"):
        AUC().update([0], [[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="auc compares two classes, got the label 2"):
        AUC().update([2], [[1.0, 2.0]])
    with pytest.raises(ValueError, match="limit must be a whole number of at least 1"):
        AUC(limit=0)
