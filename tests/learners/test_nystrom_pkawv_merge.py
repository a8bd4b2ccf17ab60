"""Models of several streams: equal dictionaries are one pass, different ones the projected model."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from nystream import Gaussian, NystromPKAWV, NystromPKRR
from oracles import nystrom as slow

G = Gaussian(0.7)
POINTS = np.random.default_rng(3).uniform(-1, 1, (25, 3))


def stream(n=300, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    X[n // 3 :: 5] = X[rng.integers(n // 3, size=len(X[n // 3 :: 5]))]  # repeats
    return X, np.sin(3 * X[:, 0]) + X[:, 1] * X[:, -1] + 0.3 * rng.normal(size=n)


def test_merging_equal_dictionaries_equals_one_pass():
    X, y = stream()
    for cls in (NystromPKAWV, NystromPKRR):
        parts = [cls(G, lam=0.1, dictionary=POINTS) for _ in range(4)]
        for part, rows in zip(parts[:3], np.array_split(np.arange(300), 3), strict=True):
            part.run(X[rows], y[rows])
        parts[3].run(X, y)
        merged = parts[2].merge(parts[0].merge(parts[1]))
        assert_allclose(merged.predict(X), parts[3].predict(X), atol=1e-10)
        assert_allclose(merged.missed(), parts[3].missed(), rtol=1e-9)
        assert_array_equal(merged.atoms, POINTS)
        assert merged.n_seen == 300
        assert merged.regret() <= merged.regret_bound()


@pytest.mark.parametrize("most", [None, 20])
def test_merging_different_dictionaries_equals_the_projected_model(most):
    """Rows projected each on the dictionary of its own round and shard, then on the union."""
    X, y = stream(240)
    K, lam, half = oracles.gaussian(X, X, 0.7), 0.1, 120
    left, right = (NystromPKRR(G, lam=lam, mu=1.0, max_atoms=most, seed=s) for s in (1, 2))
    losses = ((left.run(X[:half], y[:half]) - y[:half]) ** 2).sum()
    losses += ((right.run(X[half:], y[half:]) - y[half:]) ** 2).sum()
    sizes, Phi = (left.size, right.size), slow.features(K)
    u = [np.random.default_rng(s).random(half) for s in (1, 2)]
    a = slow.kors_atoms(K[:half, :half], u[0], 1.0)[0][:most]
    b = [half + t for t in slow.kors_atoms(K[half:, half:], u[1], 1.0)[0][:most]]
    A, Bs = slow.independent(K, a), slow.independent(K, b)
    QA, QB = slow.basis(Phi, A), slow.basis(Phi, Bs)
    F = slow.projected_rows(Phi, A, QA) @ QA.T
    F[half:] = (slow.projected_rows(Phi, Bs, QB) @ QB.T)[half:]
    room = None if most is None else most - len(a)
    union = slow.independent(K, a + b[:room])
    Q = slow.basis(Phi, union)
    Z = F @ Q
    w = np.linalg.solve(lam * np.eye(len(union)) + Z.T @ Z, Z.T @ y)
    left.merge(right)
    assert_array_equal(left.atoms, X[union])
    assert_allclose(left.predict(X), Phi @ Q @ w, atol=1e-8)
    assert_allclose(left.missed(), (K.diagonal() - (Z * Z).sum(1)).sum(), rtol=1e-6)
    best = ((y - Z @ w) ** 2).sum() + lam * w @ w
    assert_allclose(left.regret(), losses - best, rtol=1e-7)
    assert left.regret() <= left.regret_bound()
    assert left.size < sum(sizes)
    assert np.isfinite(left.run(X, y)).all()


def test_merging_takes_every_atom_of_the_other_whatever_the_rule():
    """By "ald" alone, atoms near the span would not enter, and what the rows have along them would be lost."""
    X, y = stream(240)
    K, half = oracles.gaussian(X, X, 0.7), 120
    left, right = (NystromPKRR(G, lam=0.1, dictionary="ald", nu=0.1) for _ in range(2))
    left.run(X[:half], y[:half])
    right.run(X[half:], y[half:])
    missed = left.missed() + right.missed()
    A, B = slow.independent(K, range(half), 0.1), slow.independent(K, range(half, 240), 0.1)
    Phi = slow.features(K)
    QA, QB, Q = (slow.basis(Phi, atoms) for atoms in (A, B, slow.independent(K, A + B)))
    F = slow.projected_rows(Phi, A, QA) @ QA.T
    F[half:] = (slow.projected_rows(Phi, B, QB) @ QB.T)[half:]
    w = np.linalg.solve(0.1 * np.eye(240) + F.T @ F, F.T @ y)
    left.merge(right)
    assert left.size == Q.shape[1] > len(A)
    assert_allclose(left.predict(X), Phi @ Q @ Q.T @ w, atol=1e-8)
    assert_allclose(left.missed(), missed, rtol=1e-9)


def test_merging_streams_of_the_same_points_skips_the_dependent_atoms():
    X, y = stream(100)
    left, right = NystromPKAWV(G, mu=0.3, seed=0), NystromPKAWV(G, mu=0.3, seed=0)
    left.run(X, y)
    right.run(X, -y)
    size = left.size
    left.merge(right)
    assert left.size == size
    assert_allclose(NystromPKRR.predict(left, X), 0.0, atol=1e-9)  # labels cancel
    fresh = NystromPKAWV(G, mu=0.3, seed=4).merge(right)
    assert_array_equal(fresh.merge(NystromPKAWV(G, mu=0.3)).predict(X), right.predict(X))


def test_merging_refuses_what_does_not_fit():
    X, y = stream(30)
    model = NystromPKAWV(G)
    model.run(X, y)
    for other in (NystromPKAWV(G, lam=2.0), NystromPKAWV(G, dictionary="ald"), NystromPKRR(G)):
        with pytest.raises(ValueError, match="equal parameters"):
            model.merge(other)
    wide = NystromPKAWV(G)
    wide.run(X[:, :2], y)
    with pytest.raises(ValueError, match="equal columns and outputs"):
        model.merge(wide)
    with pytest.raises(TypeError, match="memory='frozen'"):
        NystromPKAWV(G, memory="exact").merge(NystromPKAWV(G, memory="exact"))
