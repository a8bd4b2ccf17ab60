"""Every member alone, against its slow definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nystream.forecast import Gains, LogSmoother, Mixture, Naive, Ridge, Ridges, SeasonalNaive, Smoother
from nystream.forecast.member import Arrival, Member, Origin
from nystream.forecast.ridge import STRIDES
from oracles import forecast as slow

N, H = 150, 7


def series(n=N, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    t = np.arange(n)
    y = 20 + 3 * np.sin(2 * np.pi * t / 6) + np.cos(2 * np.pi * t / 18) + np.cumsum(rng.normal(size=n)) * 0.1
    y[rng.random(n) < missing] = math.nan
    return y


def forecasts(members, y, seasons, horizon=H):
    """Forecasts (names -> (n, H)) of a list of members over a series."""
    for member in members:
        member.start(horizon, seasons)
    names = [name for member in members for name in member.names]
    made = {name: np.full((len(y), horizon), math.nan) for name in names}
    filled = []
    for t, label in enumerate(y):
        before = filled[t - seasons[0]] if seasons and t >= seasons[0] else filled[-1] if filled else 0.0
        filled.append(label if label == label else before)
        past = {name: np.full(horizon, math.nan) for name in names}
        for name in names:
            for h in range(1, min(horizon, t) + 1):
                past[name][h - 1] = made[name][t - h, h - 1]
        arrival, now = Arrival(t, float(label), float(filled[t]), None, past), {}
        for member in members:
            member.learn(arrival)
            for name, row in zip(member.names, member.forecast(Origin(t, None, now)), strict=True):
                now[name] = made[name][t] = row
    return made


def test_naive_repeats_the_last_label():
    y = series()
    assert_allclose(forecasts([Naive()], y, (6,))["naive"], np.repeat(y[:, None], H, axis=1))


@pytest.mark.parametrize("seasons", [(6,), (3, 10), (5, 40)])
def test_seasonal_naive_repeats_the_newest_label_of_the_slot(seasons):
    y = series()
    made = forecasts([SeasonalNaive()], y, seasons)
    for name, season in zip(("seasonal naive", "long seasonal naive"), seasons, strict=False):
        expected = [[slow.seasonal_naive(y, t, h, season) for h in range(1, H + 1)] for t in range(N)]
        assert_allclose(made[name], expected)
        assert np.isnan(made[name][0]).sum() == H - H // season


@pytest.mark.parametrize("seasons", [(6,), (6, 18)])
@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize(
    "gains", [Gains(0.005, short=0.1, long=0.1), Gains(0.3, 0.03, 0.98, 0.4, 0.2, 0.7), Gains(0.5, 0.1, 1.0, 0, 0, 0.3)]
)
def test_smoother(seasons, missing, gains):
    y = series(missing=missing)
    made = forecasts([Smoother([gains, Gains(0.2, short=0.2)], ["one", "other"])], y, seasons)
    assert_allclose(made["one"], slow.smoother(y, H, seasons, gains), rtol=1e-9, atol=1e-9)


def test_smoother_is_not_moved_by_a_rare_drop():
    y = np.full(200, 100.0) + np.random.default_rng(0).normal(size=200)
    y[150] = 0.0
    made = forecasts([Smoother([Gains(0.1, short=0.1)], ["s"])], y, (6,))["s"]
    assert np.abs(made[151] - 100).max() < 3


def test_log_smoother_mixes_exponentials_of_smoothers_on_logarithms():
    t = np.arange(240)
    y = np.exp(0.01 * t) * (2 + np.sin(2 * np.pi * t / 6))
    made = forecasts([Smoother([Gains(0.005, short=0.1)], ["slow smoother"]), LogSmoother()], y, (6,))
    later = slice(120, 240 - H)
    truth = np.array([y[t + 1 : t + 1 + H] for t in range(*later.indices(240))])
    errors = {name: np.abs(made[name][later] - truth).mean() for name in made}
    assert errors["log smoothers"] < 0.2 * errors["slow smoother"]


def test_log_smoother_smooths_labels_from_the_first_one_on_that_is_not_positive():
    t = np.arange(240)
    y = 50 - t + 4 * np.sin(2 * np.pi * t / 6)
    zero = int((y <= 0).argmax())
    made = forecasts([LogSmoother()], y, (6,))["log smoothers"]
    assert np.isnan(made[zero : zero + 5]).all()  # one cycle
    assert np.abs(made[150, :] - y[151 : 151 + H]).max() < 1.5


def test_smoother_leaves_labels_that_were_constant():
    t = np.arange(300)
    y = np.where(t < 150, 7.0, 10 + 3 * np.sin(2 * np.pi * t / 6))
    made = forecasts([Smoother([Gains(0.1, short=0.3)], ["s"])], y, (6,))["s"]
    assert np.abs(made[220] - y[221 : 221 + H]).max() < 0.5


def test_mixture_forgets_errors_of_rounding():
    mixture = Mixture()
    mixture.start([1.0, 1.0], 1)
    for _ in range(200):
        mixture.learn(np.array([[7.0, 7.0 + 1e-12]]), 7.0)
    for _ in range(10):
        mixture.learn(np.array([[7.0, 9.5]]), 10.0)
    assert mixture.weights_[0, 1] > 0.9


@pytest.mark.parametrize("seasons", [(6,), (6, 18)])
@pytest.mark.parametrize(("inputs", "lam"), [("ryl", 0.9995), ("rylg", 0.99), ("rg", 0.998), ("r", 1.0)])
def test_ridge(seasons, inputs, lam):
    y = series(300)
    y[200] += 40  # counts less by the robust weight
    base = Smoother([Gains(0.1, short=0.2, long=0.1)], ["smoother"])
    ridges = Ridges([Ridge("naive", inputs, forgetting=lam, name="ridge"), Ridge("naive", "l", name="other")])
    made = forecasts([base, Naive(), ridges], y, seasons)
    for h in (1, 3, H):
        expected = slow.ridge(y, made["naive"], h, seasons, inputs, lam, STRIDES)
        assert_allclose(made["ridge"][:, h - 1], expected, rtol=1e-7, atol=1e-7)
    assert np.isfinite(made["ridge"][-1]).all()


def test_ridge_without_a_base_is_an_autoregression():
    y = series(300)
    made = forecasts([Ridges([Ridge(None, "rg", name="ar")])], y, (6,))
    expected = slow.ridge(y, np.zeros((300, H)), 2, (6,), "rg", 0.9995, STRIDES)
    assert_allclose(made["ar"][:, 1], expected, rtol=1e-7, atol=1e-7)


def test_ridge_sleeps_where_its_base_sleeps_and_learns_nothing_there():
    y = series(60)
    made = forecasts([SeasonalNaive(), Ridges([Ridge("long seasonal naive", "rl", name="ridge")])], y, (6, 30))
    assert np.isnan(made["ridge"][:30]).all()
    assert np.isfinite(made["ridge"][-1]).all()


def test_ridge_uses_other_members():
    """An exact forecast among the others is found."""

    class Exact(Member):
        names = ("exact",)

        def start(self, horizon, seasons):
            pass

        def learn(self, arrival):
            pass

        def forecast(self, origin):
            return y[np.minimum(origin.row + np.arange(1, H + 1), len(y) - 1)][None]

    y = np.random.default_rng(0).normal(size=400)
    made = forecasts([Naive(), Exact(), Ridges([Ridge("naive", "l", ["exact"], name="ridge")])], y, (6,))
    truth = np.array([y[t + 1 : t + 1 + H] for t in range(350, 390)])
    assert np.abs(made["ridge"][350:390] - truth).max() < 0.1


def test_ridge_survives_missing_labels():
    y = series(300, missing=0.2)
    made = forecasts([Naive(), Ridges([Ridge("naive", "rylg", name="ridge")])], y, (6, 18))
    assert np.isfinite(made["ridge"][100:]).all()


def test_ridge_survives_many_missing_labels_in_a_row():
    """An autoregression that grows by a tenth a row would be at 1e18 after 400 of them."""
    y = np.concatenate([1.1 ** np.arange(60), np.full(400, math.nan), 1.1 ** np.arange(60)])
    made = forecasts([Ridges([Ridge(None, "rg", name="ar")])], y, (6,))["ar"]
    assert np.nanmax(np.abs(made)) < 100 * np.nanmax(y)


def test_ridge_refuses_unknown_inputs():
    with pytest.raises(ValueError, match="inputs must be one of 'r', 'y', 'l', 'g'"):
        Ridge(None, "rx", name="ridge")


@pytest.mark.parametrize(("prior", "probation"), [([1.0] * 4, 0), ([1.0, 0.0, 5.0, 0.0], 100)])
def test_mixture_of_one_step_is_its_definition(prior, probation):
    rng = np.random.default_rng(0)
    y = rng.normal(size=400)
    F = y[:, None] + rng.normal(size=(400, 4)) * [1.0, 1.1, 1.5, 3.0]
    F[:60, 2] = math.nan
    mixture = Mixture()
    mixture.start(prior, 1, probation)
    for t in range(400):
        mixture.learn(F[t][None], y[t])
        if t in (5, 80, 130, 399):
            expected = slow.mixture(F[: t + 1], y[: t + 1], 0.01, prior, probation)
            assert_allclose(mixture.weights_[0], expected, rtol=1e-9)
    assert mixture.weights_[0, :2].sum() > 0.9


def test_mixture_shares_the_weight_of_those_who_sleep():
    mixture = Mixture()
    mixture.start([1.0, 1.0, 2.0], 2)
    found = mixture.combine(np.array([[1.0, 1.0], [3.0, math.nan], [math.nan, math.nan]]))
    assert_allclose(found, [2.0, 1.0])
    assert math.isnan(mixture.combine(np.full((3, 2), math.nan))[0])


def test_members_without_a_season():
    y = series(100)
    members = [Naive(), SeasonalNaive(), Smoother([Gains(0.1)], ["s"]), Ridges([Ridge("s", "rylg", name="ridge")])]
    made = forecasts(members, y, ())
    assert set(made) == {"naive", "s", "ridge"}
    assert np.isfinite(made["ridge"][60:]).all()
