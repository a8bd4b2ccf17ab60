"""KRLS against least squares from scratch, the published recursion, golden values, and its ridge sibling."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from nystream import KRLS, Gaussian, Linear, NystromPKRR
from oracles import nystrom as slow

G = Gaussian(0.7)


def stream(n=300, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    X[n // 3 :: 5] = X[rng.integers(n // 3, size=len(X[n // 3 :: 5]))]  # repeats
    return X, np.sin(3 * X[:, 0]) + X[:, 1] * X[:, -1] + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize("rounds", ["run", "step"])
def test_golden_values(rounds):
    X, y, _ = oracles.golden_stream()
    learner = KRLS(Gaussian(0.3), nu=0.1)
    p = learner.run(X, y) if rounds == "run" else np.array([learner.step(x, v) for x, v in zip(X, y, strict=True)])
    assert_allclose(((p - y) ** 2).sum(), 5.6080661037, atol=6e-11)
    assert learner.size == 41


@pytest.mark.parametrize("size", [1, 7, 300])
def test_predictions_equal_the_published_recursion(size, capsys):
    X, y = stream()
    worst = 0.0
    for nu in (0.3, 0.1, 0.03):
        expected, atoms = slow.krls(X, y, G, nu)
        learner = KRLS(G, nu=nu)
        got = np.concatenate([learner.run(X[i : i + size], y[i : i + size]) for i in range(0, 300, size)])
        assert_array_equal(learner.atoms, atoms)
        worst = max(worst, np.abs(got - expected).max())
    with capsys.disabled():
        print(f"  largest difference to the published recursion (blocks of {size}): {worst:.1e}")
    assert worst < 1e-8


@pytest.mark.parametrize("nu", [0.1, 1e-3])
def test_the_model_is_least_squares_on_combinations_of_atoms(nu):
    """Each row counts as its nearest combination of the atoms of its round; solved from scratch."""
    X, y = stream(150)
    K = oracles.gaussian(X, X, 0.7)
    atoms = slow.independent(K, range(150), nu)
    A = np.zeros((150, len(atoms)))
    for t in range(150):
        known = atoms[: np.searchsorted(atoms, t, side="right")]
        A[t, : len(known)] = np.linalg.solve(K[np.ix_(known, known)], K[known, t])
    w = np.linalg.lstsq(A, y, rcond=None)[0]
    learner = KRLS(G, nu=nu)
    learner.run(X, y)
    assert_allclose(learner.predict(X[atoms]), w, atol=1e-7)


def test_with_a_ridge_it_is_frozen_ridge_regression_with_the_same_dictionary():
    """Predictions of ridge do not depend on whether the atom is added before or after: its new weight is 0."""
    X, y = stream()
    K = oracles.gaussian(X, X, 0.7)
    atoms = slow.independent(K, range(300), 0.1)
    expected = slow.frozen(K, y, atoms, 1e-6)[0]
    ridge = NystromPKRR(G, lam=1e-6, dictionary="ald", nu=0.1)
    assert_allclose(ridge.run(X, y), expected, atol=1e-7)
    bare = KRLS(G, nu=0.1)
    assert_allclose(bare.run(X, y), expected, atol=1e-3)  # the ridge is all that is between them
    assert_array_equal(bare.atoms, ridge.atoms)


def test_predict_is_what_step_will_say():
    X, y = stream(150)
    learner = KRLS(G, nu=0.05)
    for x, v in zip(X, y.tolist(), strict=True):
        expected = learner.predict(np.vstack([x, -x]))[0]
        assert_allclose(learner.step(x, v), expected, rtol=1e-9, atol=1e-12)


def test_a_new_atom_fits_its_label():
    learner = KRLS(G, nu=0.1)
    X, y = np.array([[0.0], [5.0], [-5.0]]), np.array([1.0, -2.0, 3.0])
    learner.run(X, y)
    assert learner.size == 3
    assert_allclose(learner.predict(X), y, atol=1e-12)


def test_nu_is_relative_to_the_kernel():
    X, y = stream()
    one, two = KRLS(G, nu=0.1), KRLS(100.0 * G, nu=0.1)
    assert_allclose(one.run(X, y), two.run(X, y), atol=1e-9)
    assert_array_equal(one.atoms, two.atoms)


def test_several_outputs_and_late_ones():
    X, y = stream()
    Y = np.column_stack([y, np.ones(300)])
    late, known = KRLS(G), KRLS(G)
    P = late.run(X[:150], Y[:150])
    assert_allclose(P[:, 0], KRLS(G).run(X[:150], y[:150]), atol=1e-12)
    late.add_outputs(np.array([[0.0], [-1.0]]))
    wide = np.column_stack([Y, -np.ones(300)])
    known.run(X[:150], wide[:150])
    assert_allclose(late.run(X[150:], wide[150:]), known.run(X[150:], wide[150:]), atol=1e-9)


@pytest.mark.parametrize(
    ("X", "kernel", "nu"),
    [
        (np.tile([[0.3, -0.2]], (100_000, 1)), G, 1e-9),
        (np.eye(2)[np.arange(20_000) % 2] + 1e-9 * np.arange(40_000).reshape(-1, 2) / 4e4, G, 1e-6),
        (1e6 * np.random.default_rng(0).normal(size=(2_000, 2)), G, 0.1),
        (1e6 * np.random.default_rng(0).normal(size=(2_000, 2)), Linear(), 0.1),
        (np.where(np.arange(3_000)[:, None] % 3, 0.0, 1.0) * np.ones((3_000, 2)), Linear(), 0.1),
    ],
    ids=["one point", "near duplicates", "far", "far linear", "no feature"],
)
def test_hard_streams_leave_positive_pivots_and_finite_predictions(X, kernel, nu):
    learner = KRLS(kernel, nu=nu, max_atoms=200)
    y = np.resize([0.0, 1.0, -1.0], len(X))
    assert np.isfinite(learner.run(X, y)).all()
    assert learner.solver_.pivots.min() >= 1


def test_more_columns_of_zeros_change_nothing():
    X, y = stream()
    wide = np.hstack([X, np.zeros((300, 2))])
    learner, other = KRLS(G), KRLS(G)
    learner.run(X[:150], y[:150])
    learner.widen(5)
    other.run(wide[:150], y[:150])
    assert_allclose(learner.run(wide[150:], y[150:]), other.run(wide[150:], y[150:]), atol=1e-10)


def test_bad_parameters_are_refused_at_once():
    for settings, message in (({"nu": 0.0}, "nu must be"), ({"max_atoms": 0}, "max_atoms must be")):
        with pytest.raises(ValueError, match=message):
            KRLS(G, **settings)
    with pytest.raises(TypeError, match="cannot merge"):
        KRLS(G).merge(KRLS(G))
