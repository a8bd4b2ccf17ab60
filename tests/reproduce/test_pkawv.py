"""Experiments with PKAWV: rates against the bounds, selection that looks at no reported row."""

import math

import numpy as np
import pytest
from scipy.stats import poisson

from nystream.evaluate import bounds
from nystream.reproduce import Setting
from nystream.reproduce.pkawv_adversary import contenders, play
from nystream.reproduce.pkawv_rates import GAMMA_MOST, SUMMARY, least, minimised, rates, regret_of_size
from nystream.reproduce.pkawv_streams import EXACT, FEATURES, FROZEN, METHODS, Size, compared
from nystream.reproduce.pkawv_theory import gaussian, polynomial

SMALL = Size(120, 60, 30, (0, 1), (1.0, 2.0), (0.1, 1.0), (0.1, 1.0), 0)


# -- rates -------------------------------------------------------------------------------------------------------------
def test_rates_at_a_quarter():
    found = rates(0.25)
    assert (found["PKAWV"].regret, found["PKAWV"].cost) == pytest.approx((1 / 5, 16 / 15))
    assert found["PKAWV, points beforehand"].cost == pytest.approx(4 / 5)
    assert found["PROS-N-KONS, at best"].regret == pytest.approx(2 / 5)
    assert found["Sketched-KONS at PKAWV's cost"].regret == pytest.approx(1 / 5 + 1 - 8 / 15)


def test_points_found_on_the_way_are_all_kept_from_sqrt_2_minus_1_on():
    assert rates(GAMMA_MOST)["PKAWV"].cost == pytest.approx(2.0)
    assert rates(GAMMA_MOST - 0.01)["PKAWV"].cost < 2.0
    assert rates(0.9)["PKAWV"].cost == 2.0


@pytest.mark.parametrize("gamma", [0.05, 0.2, 0.4])
def test_minimising_the_bound_gives_the_exponents(gamma):
    (_, regret, points), (_, later, more) = (minimised(gamma, n) for n in (1e8, 1e11))
    assert math.log(later / regret) / math.log(1e3) == pytest.approx(rates(gamma)["PKAWV"].regret, abs=1e-6)
    assert 2 * math.log(more / points) / math.log(1e3) == pytest.approx(rates(gamma)["PKAWV"].cost, abs=1e-6)


def test_the_price_of_the_projection_is_that_of_theorem_6():
    gamma, n = 0.3, 10**6
    lam, regret, points = minimised(gamma, n)
    terms = {"effective": (n / lam) ** gamma, "rounds": n, "top": 1.0, "atoms": points - 1}
    bound = bounds.nystrom(1.0, lam=lam, B=1.0, mu=n / points ** (1 / gamma), **terms)
    assert bound.excess == pytest.approx(2 * regret)
    assert bound.ridge + terms["effective"] == pytest.approx(regret)


def test_taylor_features_are_those_of_the_least_degree_that_misses_little():
    ns = np.array([50, 100])
    cost = gaussian(2, ns, (0,))[1].values
    for n, squared in zip(ns, cost, strict=True):
        degree = next(M for M in range(100) if n * poisson.sf(M, 2 / 0.5**2) <= 1 / n)
        assert squared == math.comb(2 + degree, degree) ** 2


def test_what_theory_says_nothing_about_is_left_out():
    ns = np.array([60, 120])
    named = {nu: {m.name for m in polynomial(nu, ns, (0,))} for nu in (0.5, 2.5)}
    assert named[2.5] - named[0.5] == {"PKAWV: regret", "PKAWV: cost"}


# -- streams -----------------------------------------------------------------------------------------------------------
def data(n=300):
    rng = np.random.default_rng(7)
    X = rng.uniform(-1, 1, (n, 2))
    return X, np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)


def test_every_method_has_as_many_settings():
    assert len({len(v["sigma"]) * len(v[m.knob]) for m in METHODS.values() for v in [Size().grid(m.knob)]}) == 1


def test_reported_rows_change_no_choice():
    X, y = data()
    kept = np.random.default_rng(0).permutation(len(y))[: len(y) // 5]
    other = np.roll(y, 1)
    other[kept] = y[kept]
    first, second = (compared(X, labels, SMALL, Setting())[1] for labels in (y, other))
    assert {k: r.setting for k, r in first.items()} == {k: r.setting for k, r in second.items()}
    assert first["PKRR Taylor M = 2"].losses != second["PKRR Taylor M = 2"].losses


def test_the_exact_learner_sees_fewer_rows_and_everyone_the_same_first_ones():
    fixed, tuned = compared(*data(), SMALL, Setting())
    fewer = {name: run.rows for name, run in fixed.items() if run.rows != SMALL.rows}
    assert fewer == {EXACT: SMALL.exact, "Sketched-KONS": SMALL.exact}
    assert fixed[EXACT].early == fixed[EXACT].losses
    assert tuned[EXACT].setting == tuned[FROZEN].setting == tuned["NystromPKRR"].setting
    assert all(len(run.losses) == len(SMALL.seeds) for run in (*fixed.values(), *tuned.values()))


def test_taylor_maps_with_too_many_features_are_left_out():
    X = np.random.default_rng(0).uniform(-1, 1, (60, 18))
    size = Size(20, 10, 10, (0,), (1.0,), (1.0,), (1.0,), 0)
    fixed, _ = compared(X, np.sign(X[:, 0]), size, Setting())
    assert set(METHODS) - set(fixed) == {"PKRR Taylor M = 4"}
    assert METHODS["PKRR Taylor M = 4"].features(18) == 7315 > FEATURES


# -- the adversary -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", contenders(3))
def test_everyone_can_be_played_against(name):
    regret, promise, size = play(contenders(3)[name], 3, seed=0)
    assert regret.shape == (3,)
    assert np.isfinite(regret).all()
    assert size > 0
    if name == "Kernel-AWV":
        assert regret[-1] <= promise


# -- figure 1 ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("gamma", [0.2, GAMMA_MOST, 0.6])
@pytest.mark.parametrize("name", SUMMARY)
def test_the_curve_is_the_minimised_bound(name, gamma):
    """Exponents of the bound at a huge n, minimised over lam by a grid."""
    log_n, a = 4000.0, np.linspace(-3, 1.5, 20_001)
    for size in (0.1, 0.35, 0.7, 0.95):
        mu = 1 - size / gamma
        terms = {
            "Sketched-KONS": [a, 1 - size + gamma * (1 - a)],
            "PROS-N-KONS": [size + a, size + gamma * (1 - a), 1 + mu - a],
            "PKAWV": [a, gamma * (1 - a), size + 1 + mu - a],
            "PKAWV, features beforehand": [a, gamma * (1 - a), 1 + mu - a],
        }[name]
        expected = (np.logaddexp.reduce(np.array(terms) * log_n, axis=0) / log_n).min()
        assert regret_of_size(name, gamma, size) == pytest.approx(min(expected, 1.0), abs=1e-3)
    curve = [regret_of_size(name, gamma, x) for x in np.linspace(0, 1, 1001)]
    size, regret = least(name, gamma)
    assert min(curve) == pytest.approx(regret, abs=2e-3)
    assert regret_of_size(name, gamma, size) == pytest.approx(regret, abs=1e-9)


def test_corollary_7():
    gamma = 0.3
    enough = 2 * gamma / (1 - gamma**2)
    assert regret_of_size("PKAWV", gamma, enough) == pytest.approx(gamma / (1 + gamma))
    assert regret_of_size("PKAWV", gamma, enough - 0.1) == pytest.approx(1 + (enough - 0.1) * (1 / 2 - 1 / (2 * gamma)))
