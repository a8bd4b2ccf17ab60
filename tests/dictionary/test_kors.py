"""KORS: scores against dense solves, golden values, blocks, guarantees, shrinking and merging."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from nystream import persist
from nystream.dictionary import KORS, theory_beta
from nystream.kernels import Gaussian, Linear, Polynomial
from oracles.newton import feature_rows, kors


def started(kernel, ridge, d, **params):
    dictionary = KORS(kernel, ridge, **params)
    dictionary.start(d)
    return dictionary


def stream(n=300, d=2, seed=0):
    """Points with repeats, scales of both signs with zeros among them, uniforms."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    X[n // 2 :: 4] = X[: len(X[n // 2 :: 4])]
    c = rng.normal(size=n)
    c[::17] = 0.0
    return X, c, rng.random(n)


def by_steps(dictionary, X, u, c):
    tau, p, kept = zip(*[dictionary.step(*row) for row in zip(X, u, c, strict=True)], strict=True)
    return np.array(tau), np.array(p), np.array(kept)


def test_golden_values():
    X, _, _ = oracles.golden_stream()
    u = oracles.golden_uniforms()
    for learn in (lambda k: k.run(X, u), lambda k: by_steps(k, X, u, np.ones(50))):
        dictionary = started(Gaussian(0.3), 0.5, 2)
        tau, p, kept = learn(dictionary)
        assert dictionary.n == kept.sum() == 38
        assert_allclose([tau[-1], p.sum()], [0.6406876240, 38.7316158102], atol=5e-11)


@pytest.mark.parametrize("beta", [0.5, 3.0, math.inf])
@pytest.mark.parametrize("ridge", [1.0, 1e-3])
def test_scores_equal_dense_solves_and_coins_fall_alike(beta, ridge):
    X, c, u = stream()
    Z = feature_rows(oracles.gaussian(X, X, 0.5))
    tau, p, kept = kors(Z, u, ridge, beta=beta if beta < math.inf else 1e300, c=c)
    for learn in (KORS.run, by_steps):
        dictionary = started(Gaussian(0.5), ridge, 2, beta=beta)
        got = learn(dictionary, X, u, c)
        assert_allclose(got[0], tau, atol=1e-10)
        assert_allclose(got[1], p, atol=1e-9 if beta < math.inf else 0)
        assert_array_equal(got[2], kept)
        assert np.all((tau[c != 0] > 0) & (tau[c != 0] < 1.5))
        assert_array_equal(tau[c == 0], 0.0)
        assert_array_equal(dictionary.points, X[kept])
        assert_allclose(dictionary.odds, p[kept], atol=1e-9)
        assert_allclose(dictionary.factor_.scale, c[kept] / np.sqrt(p[kept]), rtol=1e-7)


def test_blocks_of_any_size_equal_single_rounds():
    X, c, u = stream()
    expected = by_steps(started(Gaussian(0.5), 0.1, 2), X, u, c)
    for size in (1, 7, 128, 300):
        dictionary = started(Gaussian(0.5), 0.1, 2)
        parts = [dictionary.run(X[i : i + size], u[i : i + size], c[i : i + size]) for i in range(0, 300, size)]
        for got, wanted in zip(zip(*parts, strict=True), expected, strict=True):
            assert_allclose(np.concatenate(got), wanted, atol=1e-11)


def test_scores_brought_up_to_date_equal_fresh_ones():
    X, c, _ = stream()
    dictionary = started(Gaussian(0.5), 0.3, 2, beta=2.0)
    rest = dictionary.scores(X[10:], c[10:])
    for t in range(1, 10):
        score = dictionary.scores(X[t : t + 1], c[t : t + 1])
        row = dictionary.append(X[t], c[t], 0.4, score.T[0])
        assert_allclose(row, dictionary.factor_.matrix[-1], atol=1e-12)
        rest = dictionary.extended(rest, X[10:], row, c[10:])
        for got, wanted in zip(rest, dictionary.scores(X[10:], c[10:]), strict=True):
            assert_allclose(got, wanted, atol=1e-10)


def test_a_full_dictionary_keeps_nothing_more():
    X, c, u = stream()
    free, full = started(Gaussian(0.5), 0.1, 2), started(Gaussian(0.5), 0.1, 2, max_atoms=20)
    free.run(X, u, c)
    tau, p, kept = full.run(X, u, c)
    assert free.n > full.n == 20
    assert full.full
    assert_array_equal(full.points, free.points[:20])
    last = np.flatnonzero(kept)[-1]
    assert not p[last + 1 :].any()
    assert tau[-1] > 0
    assert full.step(np.array([9.0, 9.0]), 0.0) == (pytest.approx(1.5 * 10 / 11), 0.0, False)


def unit_vectors(rng, n):
    X = rng.normal(size=(n, 3)) * [1.0, 0.3, 0.1]
    return X / np.linalg.norm(X, axis=1)[:, None]


def accuracy(X, kept, p, ridge, t):
    """Largest |eigenvalue - 1| of A_t^-1/2 A_t^I A_t^-1/2 after t rounds."""
    whole = ridge * np.eye(3) + X[:t].T @ X[:t]
    atoms = X[:t][kept[:t]] / np.sqrt(p[:t][kept[:t]])[:, None]
    root = np.linalg.inv(np.linalg.cholesky(whole))
    return np.abs(np.linalg.eigvalsh(root @ (ridge * np.eye(3) + atoms.T @ atoms) @ root.T) - 1).max()


def online_leverages(X, ridge):
    P, tau = np.eye(3) / ridge, np.zeros(len(X))
    for t, x in enumerate(X):
        v = P @ x
        tau[t] = x @ v / (1 + x @ v)
        P -= np.outer(v, v) / (1 + x @ v)
    return tau


@pytest.mark.parametrize("eps", [0.5, 0.3])
def test_theorys_beta_gives_the_three_guarantees(eps):
    """Accuracy, two-sided scores, size; all runs, although only 1 - delta of them are promised."""
    T, delta, ridge = 2500, 0.1, 1.0
    beta, rho = theory_beta(T, delta, eps), (1 + eps) / (1 - eps)
    assert_allclose(theory_beta(6000, 0.1, 0.5), 132.0252, atol=1e-4)
    assert_allclose(theory_beta(6000, 0.1, 0.5, all_rounds=True), 12 * np.log(4 * 6000**2 / 0.1), rtol=1e-12)
    for bad in (0.0, 1.0, 2.0):
        with pytest.raises(ValueError, match="delta must be a number greater than 0 and less than 1"):
            theory_beta(1, bad)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, u = unit_vectors(rng, T), rng.random(T)
        dictionary = started(Linear(), ridge, 3, eps=eps, beta=beta)
        score, p, kept = dictionary.run(X, u)
        tau = online_leverages(X, ridge)
        assert max(accuracy(X, kept, p, ridge, t) for t in range(100, T + 1, 300)) <= eps
        assert np.all(score >= tau * (1 - 1e-9))
        assert np.all(score <= rho * tau)
        assert np.any(~kept)
        assert dictionary.n <= 3 * rho * beta * tau.sum()


def test_shrinking_follows_its_definition():
    X, c, u = stream()
    dictionary = started(Gaussian(0.5), 0.1, 2, beta=2.0)
    dictionary.run(X, u, c)
    old, scale, points = dictionary.odds.copy(), dictionary.factor_.scale.copy(), dictionary.points.copy()
    M = scale[:, None] * oracles.gaussian(points, points, 0.5) * scale
    tau = 1.5 * old * np.linalg.solve(M + 0.1 * np.eye(len(M)), M).diagonal()
    new = np.minimum(old, 2.0 * tau)
    fresh = np.random.default_rng(9).random(len(old))
    stay = fresh < new / old
    assert dictionary.shrink(fresh) == dictionary.n == stay.sum() < len(old)
    assert_array_equal(dictionary.points, points[stay])
    assert_allclose(dictionary.odds, new[stay], rtol=1e-9)
    assert_allclose(dictionary.factor_.scale, (scale * np.sqrt(old / new))[stay], rtol=1e-9)
    kept = dictionary.factor_.scale
    K = kept[:, None] * oracles.gaussian(points[stay], points[stay], 0.5) * kept
    assert_allclose(dictionary.factor_.matrix, np.linalg.cholesky(K + 0.1 * np.eye(len(K))), atol=1e-9)


def spectral_error(dictionary, X):
    """|A^-1/2 (A^I - A) A^-1/2| in the feature space of all rows."""
    Z = feature_rows(dictionary.kernel(np.vstack([X, dictionary.points]), np.vstack([X, dictionary.points])))
    atoms = dictionary.factor_.scale[:, None] * Z[len(X) :]
    A = dictionary.ridge * np.eye(Z.shape[1]) + Z[: len(X)].T @ Z[: len(X)]
    root = np.linalg.inv(np.linalg.cholesky(A))
    change = atoms.T @ atoms - Z[: len(X)].T @ Z[: len(X)]
    return np.abs(np.linalg.eigvalsh(root @ change @ root.T)).max()


def test_merging_shards_in_a_tree_keeps_fewer_atoms_and_their_accuracy():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (1600, 1))
    shards = []
    for part in np.split(X, 8):
        shards.append(started(Gaussian(1.0), 10.0, 1, beta=40.0))
        shards[-1].run(part, rng.random(len(part)))
    whole = started(Gaussian(1.0), 10.0, 1, beta=40.0)
    whole.run(X, rng.random(len(X)))
    before = sum(shard.n for shard in shards)
    while len(shards) > 1:
        pairs = list(zip(shards[::2], shards[1::2], strict=True))
        for left, right in pairs:
            left.merge([right], rng.random(left.n + right.n))
        shards = [left for left, _ in pairs]
    error = spectral_error(shards[0], X)
    print(f"merged: {before} atoms to {shards[0].n}, accuracy {error:.2f}; one pass: {whole.n} atoms")
    assert shards[0].n < 0.5 * whole.n < 0.5 * before
    assert error < 0.5


def test_merging_respects_max_atoms_and_refuses_strangers():
    X, _, u = stream()
    left, right = (started(Gaussian(0.5), 0.1, 2, max_atoms=30) for _ in range(2))
    left.run(X[:150], u[:150])
    right.run(X[150:], u[150:])
    assert left.merge([right], np.zeros(left.n + right.n)) == 30
    with pytest.raises(ValueError, match="equal parameters and columns"):
        left.merge([started(Gaussian(0.6), 0.1, 2, max_atoms=30)], np.zeros(30))
    with pytest.raises(ValueError, match="one uniform for each of the 30 atoms"):
        left.shrink(np.zeros(29))
    empty = started(Gaussian(0.5), 0.1, 2)
    assert empty.shrink(np.zeros(0)) == 0
    everything = started(Gaussian(0.5), 0.1, 2, beta=math.inf)
    everything.run(X, u)
    assert everything.shrink(np.full(300, 0.999)) == 300


def test_a_rewound_dictionary_is_as_it_was():
    X, c, u = stream()
    dictionary = started(Gaussian(0.5), 0.1, 2)
    dictionary.run(X[:100], u[:100], c[:100])
    before, mark = persist.to_bytes(dictionary), dictionary.mark()
    dictionary.run(X[100:], u[100:], c[100:])
    dictionary.rewind(mark)
    assert persist.to_bytes(dictionary) == before
    twin = copy.deepcopy(dictionary)
    assert_array_equal(twin.run(X[100:], u[100:])[0], dictionary.run(X[100:], u[100:])[0])
    assert_array_equal(persist.from_bytes(persist.to_bytes(twin)).scores(X).tau, twin.scores(X).tau)


@pytest.mark.parametrize("ridge", [1.0, 1e-8])
def test_one_point_a_hundred_thousand_times_is_kept_a_few_times(ridge):
    X, u = np.ones((100_000, 2)), np.random.default_rng(0).random(100_000)
    X[::1000] += 1e-9
    dictionary = started(Gaussian(0.5), ridge, 2)
    tau, _, kept = dictionary.run(X, u)
    assert np.isfinite(tau).all()
    assert 1 <= dictionary.n == kept.sum() < 60
    assert dictionary.factor_.matrix.diagonal().min() >= math.sqrt(ridge)
    weights = dictionary.factor_.scale**2
    assert 0.2 * len(X) < weights.sum() < 5 * len(X) or ridge < 1


def test_a_row_of_which_only_rounding_is_left_is_not_kept():
    """k(x, x) is 1e20 times the ridge: what the dictionary misses of a repeated point is noise, not a direction."""
    rng = np.random.default_rng(0)
    X = 1e6 * rng.normal(size=(2, 3))[rng.integers(2, size=3000)]
    block, rows = (KORS(Linear(), 1e-8) for _ in range(2))
    block.start(3)
    rows.start(3)
    u = rng.random(3000)
    tau, p, kept = block.run(X, u)
    assert block.n == kept.sum() < 40
    assert not p[1000:].any()
    assert np.isfinite(tau).all()
    assert [rows.step(x, v)[2] for x, v in zip(X[:200], u, strict=False)] == kept[:200].tolist()


def test_hard_rows_stay_finite():
    rng = np.random.default_rng(1)
    X = np.vstack([np.zeros((3, 2)), 1e6 * rng.normal(size=(30, 2)), rng.normal(size=(30, 2))])
    for kernel in (Linear(), Polynomial(2), Gaussian()):
        dictionary = started(kernel, 1e-8, 2)
        tau = dictionary.run(X, rng.random(63))[0]
        assert np.all((tau >= 0) & (tau < 1.5 + 1e-12))
        assert np.isfinite(dictionary.scores(X).tau).all()
    assert not started(Linear(), 1.0, 2).step(np.zeros(2), 0.0)[2]


def test_bad_arguments_are_refused():
    for name, bad in [("ridge", 0.0), ("eps", 0.0), ("eps", 1.0), ("beta", -1.0), ("max_atoms", 0)]:
        with pytest.raises(ValueError, match=f"{name} must be"):
            KORS(Gaussian(), **{"ridge": 1.0, name: bad})
