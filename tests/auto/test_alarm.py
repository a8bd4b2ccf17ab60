"""The alarm against its definition; the mixture of two generations against its own; verdicts; columns that moved."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import nystream
import oracles_changes as oracle
from nystream.auto.changes.alarm import NEVER, RankAlarm
from nystream.auto.changes.inputs import InputAlarm, distances, location, moved
from nystream.auto.changes.mixture import Handover, Heard
from nystream.auto.changes.novice import Novice
from nystream.auto.changes.past import Past
from nystream.auto.changes.record import OUTCOMES, Alarm
from nystream.auto.changes.verdict import advantage, verdict
from nystream.auto.rows import Rows
from nystream.solvers.stacker import SoftmaxStacker


def losses(seed, n=3000):
    """Squares that grow five times at a third and fall a hundred times at two thirds, with ties and zeros."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n) ** 2
    x[n // 3 : n // 3 + 300] *= 5
    x[2 * n // 3 :] /= 100
    x[rng.integers(n, size=n // 20)] = 0.0
    return np.round(x, 3) if seed % 2 else x


def all_alarms(alarm, x, cuts, falls_from=NEVER, alert=(0, 0)):
    found, row = [], 0
    ends = [*np.cumsum(cuts).tolist(), len(x)]
    for end in ends:
        while row < min(end, len(x)):
            seen, one = alarm.see(x[row : min(end, len(x))], row, falls_from=falls_from, alert=alert)
            row += seen
            if one is not None:
                found.append((row, one.since, one.cause))
                alarm.start()
    return found


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_alarm_equals_its_definition_in_any_cuts(seed, classes):
    x = losses(seed)
    for falls_from, cuts, alert in ((1500, [1] * 200, (0, 0)), (NEVER, [7, 400, 1, 90], (1001, 1100))):
        alarm = RankAlarm(classes, 1700)
        alarm.start()
        found = all_alarms(alarm, x, cuts, falls_from, alert)
        expected = oracle.alarms(x, classes=classes, falls_from=falls_from, suspicion=alert)
        assert found == expected
        assert found
    assert {what for *_, what in found} & {"alert", "rise"}


def test_falling_losses_are_noticed_where_that_is_asked_for():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=1000) ** 2, rng.normal(size=500) ** 2 / 1e4])
    alarm = RankAlarm(False, 1700)
    alarm.start()
    seen, found = alarm.see(x, 0, falls_from=0)
    assert found.cause == "fall"
    assert 1000 <= found.since < seen
    assert found.after < found.before / 10
    alarm.start()
    assert alarm.see(x, 0)[1] is None


@pytest.mark.parametrize("kind", ["squares", "heavy", "logs"])
def test_where_nothing_changes_alarms_are_rarer_than_one_in_ten_thousand_rows(kind):
    rng = np.random.default_rng(5)
    x = {"squares": rng.normal(size=30_000), "heavy": rng.standard_t(2, size=30_000)}.get(kind, np.zeros(0)) ** 2
    x = -np.log(rng.uniform(0.02, 1, size=30_000)) if kind == "logs" else x
    alarm = RankAlarm(kind == "logs", 1700)
    alarm.start()
    assert len(all_alarms(alarm, x, [])) <= 2


def test_an_alarm_saved_in_the_middle_goes_on_bit_for_bit():
    x = losses(0)
    alarm = RankAlarm(False, 1700)
    alarm.start()
    alarm.see(x[:900], 0)
    resumed = nystream.from_bytes(nystream.persist.to_bytes(alarm))
    assert resumed.see(x[900:], 900) == alarm.see(x[900:], 900)
    assert_array_equal(resumed.order_, alarm.order_)


# -- the mixture -------------------------------------------------------------------------------------------------------
WHERE = np.array([[0.0, 1.0, 0.0], [1.0, 2.0, 1.0]])


def parts(n, *cuts):
    return [slice(i, j) for i, j in zip((0, *cuts), (*cuts, n), strict=True)]


@pytest.mark.parametrize("young", [True, False])
def test_the_mixture_of_targets_equals_its_definition_in_any_cuts(young):
    rng = np.random.default_rng(0)
    Y, X = rng.normal(size=(150, 2)) * [1, 50] + [0, 1000], rng.normal(size=(150, 3))
    old, new = Y + rng.normal(size=Y.shape) * [2, 5], Y + rng.normal(size=Y.shape) * np.linspace(3, 0.2, 150)[:, None]
    core = 1000 - Y + rng.normal(size=Y.shape)
    before = rng.normal(size=(200, 2)) * [1, 50] + [0, 1000]
    mixture = Handover(False, 60, young)
    mixture.start(before, 2, WHERE)
    P = [
        mixture.run(Heard(X[part], old[part], core[part], new[part] if young else None), Y[part], None)[0]
        for part in parts(150, 1, 34, 149)
    ]
    Z = np.clip((X - WHERE[0]) / WHERE[1], -5, 5)
    scale, shift = before.std(axis=0), before.mean(axis=0)
    novice = oracle.few(Z, (Y - shift) / scale, 60, 3.4 * 3, 0.01) * scale + shift
    carried = []
    for k in range(2):
        slow = oracle.Targets(before[:, k], young)
        rows = zip(old[:, k], new[:, k], core[:, k], novice[:, k], Y[:, k], strict=True)
        assert_allclose(np.concatenate(P)[:, k], [slow.step(*row) for row in rows], rtol=1e-9, atol=1e-9)
        assert_allclose(mixture.shares_[k], slow.shares, atol=1e-9)
        carried.append(slow.carried() if young else None)
    heard = Heard(X[:3], old[:3], core[:3], new[:3] if young else None)
    assert mixture.predict(heard)[0].shape == (3, 2)
    if young:
        assert 0 <= mixture.carried() < 0.3
        assert_allclose(mixture.carried(), np.mean(carried), atol=1e-9)


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("young", [True, False])
def test_the_mixture_of_classes_equals_its_definition(K, young):
    rng = np.random.default_rng(K)
    labels, X = rng.integers(K, size=120), rng.normal(size=(120, 3))

    def said(noise):
        scores = 2.0 * (np.arange(K) == labels[:, None]) + noise * rng.normal(size=(120, K))
        return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))

    old, new = said(2.0), said(0.5)
    mixture = Handover(True, 50, young)
    mixture.start(np.empty((0, 1)), K, WHERE)
    P = np.concatenate(
        [
            mixture.run(Heard(X[part], old[part], None, new[part] if young else None), labels[part, None] * 1.0, None)[
                0
            ]
            for part in parts(120, 50)
        ]
    )
    Z = np.clip((X - WHERE[0]) / WHERE[1], -5, 5)
    novice = np.maximum(oracle.few(Z, (labels[:, None] == np.arange(K)) - 1 / K, 50, 1.7 * 3, 0.3) + 1 / K, 0.02)
    novice /= novice.sum(axis=1, keepdims=True)
    stack = SoftmaxStacker([(0.998, 1.0)])
    stack.start(2, K)
    shares, first = (np.full(4, 1 / 4), 10) if young else (np.full(2, 1 / 2), 100)
    for t in range(120):
        F = 0.5 * np.stack([old[t], new[t]])
        F = F[:, 1:] - F[:, :1] if K == 2 else F - F.mean(axis=1, keepdims=True)
        stacked = stack.run(F[None], labels[t : t + 1].astype(float))[0, 0]
        both = [np.exp(new[t]), stacked] if young else []
        members = np.stack([np.exp(old[t]), *both, novice[t]])
        assert_allclose(np.exp(P[t]), shares @ members, rtol=1e-9)
        shares = oracle.followed(shares, -np.log(np.maximum(members[:, labels[t]], 1e-6)), t, first)
    assert_allclose(np.exp(P).sum(axis=1), 1.0)


def test_a_row_of_weight_2_counts_as_two_in_the_shares():
    mixture, twice = Handover(False, 10), Handover(False, 10)
    for one in (mixture, twice):
        one.start(np.array([[0.0], [1.0]]), 1, WHERE)
    heard = Heard(np.zeros((1, 3)), np.full((1, 1), 1.0), np.full((1, 1), 1.0), np.full((1, 1), 0.8))
    mixture.run(heard, np.zeros((1, 1)), np.array([1.0]))
    twice.run(heard, np.zeros((1, 1)), np.array([2.0]))
    assert twice.shares_[0, 0] < mixture.shares_[0, 0]


def test_the_novice_takes_weights_as_repeated_rows_more_classes_and_more_columns():
    rng = np.random.default_rng(1)
    X, T = rng.normal(size=(40, 3)), rng.normal(size=(40, 1))
    twice, both = Novice(False, 100), Novice(False, 100)
    for one in (twice, both):
        one.start(1, WHERE)
    twice.run(X, T, np.full(40, 2.0))
    both.run(np.repeat(X, 2, axis=0), np.repeat(T, 2, axis=0), None)
    assert_allclose(twice.predict(X), both.predict(X), atol=1e-8)
    wide = np.pad(X, ((0, 0), (0, 2)), constant_values=7.0)
    before = twice.predict(X)
    twice.widen(5)
    assert_array_equal(twice.predict(wide), before)
    labels = rng.integers(2, size=(40, 1)).astype(float)
    late, known = Novice(True, 30), Novice(True, 30)
    late.start(2, WHERE)
    known.start(3, WHERE)
    late.run(X[:20], labels[:20], None)
    late.grow(3)
    known.run(X[:20], labels[:20], None)
    assert_allclose(late.run(X[20:], labels[20:], None), known.run(X[20:], labels[20:], None), atol=1e-12)


# -- verdicts ----------------------------------------------------------------------------------------------------------
def flat(value, n=1000):
    return value + 0.01 * np.sin(np.arange(n))


@pytest.mark.parametrize(
    ("old", "young", "mixed", "age", "said"),
    [
        (2.0, 1.0, 1.0, 400, None),
        (2.0, 1.0, 1.0, 500, "promoted"),
        (2.0, 1.0, 0.9, 500, None),
        (1.0, 0.98, 0.98, 600, None),
        (1.0, 2.0, 1.02, 500, "discarded"),
        (1.0, 2.0, 1.0, 500, None),
        (1.0, 2.0, 1.0, 1000, "discarded"),
        (1.0, 2.0, 0.9, 1000, None),
        (1.0, 0.999, 1.0, 1000, None),
        (1.0, 1.0, 1.0, 1000, "discarded"),
        (1.0, 1.0, 0.9, 1000, None),
        (1.0, 1.0, 0.9, 3200, "discarded"),
        (1.0, 0.999, 0.9, 3200, "promoted"),
    ],
)
def test_verdicts(old, young, mixed, age, said):
    rng = np.random.default_rng(0)
    noise = 1e-3 * rng.normal(size=1000)
    noise -= noise.mean()
    assert verdict(flat(old) + noise, flat(young), flat(mixed), age, 1000) == said


def test_an_advantage_needs_two_batches_and_leaves_out_the_beginning():
    old, young = np.ones(1000), np.ones(1000)
    young[-400:-200] = 50.0  # the young one's first rows
    assert advantage(old, young, 100)[0] == 0.0
    assert advantage(old, young, 400)[1] == 0.0
    assert advantage(old, young, 600)[1] < 0


# -- inputs ------------------------------------------------------------------------------------------------------------
def test_columns_that_moved_are_found_and_others_are_not():
    rng = np.random.default_rng(0)
    before, after = rng.normal(size=(800, 4)), rng.normal(size=(300, 4))
    after[:, 2] += 1
    after[:, 1] *= 4
    after[:60, 0] = np.nan
    assert moved(before, after, list("abcd")) == ("c", "b", "a")
    assert moved(before, rng.normal(size=(300, 4)), list("abcd")) == ()
    assert moved(before[:0], after, list("abcd")) == ()


def test_distances_do_not_count_missing_values_and_survive_any_size():
    X = np.array([[0.0, 1.0, np.nan], [2.0, np.nan, np.nan], [4.0, 1.0, np.nan]])
    where = location(X)
    assert_allclose(where[0, :2], [2.0, 1.0])
    assert np.isnan(where[:, 2]).all()
    assert_allclose(distances(np.array([[2.0, np.nan, 5.0], [2.0, 1.0, 1e300]]), where), [0.0, 0.0])
    assert_allclose(distances(np.array([[1e300, 1.0, 0.0]]), where), [12.5])
    assert np.isfinite(distances(np.full((2, 1), 1e300), location(np.full((3, 1), -1e300)))).all()


def all_alerts(X, cut=256, reach=1700):
    alarm, found = InputAlarm(reach), []
    alarm.start()
    for i in range(0, len(X), cut):
        past = X[: i + cut]
        found += alarm.alerts(X[i : i + cut], i, lambda k, past=past: Rows(past[-k:], past, None), reach)[1:]
    return alarm, found


EXCHANGEABLE = {
    "three values": lambda rng, n: rng.integers(3, size=(n, 4)).astype(float),
    "heavy tails": lambda rng, n: rng.standard_t(2, size=(n, 5)),
    "duplicated rows": lambda rng, n: rng.normal(size=(100, 3))[rng.integers(100, size=n)],
    "constant columns": lambda rng, n: np.hstack([np.full((n, 2), [7.0, 1e9]), rng.normal(size=(n, 1))]),
}


@pytest.mark.parametrize("kind", EXCHANGEABLE)
def test_inputs_that_are_exchangeable_hardly_ever_sound_the_alarm_and_shifted_ones_soon(kind):
    X = EXCHANGEABLE[kind](np.random.default_rng(3), 60_000)
    assert len(all_alerts(X)[1]) <= 1  # measured from several places: 10 of three values, 6 of heavy tails
    X[3700:6000] += 6.0
    row = next(row for _, row, _ in all_alerts(X[:6000])[1] if row >= 3700)
    assert row < 3720


def test_a_location_of_few_rows_is_not_nearer_to_them_than_to_others():
    X = np.random.default_rng(0).normal(size=(8000, 300))
    assert len(all_alerts(X, reach=90)[1]) <= 1  # 4 without the factor
    X[6000:] *= 1.5
    assert 6000 <= all_alerts(X[:6200], reach=90)[1][-1][1] < 6020


def test_distances_that_are_ranked_among_are_measured_from_one_place_in_any_cuts():
    X = np.random.default_rng(0).standard_t(2, size=(3600, 3))
    alarm, found = all_alerts(X)
    assert_array_equal(alarm.where_, location(X[2000:3500]))
    kept = np.sort(distances(X[3500 - 1700 : 3600], alarm.where_))
    assert_array_equal(alarm.alarm_.order_[: alarm.alarm_.count], kept)
    for cut in (1, 97, 3600):
        other, same = all_alerts(X, cut)
        assert same == found
        for name in ("order_", "kept_", "logs_", "ranks_", "sums_"):
            assert_array_equal(getattr(other.alarm_, name), getattr(alarm.alarm_, name))


# -- small things ------------------------------------------------------------------------------------------------------
def test_the_past_is_found_by_row_number():
    past = Past(4, 2)
    past.put(0, np.arange(12.0).reshape(6, 2))
    assert_array_equal(past.get(2, 6), np.arange(4.0, 12.0).reshape(4, 2))
    wider = past.remade(3, 6, lambda rows: np.pad(rows, ((0, 0), (0, 1))))
    assert_array_equal(wider.get(3, 6)[:, :2], past.get(3, 6))


def test_an_alarm_is_a_line_of_text():
    told = Alarm(120, 100, "loss", "promoted", 700, 0.5, 2.0, ("a", "b"))
    assert str(told) == (
        "around row 100 (noticed at 120) the loss rose from 0.5 to 2; "
        "the fresh model has replaced the old one; moved: a, b"
    )
    assert all(str(told._replace(outcome=outcome)) for outcome in OUTCOMES)
    assert "fell" in str(told._replace(cause="gain"))
