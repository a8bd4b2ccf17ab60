"""Second-order learners on streams that break them. The long version is benchmarks/accuracy/hard_streams.py."""

from __future__ import annotations

import numpy as np
import pytest
from hard_cases import CASES, KERNELS, labels, one_point, play, streams

from nystream import KRLS, SketchedKONS

ROUNDS = 150
REFUSE = {"KernelAWV", "KernelRidge clipped"}
"""Exact least squares says so where the ridge is below 1e-12 k(x, x)."""


@pytest.mark.parametrize("name", CASES)
def test_hard_streams_leave_positive_pivots_and_finite_numbers(name):
    case = CASES[name]
    for label, kernel, lam, rows, wild in streams(case):
        rng = np.random.default_rng(0)
        X, y = rows(rng, ROUNDS), labels(rng, ROUNDS, wild)
        outcome = play(case, KERNELS[kernel], lam, X, y, looks=2)
        assert not outcome.broken, f"{label}: {outcome}"
        if outcome.refused:
            assert name in REFUSE, f"{label}: {outcome}"
            assert "is below 1e-12 k(x, x)" in outcome.refused
        else:
            assert outcome.rounds == ROUNDS


def test_the_checks_see_a_broken_state():
    case = CASES["ONS"]
    learner = case.make(KERNELS["linear"], 1.0)

    class Broken(type(learner)):
        def run(self, X, y):
            p = super().run(X, y)
            self.solver_.metric_.dinv_[0] *= -1
            return p

    class Silent(type(learner)):
        def run(self, X, y):
            p = super().run(X, y)
            self.solver_.meter_[0] = np.nan
            return p

    rng = np.random.default_rng(0)
    X, y = one_point(rng, 20), labels(rng, 20, False)
    for kind in (Broken, Silent):
        spoilt = type(case)(lambda kernel, lam, kind=kind: kind(lam=lam))
        assert play(spoilt, KERNELS["linear"], 1.0, X, y).broken
    assert not play(case, KERNELS["linear"], 1.0, X, y).broken


def test_a_sketch_of_one_repeated_point_stays_small():
    """Its metric: with gamma = 0 it grows like log t. The function keeps every point that had a gradient."""
    X, y = one_point(np.random.default_rng(0), 4000), np.resize([0.0, 1.0, -1.0, 0.3], 4000)
    learner, sizes = SketchedKONS(KERNELS["gaussian"], gamma=0.0, seed=0), []
    for part in np.split(np.arange(4000), 4):
        learner.run(X[part], y[part])
        sizes.append(learner.sketch_size)
    assert sizes[-1] < 25
    assert sizes[-1] - sizes[0] < 8
    assert learner.nbytes < 1_500_000


def test_krls_knows_a_point_it_has():
    X, y = one_point(np.random.default_rng(0), 2000), np.resize([0.5, -0.5], 2000)
    learner = KRLS(KERNELS["gaussian"])
    learner.run(X, y)
    assert learner.size == 1
