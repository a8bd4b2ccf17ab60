"""Labels with long tails: what is told of them, where nothing is, and that the laws of Auto hold there too."""

from __future__ import annotations

import numpy as np
import pytest

from nystream import Auto, load
from nystream.auto.labels import LabelFilter
from nystream.auto.recipe import Recipe
from nystream.scaling.ring import Ring

SMALL = Recipe((1, 2, 5, 20, 60), landmarks=15, big=30, small=10, ring=200, refresh=100, window=60, metric=100)


def stream(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n)


def noisy(n, seed=0):
    """Cauchy noise."""
    X, y = stream(n, seed)
    return X, y, y + 0.2 * np.random.default_rng(seed + 100).standard_cauchy(n)


def error(p, y, since=20):
    return np.sqrt(np.mean((p - y)[since:] ** 2))


# -- what is told ----------------------------------------------------------------------------------------------------
def slowly(labels, predictions, outside, deviation):
    """What is learnt instead of every label, one target at a time."""
    wild, foreseen, all_told = None, 0.5, []
    for t, (y, p) in enumerate(zip(labels, predictions, strict=True)):
        told = y
        if t >= 10:
            past = list(range(max(0, t - 500), t))
            sizes = [abs(labels[i] - predictions[i]) for i in past]
            median = np.median(sizes)
            cuts = [max(c * median, 0.1 * deviation) for c in (1.5, 3, 6, 12)]
            parts = [max(np.mean([size <= k for size in sizes]), 0.5) for k in cuts]
            squares = [np.mean([min(size, k) ** 2 for size in sizes]) for k in cuts]
            variances = [square / q**2 for square, q in zip(squares, parts, strict=True)]
            least, k, q = min(zip(variances, cuts, parts, strict=True))
            precise = np.mean([size**2 for size in [*sizes, y - p]]) > 3 * least
            if outside[t] and abs(y - p) > 8 * median and precise:
                said = [predictions[i] for i in past]
                middle = np.median(said)
                beyond = np.mean([(one > p) if y > middle else (one < p) for one in said])
                seen = beyond < 0.1 and abs(p - middle) > 0.1 * abs(y - middle)
                foreseen += 0.1 * (seen - foreseen)
                wild = t if foreseen < 0.5 else None
            three = [labels[i] - predictions[i] for i in (t - 2, t - 1, t)]
            smallest, largest = min(map(abs, three)), max(map(abs, three))
            alike = abs(sum(map(np.sign, three))) == 3 and smallest > 10 * median and largest <= 2 * smallest
            if alike or sum(size > 10 * median for size in sizes[-10:]) >= 7:
                wild = None
            if is_signal([*past, t], labels, predictions, k, q, 8 * median):
                wild = None
            if wild is not None and t - wild < 1000:
                told = p + min(max(y - p, -k), k) / q
        all_told.append(told)
    return all_told


def is_signal(rows, labels, predictions, k, q, far):
    """Whether what is taken from these labels has a mean that is not 0, or outliers move the labels around them."""
    residuals = {i: labels[i] - predictions[i] for i in rows}
    taken = [r - min(max(r, -k), k) / q for r in residuals.values()]
    if abs(sum(taken)) > 3 * np.sqrt(sum(one**2 for one in taken)):
        return True
    outliers = [i for i in rows if abs(residuals[i]) > far]
    inner = [i for i in outliers if i not in (rows[0], rows[-1])]
    moved = sum(residuals[i] * (labels[i + 1] - labels[i - 1]) for i in inner)
    steps = np.median([abs(labels[i + 1] - labels[i]) for i in rows[:-1]])
    middle = np.median([labels[i] for i in rows])
    serial = steps < 0.5 * np.median([abs(labels[i] - middle) for i in rows])
    return serial and moved > 0.2 * sum(residuals[i] ** 2 for i in outliers)


def test_labels_are_told_as_by_the_definition_and_every_target_by_itself():
    rng = np.random.default_rng(0)
    P = rng.normal(size=(900, 2))
    Y = P + 0.3 * np.column_stack([rng.standard_cauchy(900), rng.normal(size=900)])
    Y[300, 1], Y[700:730, 0] = 50.0, 400.0
    Y[600:603, 0], Y[610:613, 0], Y[620:623, 0] = (90, 90, -90), (90, 90, 200), (-90, -120, -90)  # the last are alike
    P[400, 1], Y[400, 1] = 5.0, 20.0  # foreseen
    low, high, deviation = np.full(2, -6.0), np.full(2, 6.0), np.array([1.1, 1.2])
    outside = (low > Y) | (high < Y)
    wanted = [slowly(Y[:, k], P[:, k], outside[:, k], deviation[k]) for k in range(2)]
    tails = LabelFilter(2)
    tails.start()
    changed = np.zeros(2, dtype=int)
    for t in range(900):
        plain = tails.count_plain(Y[t : t + 1], low, high)
        told = Y[t] if plain else tails.winsorize(Y[t], P[t], outside[t], deviation)
        for k in range(2):
            np.testing.assert_allclose(told[k], wanted[k][t], rtol=1e-12)
            changed[k] += told[k] != Y[t, k]
        tails.record(P[t : t + 1], Y[t : t + 1])
    assert [wanted[0][t] == Y[t, 0] for t in (602, 612, 621, 622)] == [False, False, False, True]
    assert changed[0] > 500
    assert changed[1] == 100  # up to the one that was foreseen


def test_labels_that_can_be_told_together_are_counted_up_to_the_first_outside():
    tails = LabelFilter(1)
    tails.start()
    Y, low, high = np.zeros((30, 1)), np.full(1, -1.0), np.full(1, 1.0)
    Y[[3, 20]] = 5.0
    assert tails.count_plain(Y, low, high) == 3
    assert tails.count_plain(Y[3:], low, high) == 1  # too few so far to compare with
    assert tails.count_plain(Y[4:], low, high) == 10
    tails.record(np.zeros((10, 1)), Y[:10])
    assert tails.count_plain(Y[10:], low, high) == 10
    assert tails.count_plain(Y[20:], low, high) == 0


@pytest.mark.parametrize("sigma", [1.0, 1.5])
def test_where_noise_is_skewed_labels_are_learnt_as_they_are(sigma):
    rng = np.random.default_rng(0)
    p = np.exp(0.5 * rng.normal(size=1200))
    y, taken = p * np.exp(sigma * rng.normal(size=1200)), 0
    tails = LabelFilter(1)
    tails.start()
    for t in range(1200):
        if not tails.count_plain(y[t : t + 1, None], np.zeros(1), np.full(1, 4.0)):
            learnt = tails.winsorize(y[t : t + 1], p[t : t + 1], y[t : t + 1] > 4.0, np.ones(1))
            taken += t >= 400 and learnt[0] != y[t]
        tails.record(p[t : t + 1, None], y[t : t + 1, None])
    assert taken < 40


@pytest.mark.parametrize("lasting", [1, 6])
def test_jumps_that_stay_are_learnt_and_those_that_do_not_are_outliers(lasting):
    rng = np.random.default_rng(0)
    level = np.cumsum(rng.normal(size=900)) * 0.2
    y = level.copy()
    for i, t in enumerate(range(60, 880, 40)):
        y[t : t + lasting] += 60.0 * (-1) ** i  # of both signs: their mean is 0
    p, taken = np.concatenate(([0.0], y[:-1] if lasting > 1 else level[:-1])), []
    tails = LabelFilter(1)
    tails.start()
    for t in range(900):
        outside = np.abs(y[t : t + 1]) > 40.0
        if not tails.count_plain(y[t : t + 1, None], np.full(1, -40.0), np.full(1, 40.0)):
            learnt = tails.winsorize(y[t : t + 1], p[t : t + 1], outside, np.ones(1))
            if outside[0] and abs(y[t - 1]) < 40.0:
                taken.append(bool(learnt[0] != y[t]))
        tails.record(p[t : t + 1, None], y[t : t + 1, None])
    assert np.mean(taken) > 0.9 if lasting == 1 else np.mean(taken[1:]) < 0.1


@pytest.mark.parametrize("seen", [3, 5, 13])
def test_the_last_rows_of_a_ring_can_be_replaced(seen):
    ring = Ring(5, 1)
    ring.extend(np.arange(float(seen))[:, None])
    wanted = ring.rows.copy()
    wanted[-2:, 0] = [-1.0, -2.0]
    ring.replace(wanted[-2:])
    np.testing.assert_array_equal(ring.rows, wanted)


def test_with_a_deadline_only_wild_labels_are_looked_at():
    X, _, y = noisy(300)
    model = Auto(deadline="1s")
    model.run(X, y)
    assert model.pipeline_.label_filter_.outlier_[0] > 0
    assert not model.pipeline_.label_filter_.is_heavy.any()


# -- streams ---------------------------------------------------------------------------------------------------------
def test_cauchy_noise_costs_little_and_without_tails_much():
    X, y, given = noisy(1000)
    clean, told = Auto().run(X, y), Auto()
    hurt, plain = told.run(X, given), without_tails(X, given)
    assert told.pipeline_.label_filter_.is_heavy.all()
    assert error(hurt, y, 100) < 1.7 * error(clean, y, 100) < 0.6 * error(plain, y, 100)


def without_tails(X, y):
    model = Auto()
    first = model.run(X[:1], y[:1])
    model.pipeline_.label_filter_ = None
    return np.concatenate([first, model.run(X[1:], y[1:])])


@pytest.mark.parametrize("share", [0.002, 0.01])
def test_accidents_cost_nearly_nothing(share):
    X, y = stream(1200)
    bad = np.random.default_rng(1).random(1200) < share
    clean, hurt = Auto().run(X, y), Auto().run(X, np.where(bad, 1e6 * y, y))
    assert error(hurt[~bad], y[~bad]) < 1.15 * error(clean[~bad], y[~bad])


@pytest.mark.parametrize("noise", ["normal", "laplace", "exponential"])
def test_where_tails_are_not_long_nothing_is_different(noise):
    X, y = stream(900)
    y += 0.5 * getattr(np.random.default_rng(2), noise)(size=900)
    model = Auto()
    np.testing.assert_array_equal(model.run(X, y), without_tails(X, y))
    assert not model.pipeline_.label_filter_.is_heavy.any()


def test_far_values_of_a_function_are_no_accidents():
    """In some streams a far value among the first hundred rows is winsorised; over several streams it costs little."""
    ratios = []
    for seed in range(6):
        X, _ = stream(900, seed)
        y = np.exp(1.5 * X[:, 0])
        p, q = Auto().run(X, y), without_tails(X, y)
        ratios.append(((p - y)[100:] ** 2).mean() / ((q - y)[100:] ** 2).mean())
    assert np.median(ratios) == pytest.approx(1.0, abs=0.01)
    assert np.exp(np.log(ratios).mean()) < 1.2


@pytest.mark.parametrize("times", [1.0, 1000.0])
def test_another_level_and_another_scale_are_believed_soon(times):
    X, y, given = noisy(1400)
    level = 0.0 if times > 1 else 500.0
    y[1000:], given[1000:] = times * y[1000:] + level, times * given[1000:] + level
    p = Auto().run(X, given)
    size = np.abs(y[1000:]).mean()
    assert np.abs(p - y)[1060:].mean() < 0.6 * size if times > 1 else np.abs(p - y)[1060:].mean() < 0.05 * size


@pytest.mark.parametrize("seed", range(3))
def test_another_level_is_believed_after_three_labels_and_followed_some_rows_later(seed):
    X, y = stream(1300, seed)
    y[1200:] += 20.0
    wrong = np.abs(Auto().run(X, y) - y)[1200:] > 10.0
    assert 3 <= wrong.sum() <= 7
    assert not wrong[10:].any()


# -- changes of the stream ---------------------------------------------------------------------------------------------
def test_noise_with_long_tails_raises_no_alarms():
    """But by chance, in other rows where rounding is another: one of 30,000 rows at most."""
    alarms = []
    for seed in range(5):
        X, _, given = noisy(6000, seed)
        model = Auto()
        model.run(X, given)
        assert model.pipeline_.label_filter_.is_heavy.all()
        alarms += model.alarms()
    assert len(alarms) <= 1


def test_a_change_under_such_noise_is_noticed():
    X, y, given = noisy(3000)
    given[2000:] -= 2 * y[2000:]
    model = Auto()
    model.run(X, given)
    assert [2000 <= alarm.row < 2060 for alarm in model.alarms()[:1]] == [True]


def test_residuals_are_cut_for_alarms_to_the_least_limit_since_tails_became_long():
    rng = np.random.default_rng(0)
    tails, deviation, inside = LabelFilter(1), np.ones(1), np.zeros(1, dtype=bool)
    tails.start()
    residuals = rng.normal(size=(40, 1))
    tails.record(np.zeros((40, 1)), residuals)
    assert tails.alarm_label(np.full(1, 9.0), np.zeros(1)) is None
    tails.suspect(0, 1000)
    limits = []
    for r in (3.0, 0.1, 0.2, 0.1, 5.0, 6.0):
        tails.winsorize(np.array([r]), np.zeros(1), inside, deviation)
        limits.append(6 * np.median(np.abs(tails.past_.last(500)[:, 1])))
        heard = tails.alarm_label(np.array([1e3]), np.ones(1))
        assert heard == pytest.approx(1.0 + min(limits))
        assert tails.alarm_label(np.array([1.1]), np.ones(1)) == pytest.approx(1.1)
        tails.record(np.zeros((1, 1)), np.array([[r]]))
    assert limits[-1] > min(limits)
    tails.suspect(0, 0)
    tails.winsorize(np.ones(1), np.zeros(1), inside, deviation)
    assert tails.alarm_label(np.full(1, 9.0), np.zeros(1)) is None
    tails.record(np.zeros((500, 1)), 100 * rng.normal(size=(500, 1)))
    tails.suspect(0, 1000)
    tails.winsorize(np.ones(1), np.zeros(1), inside, deviation)
    assert tails.alarm_label(np.array([1e6]), np.zeros(1)) > 100.0  # what was before is forgotten


def test_of_targets_alarms_hear_those_with_long_tails_otherwise():
    tails, zero = LabelFilter(2), np.zeros(2)
    tails.start()
    tails.record(np.zeros((50, 2)), np.random.default_rng(0).normal(size=(50, 2)))
    tails.suspect(1, 1000)
    tails.winsorize(np.full(2, 1e3), zero, np.zeros(2, dtype=bool), np.ones(2))
    heard = tails.alarm_label(np.full(2, 1e3), zero)
    assert np.isnan(heard[0])
    assert heard[1] < 10.0


# -- laws ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("cut", [1, 7])
def test_any_blocks_give_the_same(cut):
    X, _, y = noisy(450)
    whole, parts = Auto(recipe=SMALL), Auto(recipe=SMALL)
    P = whole.run(X, y)
    Q = np.concatenate([parts.run(X[i : i + cut], y[i : i + cut]) for i in range(0, 450, cut)])
    np.testing.assert_allclose(Q, P, atol=1e-9)
    assert whole.pipeline_.label_filter_.is_heavy.all()


@pytest.mark.parametrize("at", [30, 61, 63, 66, 305])
def test_a_saved_model_goes_on_bit_for_bit(at, tmp_path):
    X, _, y = noisy(450)
    y[62] = 1e4
    model = Auto(recipe=SMALL)
    P = model.run(X, y)
    other = Auto(recipe=SMALL)
    other.run(X[:at], y[:at])
    other.save(tmp_path / "model.nys")
    np.testing.assert_array_equal(load(tmp_path / "model.nys").run(X[at:], y[at:]), P[at:])


def test_rows_of_weight_zero_leave_no_trace():
    X, _, y = noisy(300)
    some = np.random.default_rng(3).random(300) < 0.7
    y[~some] *= 1e5
    P = Auto(recipe=SMALL).run(X, y, weights=some.astype(float))
    np.testing.assert_allclose(P[some], Auto(recipe=SMALL).run(X[some], y[some]), atol=1e-9)


def test_a_target_with_long_tails_does_not_change_what_is_told_of_another():
    X, y, given = noisy(400)
    model = Auto(recipe=SMALL)
    model.run(X, np.column_stack([given, y]))
    assert model.pipeline_.label_filter_.is_heavy.tolist() == [True, False]
    np.testing.assert_array_equal(model.pipeline_.buffer_.labels_.last(200)[:, 1], y[-200:])


def test_intervals_cover_labels_with_long_tails_as_they_come():
    X, _, y = noisy(2500)
    model, inside = Auto(recipe=SMALL), []
    for i in range(0, 2500, 50):
        if i >= 500:
            low, high = model.predict_interval(X[i : i + 50], 0.9)
            inside.append((low <= y[i : i + 50]) & (y[i : i + 50] <= high))
        model.run(X[i : i + 50], y[i : i + 50])
    assert 0.86 < np.mean(inside) < 0.94
