"""The alarm against its definition; the mixture of two ensembles against its own; verdicts; columns that moved."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import nystream
from nystream.auto.drift.detectors import NEVER, RankDetector
from nystream.auto.drift.few_row_ridge import FewRowRidge
from nystream.auto.drift.handler import DriftHandler
from nystream.auto.drift.history import Past
from nystream.auto.drift.inputs import InputDetector, distances, follow_time, location, moved, net_of_time
from nystream.auto.drift.mixture import Inputs, Mixture
from nystream.auto.drift.promotion import advantage, verdict
from nystream.auto.drift.records import CAUSES, OUTCOMES, Alarm, Records, describe_columns, own_columns
from nystream.auto.rows import Rows
from nystream.solvers.stacker import SoftmaxStacker
from oracles import changes as oracle


def losses(seed, n=3000):
    """Squares that grow five times at a third and fall a hundred times at two thirds, with ties and zeros."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n) ** 2
    x[n // 3 : n // 3 + 300] *= 5
    x[2 * n // 3 :] /= 100
    x[rng.integers(n, size=n // 20)] = 0.0
    return np.round(x, 3) if seed % 2 else x


def all_alarms(alarm, x, cuts, falls_from=NEVER):
    found, row = [], 0
    ends = [*np.cumsum(cuts).tolist(), len(x)]
    for end in ends:
        while row < min(end, len(x)):
            seen, one = alarm.see(x[row : min(end, len(x))], row, falls_from=falls_from)
            row += seen
            if one is not None:
                found.append((row, one.since, one.cause))
                alarm.start()
    return found


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_alarm_equals_its_definition_in_any_cuts(seed, classes):
    x = losses(seed)
    for falls_from, cuts in ((1500, [1] * 200), (NEVER, [7, 400, 1, 90])):
        alarm = RankDetector(classes, 1700)
        alarm.start()
        found = all_alarms(alarm, x, cuts, falls_from)
        expected = oracle.alarms(x, classes=classes, falls_from=falls_from)
        assert found == expected
        assert found
    assert {what for *_, what in found} == {"rise"}


def test_falling_losses_are_noticed_where_that_is_asked_for():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=1000) ** 2, rng.normal(size=500) ** 2 / 1e4])
    alarm = RankDetector(False, 1700)
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
    alarm = RankDetector(kind == "logs", 1700)
    alarm.start()
    assert len(all_alarms(alarm, x, [])) <= 2


def test_an_alarm_saved_in_the_middle_goes_on_bit_for_bit():
    x = losses(0)
    alarm = RankDetector(False, 1700)
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
    mixture = Mixture(False, 60, young)
    mixture.start(before, 2, WHERE)
    P = [
        mixture.run(Inputs(X[part], old[part], core[part], new[part] if young else None), Y[part], None)[0]
        for part in parts(150, 1, 34, 149)
    ]
    Z = np.clip((X - WHERE[0]) / WHERE[1], -5, 5)
    scale, shift = before.std(axis=0), before.mean(axis=0)
    few_row_ridge = oracle.few(Z, (Y - shift) / scale, 60, 3.4 * 3, 0.01) * scale + shift
    carried = []
    for k in range(2):
        slow = oracle.Targets(before[:, k], young)
        rows = zip(old[:, k], new[:, k], core[:, k], few_row_ridge[:, k], Y[:, k], strict=True)
        assert_allclose(np.concatenate(P)[:, k], [slow.step(*row) for row in rows], rtol=1e-9, atol=1e-9)
        assert_allclose(mixture.shares_[k], slow.shares, atol=1e-9)
        carried.append(slow.carried() if young else None)
    heard = Inputs(X[:3], old[:3], core[:3], new[:3] if young else None)
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
    mixture = Mixture(True, 50, young)
    mixture.start(np.empty((0, 1)), K, WHERE)
    P = np.concatenate(
        [
            mixture.run(Inputs(X[part], old[part], None, new[part] if young else None), labels[part, None] * 1.0, None)[
                0
            ]
            for part in parts(120, 50)
        ]
    )
    Z = np.clip((X - WHERE[0]) / WHERE[1], -5, 5)
    few_row_ridge = np.maximum(oracle.few(Z, (labels[:, None] == np.arange(K)) - 1 / K, 50, 1.7 * 3, 0.3) + 1 / K, 0.02)
    few_row_ridge /= few_row_ridge.sum(axis=1, keepdims=True)
    stack = SoftmaxStacker([(0.998, 1.0)])
    stack.start(2, K)
    shares, first = (np.full(4, 1 / 4), 10) if young else (np.full(2, 1 / 2), 100)
    for t in range(120):
        F = 0.5 * np.stack([old[t], new[t]])
        F = F[:, 1:] - F[:, :1] if K == 2 else F - F.mean(axis=1, keepdims=True)
        stacked = stack.run(F[None], labels[t : t + 1].astype(float))[0, 0]
        both = [np.exp(new[t]), stacked] if young else []
        members = np.stack([np.exp(old[t]), *both, few_row_ridge[t]])
        assert_allclose(np.exp(P[t]), shares @ members, rtol=1e-9)
        shares = oracle.followed(shares, -np.log(np.maximum(members[:, labels[t]], 1e-6)), t, first)
    assert_allclose(np.exp(P).sum(axis=1), 1.0)


def test_a_row_of_weight_2_counts_as_two_in_the_shares():
    mixture, twice = Mixture(False, 10), Mixture(False, 10)
    for one in (mixture, twice):
        one.start(np.array([[0.0], [1.0]]), 1, WHERE)
    heard = Inputs(np.zeros((1, 3)), np.full((1, 1), 1.0), np.full((1, 1), 1.0), np.full((1, 1), 0.8))
    mixture.run(heard, np.zeros((1, 1)), np.array([1.0]))
    twice.run(heard, np.zeros((1, 1)), np.array([2.0]))
    assert twice.shares_[0, 0] < mixture.shares_[0, 0]


def test_the_novice_takes_weights_as_repeated_rows_more_classes_and_more_columns():
    rng = np.random.default_rng(1)
    X, T = rng.normal(size=(40, 3)), rng.normal(size=(40, 1))
    twice, both = FewRowRidge(False, 100), FewRowRidge(False, 100)
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
    late, known = FewRowRidge(True, 30), FewRowRidge(True, 30)
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
    time = np.arange(1100.0)
    before[:, 3], after[:, 3] = time[:800], time[800:]
    assert moved(before, after, list("abcd")) == ("c", "b", "a")


def test_distances_do_not_count_missing_values_and_survive_any_size():
    X = np.array([[0.0, 1.0, np.nan], [2.0, np.nan, np.nan], [4.0, 1.0, np.nan]])
    where = location(X)
    assert_allclose(where[0, :2], [2.0, 1.0])
    assert np.isnan(where[:, 2]).all()
    assert_allclose(distances(np.array([[2.0, np.nan, 5.0], [2.0, 1.0, 1e300]]), where), [0.0, 0.0])
    assert_allclose(distances(np.array([[1e300, 1.0, 0.0]]), where), [12.5])
    assert np.isfinite(distances(np.full((2, 1), 1e300), location(np.full((3, 1), -1e300)))).all()


def all_shifts(X, cut=256, reach=1700):
    alarm, found = InputDetector(reach), []
    alarm.start()
    for i in range(0, len(X), cut):
        past = X[: i + cut]
        found += alarm.shifts(X[i : i + cut], i, lambda k, past=past: Rows(past[-k:], past, None), reach)[1:]
    return alarm, found


EXCHANGEABLE = {
    "three values": lambda rng, n: rng.integers(3, size=(n, 4)).astype(float),
    "heavy tails": lambda rng, n: rng.standard_t(2, size=(n, 5)),
    "duplicated rows": lambda rng, n: rng.normal(size=(100, 3))[rng.integers(100, size=n)],
    "constant columns": lambda rng, n: np.hstack([np.full((n, 2), [7.0, 1e9]), rng.normal(size=(n, 1))]),
    "missing values": lambda rng, n: np.where(rng.random((n, 5)) < 0.3, np.nan, rng.normal(size=(n, 5))),
}


@pytest.mark.parametrize("kind", EXCHANGEABLE)
def test_exchangeable_inputs_hardly_ever_shift_and_shifted_ones_are_detected_soon(kind):
    X = EXCHANGEABLE[kind](np.random.default_rng(3), 60_000)
    assert len(all_shifts(X)[1]) <= 1
    X[3700:6000] += 6.0
    shift = next(shift for shift in all_shifts(X[:6000])[1] if shift.row >= 3700)
    assert shift.row < 3720
    assert abs(shift.since - 3700) <= 3


MOVING = {
    "a date": lambda rng, t: 1.6e9 + 3600 * t,
    "a counter": lambda rng, t: t,
    "an odometer": lambda rng, t: np.cumsum(rng.exponential(3.0, len(t))),
    "a random walk": lambda rng, t: np.cumsum(rng.normal(size=len(t))),
    "an hour": lambda rng, t: t % 24,
    "a day of minutes": lambda rng, t: np.sin(2 * np.pi * t / 1440),
    "a noisy day of minutes": lambda rng, t: np.sin(2 * np.pi * t / 1440) + 0.7 * rng.normal(size=len(t)),
    "a noisy trend": lambda rng, t: t / 1000 + rng.normal(size=len(t)),
    "a noisy season": lambda rng, t: np.sin(2 * np.pi * t / 8766) + 0.7 * rng.normal(size=len(t)),
}


@pytest.mark.parametrize("kind", MOVING)
@pytest.mark.parametrize("beside", [0, 4])
def test_columns_that_move_along_with_time_do_not_shift(kind, beside):
    shifts = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = np.column_stack([MOVING[kind](rng, np.arange(8000.0)), rng.normal(size=(8000, beside))])
        shifts += len(all_shifts(X)[1])
    assert shifts <= 1


def test_a_shift_beside_a_date_is_detected_and_its_column_is_named():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(5000.0), rng.normal(size=(5000, 3))])
    X[4000:, 2] += 4.0
    (shift,) = all_shifts(X)[1]
    assert 4000 <= shift.row < 4020
    assert shift.columns == (2,)


def test_columns_follow_time_where_successive_values_correlate():
    t, rng = np.arange(1000.0), np.random.default_rng(0)
    X = np.column_stack([t, np.full(1000, 3.0), rng.normal(size=1000), t % 24, np.where(t % 3 > 0, np.nan, t)])
    assert follow_time(X).tolist() == [True, False, False, True, False]


def test_net_of_time_subtracts_centres_that_move_where_rows_do():
    X = np.random.default_rng(0).normal(size=(430, 2))
    X[100, 1] = np.nan
    X[180:, 0] += 3.0
    net, base, unit = net_of_time(X)
    assert net.shape == (300, 2)
    assert_allclose(unit[1], 1.0, rtol=0.2)
    known = np.sort(np.delete(X[:, 1], 100))
    assert_allclose(base[1], known[42:-42].mean())  # without a tenth at either end
    assert_allclose(net[:, 1], X[130:, 1] - base[1])
    assert_allclose(net[:50, 0], X[130:180, 0] - np.sort(X[30:130, 0])[10:90].mean())
    assert_allclose(net[-50:, 0], X[380:, 0] - np.sort(X[280:380, 0])[10:90].mean())
    assert net_of_time(X[:149])[0].shape == (0, 2)


@pytest.mark.parametrize("cut", [1, 97, 3600])
def test_shifts_do_not_depend_on_how_rows_are_cut(cut):
    X = np.random.default_rng(0).standard_t(2, size=(3600, 3))
    X[3200:] += 8.0
    alarm, found = all_shifts(X)
    assert found
    other, same = all_shifts(X, cut)
    assert same == found
    assert_array_equal(other.where_, alarm.where_)
    for name in ("order_", "kept_", "logs_", "ranks_", "sums_"):
        assert_array_equal(getattr(other.ranks_, name), getattr(alarm.ranks_, name))


def test_with_too_few_rows_kept_inputs_are_not_watched():
    X = np.random.default_rng(0).normal(size=(3000, 3))
    X[2000:] += 9.0
    alarm, found = all_shifts(X, reach=90)
    assert not found
    assert alarm.where_ is None


def rows_to_confirm(x, since):
    """Rows after which losses confirm a change at row `since`, of 100; None: they do not."""
    alarm = RankDetector(False, 1700)
    alarm.start()
    alarm.see(x[:since], 0)
    for t in range(since, since + 100):
        alarm.see(x[t : t + 1], t)
        if alarm.confirms(since, t + 1):
            return t + 1 - since
    return None


def test_losses_rarely_confirm_a_change_point_that_is_none_and_soon_one_that_is():
    streams = [np.random.default_rng(seed).normal(size=700) ** 2 for seed in range(300)]
    false = sum(rows_to_confirm(x, 600) is not None for x in streams)
    assert false <= 0.05 * 300 + 3 * math.sqrt(0.05 * 0.95 * 300)
    for x in streams[:30]:
        x[600:] *= 9
    delays = [rows_to_confirm(x, 600) for x in streams[:30]]
    assert None not in delays
    assert np.median(delays) < 25


# -- small things ------------------------------------------------------------------------------------------------------
def test_the_past_is_found_by_row_number():
    past = Past(4, 2)
    past.put(0, np.arange(12.0).reshape(6, 2))
    assert_array_equal(past.get(2, 6), np.arange(4.0, 12.0).reshape(4, 2))
    wider = past.resized(3, 6, lambda rows: np.pad(rows, ((0, 0), (0, 1))))
    assert_array_equal(wider.get(3, 6)[:, :2], past.get(3, 6))


def test_alarms_read_as_sentences():
    alarm = Alarm(5120, 5100, "higher loss", "promoted", 5700, 0.5, 2.0, ("a", "3"), loss="squared error")
    assert str(alarm) == (
        "Drift alarm at row 5,120; the estimated change point is row 5,100. The squared error rose from 0.5 to 2. A "
        "candidate model was better and has replaced the incumbent. Inputs that shifted: `a`, column 3."
    )
    refused = alarm._replace(outcome="over budget", columns=())
    assert str(refused).startswith(
        "Drift was suspected at row 5,120, but no candidate was started: candidates may learn on at most 15% of the "
        "rows."
    )
    warning = alarm._replace(cause="shifted inputs", outcome="unconfirmed", before=math.nan, after=math.nan)
    assert (alarm.level, refused.level, warning.level) == ("alarm", "alarm", "warning")
    assert str(warning) == (
        "Warning: inputs shifted at row 5,120; the estimated change point is row 5,100. The loss has not confirmed it, "
        "so no candidate was started. Inputs that shifted: `a`, column 3."
    )
    for cause in CAUSES:
        for outcome in OUTCOMES:
            assert "5,120" in str(alarm._replace(cause=cause, outcome=outcome))
    assert "fell from" in str(alarm._replace(cause="lower loss"))
    assert "row 70 was recalled" in str(alarm._replace(regime=70))


def test_parts_of_columns_have_plain_names():
    names = ["mean of target 0 by hour of `when`", "hour of `when`", "share of class 1 by hour of `when`", "x"]
    names += ["sine of the day of `when`", "cosine of the year of `when`", "mean of target 0 by `c`", "7"]
    told = ["hour of `when`", "`x`", "time of day of `when`", "time of the year of `when`", "`c`", "column 7"]
    assert describe_columns(names) == told
    assert own_columns(["x", "filter, output 0", "descent, output 12"]) == ("x",)


def test_records_keep_warnings_apart_and_one_that_is_confirmed_is_an_alarm():
    records = Records()
    warning = Alarm(100, 90, "shifted inputs", "unconfirmed", 100, math.nan, math.nan, ("0",))
    records.add(warning)
    records.add(warning._replace(row=200))  # not long after
    assert (records.alarms, records.all) == ([], [warning])
    assert records.take_warning(100) is None
    assert records.take_warning(99) == warning
    assert records.all == []
    records.add(warning._replace(outcome="running"))
    assert records.take_warning(0) is None
    records.note(outcome="promoted")
    assert [alarm.outcome for alarm in records.alarms] == ["promoted"]


def test_a_full_refit_starts_the_detector_on_steady_experts_again_and_no_other():
    detectors = DriftHandler(False)
    detectors.start(None, 1)
    losses = np.random.default_rng(0).exponential(size=200)
    for one in (detectors.loss_, detectors.steady_):
        one.see(losses, 0)
    detectors._note_refit(0)  # there was none yet
    assert detectors.loss_.count == detectors.steady_.count == 200
    detectors._note_refit(200)
    assert (detectors.loss_.count, detectors.steady_.count) == (200, 0)
    detectors.steady_.see(losses, 200)
    detectors._note_refit(200)
    assert detectors.steady_.count == 200
