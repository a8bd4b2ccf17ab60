"""Bounds against every function of the kernel's space: their prices, the theorems of the papers, and refusals."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import nystream
from nystream import (
    AIOLI,
    GAF,
    KONS,
    ONS,
    PKAWV,
    PKRR,
    Aggregate,
    Fourier,
    Gaussian,
    KernelAWV,
    Nystrom,
    ProsNKons,
    SketchedKONS,
    Taylor,
)
from nystream.evaluate import Hindsight, bounds
from nystream.learners.bounds import fixed_price, moving_price
from nystream.learners.nystrom_pkawv import NystromPKAWV

G = Gaussian(0.7)
N = 60


def stream(seed=0, n=N):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    return X, np.tanh(np.sin(4 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=n))


def test_the_price_of_a_fixed_projection_is_met_by_no_projection():
    """On random projections and labels the best in hindsight rises by at most the price, and by a large part of it."""
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(300):
        n, r = 12, int(rng.integers(1, 12))
        Phi = rng.normal(size=(n, n)) * 10.0 ** rng.uniform(-2, 1)
        Q = np.linalg.qr(rng.normal(size=(n, r)))[0]
        lam, y = 10.0 ** rng.uniform(-3, 1), rng.normal(size=n)
        inside = Phi @ Q @ Q.T

        def best(F, lam=lam, y=y):
            return lam * y @ np.linalg.solve(F @ F.T + lam * np.eye(len(y)), y)

        gap, missed = best(inside) - best(Phi), float(np.sum((Phi - inside) ** 2))
        price = fixed_price(float(y @ y), missed, lam)
        assert gap <= price * (1 + 1e-9)
        worst = max(worst, gap / price)
        moving = Phi * rng.uniform(0, 1, (n, 1))  # no projection common to all rows
        missed = float(np.sum((Phi - moving) ** 2))
        assert best(moving) - best(Phi) <= moving_price(float(y @ y), missed, lam) * (1 + 1e-9)
    assert worst > 0.3


def test_the_price_of_theorem_3_is_never_smaller():
    for mu in 10.0 ** np.arange(-8, 4):
        for lam in (1e-3, 1.0, 50.0):
            assert fixed_price(7.0, mu, lam) <= 7.0 * mu * (mu + lam) / lam**2


@pytest.mark.parametrize("degree", [1, 3])
def test_the_live_bound_lies_between_the_regret_and_theorem_3(degree):
    X, y = stream()
    learner = PKAWV(Taylor(G, degree=degree), lam=0.2)
    p = learner.run(X, y)
    for lam in (0.01, 0.2, 5.0):
        f = Hindsight(G, X).best(y, lam=lam)
        mine, theirs = learner.bound_terms(f.norm2, against="kernel"), learner.published_bound(f.norm2)
        assert f.regret(p) <= mine.total <= theirs.total
        missed = {"residual": learner.features_.missed, "rounds": N, "dimension": learner.log_det()}
        again = bounds.fixed_features(f.norm2, lam=0.2, B=float(np.abs(y).max()), **missed)
        assert_allclose(theirs, again, rtol=1e-12)
    assert learner.regret_bound(against="kernel") > learner.regret_bound()


def test_against_the_features_alone_the_bound_is_exceeded_by_functions_of_the_kernel():
    """Why `against` is there: coarse features, a wavy target, and a bound that says nothing about it."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 1))
    y = np.sign(np.sin(12 * X[:, 0]))
    learner = PKAWV(Taylor(Gaussian(0.3), degree=1), lam=0.01)
    p = learner.run(X, y)
    charged = Hindsight(Gaussian(0.3), X).best(y, lam=0.01).charged_regret(p)
    assert charged > 2 * learner.regret_bound()
    assert charged <= learner.regret_bound(against="kernel")


def test_theorem_4_needs_its_degree_and_then_costs_half_as_much_again():
    X, y = stream()
    low = PKAWV(Taylor(G, degree=6), lam=0.2)
    low.run(X, y)
    with pytest.raises(ValueError, match="needs a degree of at least 33"):
        low.published_bound(1.0, radius=math.sqrt(2))
    high = PKAWV(Taylor(G, degree=33), lam=0.2)
    p = high.run(X, y)
    f = Hindsight(G, X).best(y, lam=0.2)
    terms = high.published_bound(f.norm2, radius=math.sqrt(2))
    exact = bounds.taylor(f.norm2, lam=0.2, B=float(np.abs(y).max()), log_det=Hindsight(G, X).log_det(0.2))
    assert f.regret(p) <= terms.total
    assert_allclose(terms, exact, rtol=1e-8)
    with pytest.raises(ValueError, match="Theorem 4 is about Taylor"):
        ran(PKAWV(Nystrom(G, X[:5]))).published_bound(1.0, radius=1.0)


def test_theorem_6_names_the_conditions_that_do_not_hold():
    X, y = stream()
    loose = NystromPKAWV(G, lam=0.2, seed=0)
    loose.run(X, y)
    with pytest.raises(ValueError, match=r"memory='exact', beta of at least 85\.08 for 60 rows"):
        loose.published_bound(1.0)
    beta = 12 * math.log(N / 0.05)
    learner = NystromPKAWV(G, lam=0.2, mu=0.2e-3, beta=beta, memory="exact", seed=0)
    p = learner.run(X, y)
    f = Hindsight(G, X).best(y, lam=0.2)
    terms, d_eff = learner.published_bound(f.norm2), Hindsight(G, X).effective_dimension(0.2)
    exact = bounds.nystrom(
        f.norm2,
        lam=0.2,
        B=float(np.abs(y).max()),
        effective=d_eff,
        rounds=N,
        top=1.0,
        atoms=learner.size,
        mu=0.2e-3,
    )
    assert f.regret(p) <= learner.bound_terms(f.norm2, against="kernel").total <= terms.total
    assert exact.total <= terms.total * (1 + 1e-9)
    assert_allclose(terms.total, exact.total, rtol=0.05)


@pytest.mark.parametrize("learner", [ONS(Fourier(G, 20, seed=0)), PKAWV(Fourier(G, 20, seed=0))])
def test_random_features_have_no_bound_against_the_kernel(learner):
    with pytest.raises(ValueError, match="Fourier features are not a projection of the kernel's space"):
        ran(learner).regret_bound(1.0, against="kernel")
    assert math.isfinite(learner.regret_bound(1.0, against="features"))


def test_an_unknown_comparator_is_refused_and_learners_of_learners_say_whom_they_follow():
    for learner in (PKAWV(Taylor(G, degree=2)), KONS(G), ProsNKons(G), KernelAWV(G), ONS()):
        with pytest.raises(ValueError, match="against must be one of 'features', 'kernel'; got 'everybody'"):
            ran(learner).regret_bound(1.0, against="everybody")
    with pytest.raises(ValueError, match="against the learners that it combines"):
        ran(Aggregate([KernelAWV(G)], bound=1.0)).regret_bound(against="kernel")


def test_exact_kernels_compare_with_all_functions_anyway():
    for learner in (KernelAWV(G, lam=0.2), KONS(G)):
        ran(learner)
        assert learner.regret_bound(2.0, against="kernel") == learner.regret_bound(2.0)


@pytest.mark.parametrize("make", [lambda: KONS(G), lambda: ONS(), lambda: ProsNKons(G, seed=0)])
def test_a_label_beyond_the_clip_voids_the_bound_for_good_and_in_the_file_too(make):
    X, y = stream()
    learner = make()
    learner.run(X, y)
    assert math.isfinite(learner.regret_bound(1.0))
    with pytest.warns(UserWarning, match="guarantee is void"):
        learner.step(X[0], 1.5)
    assert learner.regret_bound(1.0) == learner.bound_terms(1.0).total == math.inf
    twin = nystream.from_bytes(nystream.to_bytes(learner))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it warns once in its life
        twin.run(X, 3 * y)
    assert twin.regret_bound(1.0) == math.inf
    assert math.isfinite(learner.clone().regret_bound(1.0))


def test_a_failed_block_leaves_the_guarantee_as_it_was():
    class Moody(Gaussian):
        fails = False

        def __call__(self, X, Y):
            if Moody.fails and len(X) > 1:
                raise RuntimeError("not now")
            return super().__call__(X, Y)

        compiled = None

    X, y = stream()
    learner = KONS(Moody(0.7))
    learner.run(X, y)
    Moody.fails = True
    with pytest.warns(UserWarning, match="void"), pytest.raises(RuntimeError, match="not now"):
        learner.run(X, 5 * y)
    assert math.isfinite(learner.regret_bound(1.0))


def test_what_the_features_miss_is_counted_with_weights_pooled_and_taken_out():
    X, y = stream()
    w = np.random.default_rng(1).uniform(0.1, 2, N)
    for features in (Taylor(G, degree=2), Nystrom(G, X[:6])):
        whole, left, right = (PKRR(features, lam=0.1) for _ in range(3))
        whole.run(X, y, w)
        exact = float(w @ (1 - np.sum(whole.features_.transform(X) ** 2, axis=1)))
        assert_allclose(whole.features_.missed, exact, rtol=1e-10)
        left.run(X[:30], y[:30], w[:30])
        for t in range(30, N):
            right.step(X[t], y[t], float(w[t]))
        assert_allclose(left.merge(right).features_.missed, exact, rtol=1e-10)
        left.unlearn(X[30:], y[30:], w[30:])
        alone = PKRR(features, lam=0.1)
        alone.run(X[:30], y[:30], w[:30])
        assert_allclose(left.features_.missed, alone.features_.missed, rtol=1e-8)


@pytest.mark.parametrize("dictionary", ["kors", "ald", "given"])
def test_single_rows_with_weights_pay_for_what_the_dictionary_misses(dictionary):
    """The dictionary has one atom and heavy rows lie far from it, so that most of the regret is this price."""
    rows = {"dictionary": np.zeros((1, 2)) if dictionary == "given" else dictionary, "max_atoms": 1, "seed": 0}
    X, y, w = np.array([[0.0, 0.0], [9.0, 9.0], [9.0, 9.0]]), np.array([1.0, -1.0, -1.0]), np.array([1.0, 1e4, 1e4])
    for memory in ("frozen", "exact"):
        learner = NystromPKAWV(G, lam=0.1, memory=memory, **rows)
        p = np.array([learner.step(*row) for row in zip(X, y, w.tolist(), strict=True)])
        K = np.sqrt(w)[:, None] * G(X, X) * np.sqrt(w)
        best = 0.1 * (np.sqrt(w) * y) @ np.linalg.solve(K + 0.1 * np.eye(3), np.sqrt(w) * y)
        assert_allclose(learner.missed(), 2e4, rtol=1e-9)
        assert 1e4 < float(w @ (p - y) ** 2) - best <= learner.regret_bound(against="kernel")


def test_the_theorems_are_refused_for_weighted_merged_clipped_and_unlearnt_rows():
    X, y = stream()
    features, beta = Taylor(G, degree=3), 12 * math.log(N / 0.05) + 1
    exact = NystromPKAWV(G, lam=0.2, mu=0.2e-3, beta=beta, memory="exact", seed=0)
    wrong = [ran(PKAWV(features, clip=2.0)), ran(PKAWV(features)).merge(ran(PKAWV(features)))]
    wrong.append(ran(PKAWV(features)).unlearn(X[:1], y[:1]))
    for learner in (PKAWV(features), exact):
        learner.run(X, y, np.linspace(0.5, 1.5, N))
        wrong.append(learner)
    for learner in wrong:
        with pytest.raises(ValueError, match=r"weight 1.*see bound_terms"):
            learner.published_bound(1.0)
    assert ran(PKAWV(features)).published_bound(1.0).total > 0


def test_theorem_6_takes_the_largest_of_the_kernel_from_the_rows():
    beta = 12 * math.log(N / 0.05)
    one, many = (NystromPKAWV(c * G, lam=0.2 * c, mu=0.2e-3 * c, beta=beta, memory="exact", seed=0) for c in (1, 50))
    assert_allclose(ran(one).published_bound(1.0).total, ran(many).published_bound(1.0 / 50).total, rtol=1e-9)


def test_theorem_4_is_about_the_ridge_in_units_of_the_kernel():
    for factor, needed in ((1.0, 33), (100.0, 33)):
        learner = ran(PKAWV(Taylor(factor * G, degree=3), lam=0.2 * factor))
        with pytest.raises(ValueError, match=f"needs a degree of at least {needed}"):
            learner.published_bound(1.0, radius=math.sqrt(2))
    learner = ran(PKAWV(Taylor(1e9 * G, degree=3), lam=0.2))
    with pytest.raises(ValueError, match="needs a degree of at least 53"):
        learner.published_bound(1.0, radius=math.sqrt(2))


@pytest.mark.parametrize(
    "learner",
    [
        PKAWV(Taylor(G, degree=2)),
        NystromPKAWV(G, seed=0),
        KernelAWV(G),
        ONS(Taylor(G, degree=2)),
        KONS(G),
        ProsNKons(G, seed=0),
        AIOLI(Taylor(G, degree=2)),
        GAF(Taylor(G, degree=2)),
    ],
    ids=lambda learner: type(learner).__name__,
)
@pytest.mark.parametrize("norm2", [-1e-30, -1.0, math.nan, math.inf, "1"])
def test_a_squared_norm_is_a_number_of_at_least_0(learner, norm2):
    y = np.resize([0.0, 1.0] if learner.labels == "class" else [-1.0, 1.0], 5)
    learnt = learner.clone()
    learnt.run(np.ones((5, 2)), y)
    for model in (learner, learnt):
        for call in ("bound_terms", "published_bound", "loss_bound"):
            if hasattr(model, call):
                with pytest.raises(ValueError, match=r"norm2 must be a number at least 0|see bound_terms"):
                    getattr(model, call)(*((1.0,) if call == "loss_bound" else ()), norm2)


@pytest.mark.parametrize("learner", [KONS(G), SketchedKONS(G, seed=0)], ids=lambda learner: type(learner).__name__)
def test_learners_in_the_kernel_itself_have_one_bound_for_both_comparators(learner):
    X, y = stream()
    learner = learner.clone()
    learner.run(X, y)
    assert learner.bound_terms(1.0, against="kernel") == learner.bound_terms(1.0, against="features")
    assert learner.regret_bound(1.0, against="kernel") == learner.bound_terms(1.0).total
    with pytest.raises(ValueError, match="against"):
        learner.bound_terms(1.0, against="labels")


def test_rows_that_a_map_was_fitted_on_are_not_rows_of_the_learner():
    X, y = stream()
    learner = PKAWV(Taylor(G, degree=2).fit(X))
    learner.run(X[:10], y[:10])
    assert_allclose(learner.features_.missed, learner.features_.tail(X[:10]).sum(), rtol=1e-12)


def ran(learner):
    X, y = stream()
    learner.run(X, y)
    return learner
