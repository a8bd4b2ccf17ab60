"""Expansion: values, lazy decay, averages and open blocks against a list of terms."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import nystream
from nystream.dictionary import Expansion
from nystream.kernels import Gaussian, Kernel
from oracles.expansion import SIGMA, SlowExpansion

EXACT = {"rtol": 1e-12, "atol": 1e-13}


class Slowly(Kernel):
    """A Gaussian that only Python knows."""

    def __call__(self, X, Y):
        return np.exp(-((X[:, None] - Y[None]) ** 2).sum(-1) / (2 * SIGMA**2))


KERNELS = [Gaussian(SIGMA), Slowly()]


def started(kernel, outputs=1, d=3, limit=None):
    f = Expansion(kernel, limit=limit)
    f.start(d, outputs)
    return f


def same(f, slow, X):
    """The stored terms agree, slot for slot."""
    assert f.n == len(f) == len(slow.terms)
    assert_allclose(f.coef, np.array([t.alpha for t in slow.terms]).reshape(-1, slow.outputs), **EXACT)
    assert_array_equal(f.points, np.array([t.x for t in slow.terms]).reshape(-1, X.shape[1]))
    assert f.birth.tolist() == [t.birth for t in slow.terms]
    assert_allclose(f.predict(X), np.array([slow.score(x) for x in X]), **EXACT)


@pytest.mark.parametrize("kernel", KERNELS, ids=["compiled", "python"])
@pytest.mark.parametrize("outputs", [1, 3])
def test_every_change_of_points_keeps_the_open_block_right(kernel, outputs):
    rng = np.random.default_rng(outputs)
    f, slow = started(kernel, outputs), SlowExpansion(outputs)
    for start in range(0, 120, 40):
        X = rng.normal(size=(40, 3))
        f.open(X)
        for j, x in enumerate(X):
            k = f.begin(j)
            slow.begin()
            assert_allclose(k, slow.row(x), **EXACT)
            assert_allclose(f.scores(k), slow.score(x), **EXACT)
            assert f.kxx == pytest.approx(1.0)
            change(f, slow, x, rng, start + j)
            assert_allclose(f.row, slow.row(x), **EXACT)
        f.close()
    same(f, slow, X)
    assert_allclose(f.averaged(X), np.array([slow.averaged(x, 120) for x in X]), rtol=1e-10, atol=1e-12)


def change(f, slow, x, rng, t):
    """One of the things that learners do, to both."""
    alpha, factor = rng.normal(size=f.outputs), rng.uniform(0.2, 1.0)
    f.decay(factor)
    slow.decay(factor)
    kind = rng.integers(4) if f.n > 2 else 0
    i = int(rng.integers(f.n)) if f.n else 0
    if kind in (0, 1):
        f.append(x, alpha, birth=t)
        slow.append(x, alpha, t)
    elif kind == 2:
        f.remove(i)
        last = slow.terms.pop()
        if i < len(slow.terms):
            slow.terms[i] = last
    else:
        f.replace(i, 0.5 * x, alpha, birth=t)
        slow.append(0.5 * x, alpha, t)
        slow.terms[i] = slow.terms.pop()


def test_shares_that_are_added_count_from_now_on():
    f, slow = started(Gaussian(SIGMA)), SlowExpansion()
    X = np.random.default_rng(0).normal(size=(6, 3))
    f.open(X)
    for j, x in enumerate(X):
        f.begin(j)
        slow.begin()
        f.decay(0.7)
        slow.decay(0.7)
        f.append(x, np.array([1.0]), birth=j)
        slow.append(x, [1.0], j)
        f.add(np.full((f.n, 1), 0.25))
        for term in slow.terms:
            term.alpha = term.alpha + 0.25
    same(f, slow, X)
    assert_allclose(f.averaged(X), np.array([slow.averaged(x, 6) for x in X]), **EXACT)


@pytest.mark.parametrize("factor", [0.999, 0.7, 1e-60])
def test_lazy_decay_and_lazy_averages_equal_the_plain_ones_across_rescales(factor):
    f, slow = started(Gaussian(SIGMA)), SlowExpansion()
    X = np.random.default_rng(1).normal(size=(1500, 3))
    scales = set()
    for t, x in enumerate(X):
        f.open(x[None])
        f.begin(0)
        slow.begin()
        f.decay(factor)
        slow.decay(factor)
        if t % 50 == 0:
            f.append(x, np.array([1.0 + t % 3]), birth=t)
            slow.append(x, [1.0 + t % 3], t)
        scales.add(f.scale)
    f.close()
    assert min(scales) >= 1e-100
    if factor < 0.9:
        assert len([s for s in scales if s == 1.0]) == 1  # it did start again from 1
    assert_allclose(f.predict(X[:50]), np.array([slow.score(x) for x in X[:50]]), rtol=1e-10, atol=1e-300)
    assert_allclose(f.averaged(X[:50]), np.array([slow.averaged(x, 1500) for x in X[:50]]), rtol=1e-10, atol=1e-12)


def test_the_order_of_slots_changes_no_prediction():
    rng = np.random.default_rng(2)
    X, alpha = rng.normal(size=(30, 3)), rng.normal(size=(30, 2))
    one, two = started(Gaussian(SIGMA), 2), started(Gaussian(SIGMA), 2)
    for i in range(30):
        one.append(X[i], alpha[i], birth=i)
        two.append(X[29 - i], alpha[29 - i], birth=29 - i)
    assert_allclose(one.predict(X), two.predict(X), **EXACT)


def test_an_empty_expansion_predicts_zero():
    f = started(Gaussian(1.0), 2)
    assert_array_equal(f.predict(np.ones((3, 3))), np.zeros((3, 2)))
    assert_array_equal(f.averaged(np.ones((3, 3))), np.zeros((3, 2)))
    f.open(np.ones((1, 3)))
    assert f.begin(0).shape == (0,)
    assert_array_equal(f.scores(f.row), np.zeros(2))


def test_more_outputs_and_more_columns_change_no_old_value():
    rng = np.random.default_rng(3)
    X, alpha = rng.normal(size=(30, 3)), rng.normal(size=(30, 1))
    f = started(Gaussian(SIGMA))
    for i in range(30):
        f.append(X[i], alpha[i], birth=i)
        f.decay(0.9)
    before = f.predict(X)
    f.grow(3)
    assert_array_equal(f.predict(X), np.hstack([before, np.zeros((30, 2))]))
    f.widen(5)
    assert_allclose(f.predict(np.hstack([X, np.zeros((30, 2))]))[:, :1], before, **EXACT)


def test_copies_and_files_go_on_bit_for_bit():
    rng = np.random.default_rng(4)
    f = started(Gaussian(SIGMA), 2)
    for i in range(40):
        f.append(rng.normal(size=3), rng.normal(size=2), birth=i)
        f.decay(0.8)
    X = rng.normal(size=(70, 3))
    for twin in (copy.deepcopy(f), nystream.from_bytes(nystream.to_bytes(f))):
        assert nystream.to_bytes(twin) == nystream.to_bytes(f)
        twin.append(X[0], np.ones(2), birth=99)
        assert twin.n == f.n + 1
        assert_array_equal(twin.birth[:-1], f.birth)


def test_memory_follows_the_limit_not_the_stream():
    f = started(Gaussian(SIGMA), limit=40)
    X = np.random.default_rng(5).normal(size=(500, 3))
    f.open(X)
    for j, x in enumerate(X):
        f.begin(j)
        f.append(x, np.ones(1), birth=j)
        if f.n > 40:
            f.remove(0)
    assert f.terms.capacity <= 64


def test_misuse_is_refused():
    f = started(Gaussian(SIGMA))
    with pytest.raises(IndexError, match="no point 0: 0 are stored"):
        f.remove(0)
    with pytest.raises(IndexError, match="row 0 is not one to come"):
        f.begin(0)
    with pytest.raises(ValueError, match="shape"):
        f.append(np.zeros(4), np.ones(1), birth=0, own=1.0)
    with pytest.raises(ValueError, match="limit must be a whole number of at least 1"):
        Expansion(Gaussian(1.0), limit=0)
