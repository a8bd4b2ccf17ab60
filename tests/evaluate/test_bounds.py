"""The bounds, term by term, against what learners deliver on hostile streams; the whole table is a benchmark."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nystream import KONS, ONS, PKAWV, Gaussian, KernelAWV, KernelRidge, SketchedONS, Taylor
from nystream.evaluate import Hindsight, bounds
from nystream.learners.nystrom_pkawv import NystromPKAWV

G = Gaussian(0.7)
LAM = 0.2
N = 80


def streams():
    """Inputs and labels in [-1, 1]: random, one point with alternating labels, a function that changes sign."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (N, 2))
    f = np.sign(np.sin(3 * X[:, 0]) + X[:, 1])
    yield X, rng.choice([-1.0, 1.0], N)
    yield np.repeat(X[:1], N, axis=0), np.resize([-1.0, 1.0], N)
    yield X, f * np.where(np.arange(N) // 20 % 2, 1.0, -1.0)
    yield X, np.tanh(2 * f + rng.normal(size=N))


def comparators(source, X, y, clip=None):
    known = Hindsight(source, X)
    return [known.best(y, lam=lam, clip=clip) for lam in (0.01, LAM, 5.0, 1e6)]


def check(cases):
    """Pairs (regret, bound): no bound is exceeded, and some regret is really there."""
    pairs = np.array(list(cases))
    assert (pairs[:, 0] <= pairs[:, 1] * (1 + 1e-12)).all()
    return float((pairs[:, 0] / pairs[:, 1]).max())


def test_awv_and_clipped_ridge_keep_their_bounds_against_every_function():
    def cases(make, bound):
        for X, y in streams():
            learner, d_onl = make(), Hindsight(G, X).online_dimension(LAM)
            p = learner.run(X, y)
            for f in comparators(G, X, y):
                yield f.regret(p), bound(f.norm2, lam=LAM, B=1.0, dimension=d_onl).total

    assert check(cases(lambda: KernelAWV(G, lam=LAM), bounds.awv)) > 0.9
    assert check(cases(lambda: KernelRidge(G, lam=LAM, clip=1.0), bounds.clipped_ridge)) > 0.2


def test_features_fixed_beforehand_keep_their_bound_against_the_kernel_they_stand_for():
    def cases():
        for X, y in streams():
            for degree in (1, 3, 6):
                learner = PKAWV(Taylor(G, degree=degree), lam=LAM)
                p = learner.run(X, y)
                mu = Hindsight(learner.features_, X).residual(G)
                terms = {"dimension": learner.online_dimension(), "rounds": N, "residual": mu}
                for f in comparators(G, X, y):
                    yield f.regret(p), bounds.fixed_features(f.norm2, lam=LAM, B=1.0, **terms).total

    assert check(cases()) > 0.5


def test_taylor_features_of_theory_s_degree_cost_half_as_much_again():
    degree = bounds.taylor_degree(N, lam=LAM, radius=math.sqrt(2), sigma=0.7)
    assert degree == 33

    def cases():
        for X, y in streams():
            p = PKAWV(Taylor(G, degree=degree), lam=LAM).run(X, y)
            log_det = Hindsight(G, X).log_det(LAM)
            for f in comparators(G, X, y):
                yield f.regret(p), bounds.taylor(f.norm2, lam=LAM, B=1.0, log_det=log_det).total

    assert check(cases()) > 0.3


def test_a_frozen_dictionary_keeps_its_bound_against_every_function():
    def cases():
        for seed, (X, y) in enumerate(streams()):
            learner = NystromPKAWV(G, lam=LAM, mu=1.0, seed=seed)
            p = learner.run(X, y)
            terms = {"dimension": learner.online_dimension(), "missed": learner.missed()}
            for f in comparators(G, X, y):
                yield f.regret(p), bounds.frozen_nystrom(f.norm2, lam=LAM, B=1.0, loss=f.total, **terms).total

    assert check(cases()) > 0.5


def test_newton_steps_keep_their_sharp_bound_sketched_or_not():
    features = Taylor(G, degree=3)

    def cases(make):
        for X, y in streams():
            learner = make()
            p = learner.run(X, y)
            for f in comparators(features, X, y, clip=1.0):
                yield f.regret(p), learner.regret_bound(f.norm2)

    assert check(cases(lambda: ONS(features, lam=LAM))) > 0.8
    assert check(cases(lambda: SketchedONS(features, lam=LAM, sketch=3))) > 0.5


def test_the_published_bound_of_kons_is_at_least_twice_the_sharp_one():
    for loss in ("squared", "absolute"):
        for X, y in streams():
            learner = KONS(G, lam=LAM, loss=loss, clip=1.2)
            p = learner.run(X, y)
            steps = learner._steps.at(np.arange(1, N + 1))
            terms = {"sigma": learner._steps.sigma, "clip": 1.2, "lipschitz": learner._loss.lipschitz(1.2)}
            for f in comparators(G, X, y, clip=1.2):
                published = bounds.kons(f.norm2, lam=LAM, dimension=learner.online_dimension(), eta=steps, **terms)
                sharp = learner.bound_terms(f.norm2)
                assert_allclose(published, learner.published_bound(f.norm2), rtol=1e-12, atol=1e-12)
                regret = float(np.sum(learner._loss.value(y, p) - learner._loss.value(y, f.values)))
                assert regret <= sharp.total <= 0.5 * published.total * (1 + 1e-9)
                again = bounds.newton(f.norm2, lam=LAM, gradients=2 * sharp.dimension, excess=2 * sharp.excess)
                assert_allclose(again, sharp, rtol=1e-12, atol=1e-12)


def test_the_dimensions_are_ordered():
    for X, _ in streams():
        known = Hindsight(G, X)
        for lam in (0.01, 1.0, 30.0):
            ceiling = bounds.a_priori(known.effective_dimension(lam), ridge=lam, top=known.top)
            assert known.online_dimension(lam) <= known.log_det(lam) <= ceiling
            assert known.log_det(lam) <= known.effective_dimension(lam) * math.log(math.e + math.e * N / lam)


@pytest.mark.parametrize("rounds", [1, 1000])
def test_bounds_with_sampling_have_the_terms_of_their_theorems(rounds):
    terms = bounds.sketched_kons(
        2.0, lam=0.5, effective=3.0, rounds=rounds, sigma=0.1, lipschitz=2.0, eps=0.5, least=0.2
    )
    growth = max(math.log(2 * 0.1 * 4 * rounds / 0.5), 1.0)
    assert_allclose(terms, [1.0, 2 * 3 * growth / (0.5 * 0.1 * 0.2), 0.0])
    terms = bounds.nystrom(2.0, lam=0.5, B=3.0, effective=4.0, rounds=rounds, top=1.0, atoms=9, mu=1e-3)
    assert_allclose(terms, [1.0, 36 * (1 + math.log(1 + rounds / 0.5)), 2 * 9 * 10 * rounds * 1e-3 / 0.5])
    assert_allclose(terms.total, sum(terms))
