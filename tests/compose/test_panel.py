"""Learners side by side: what they share is evaluated once, and each is what it would be alone."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import ONS, PKAWV, PKRR, Fourier, Gaussian, Kernel, KernelAWV, KernelRidge, Nystrom, SketchedKONS, Taylor
from nystream.compose.panel import Panel
from nystream.kernels import Linear
from nystream.learners.nystrom_pkawv import NystromPKAWV
from nystream.learners.passive_aggressive import PassiveAggressive

CALLS = []


class Counted(Kernel):
    """exp(-|x - y|_1), which writes down how many values it was asked for."""

    def __call__(self, X, Y):
        CALLS.append(len(X) * len(Y))
        return np.exp(-np.abs(X[:, None] - Y[None]).sum(-1))


class Watched(Kernel):
    """The same, looking around whenever it is asked."""

    seen: list = []  # noqa: RUF012
    look = staticmethod(lambda: None)

    def __call__(self, X, Y):
        Watched.seen.append(Watched.look())
        return np.exp(-np.abs(X[:, None] - Y[None]).sum(-1))


class CountedMap(Fourier):
    def _map(self, X, out):
        CALLS.append(len(X))
        super()._map(X, out)


@dataclasses.dataclass
class Unhashable(Kernel):
    scale: float

    def __call__(self, X, Y):
        return np.exp(-self.scale * ((X[:, None] - Y[None]) ** 2).sum(-1))


def stream(n=200):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, 3))
    return X, np.sin(3 * X[:, :1]) + X[:, 1:2]


def started(*learners):
    for learner in learners:
        learner.reserve(3, 1)
    return Panel(learners)


def evaluations(work):
    CALLS.clear()
    work()
    return sum(CALLS)


@pytest.mark.parametrize(
    "make",
    [
        lambda lam: KernelAWV(Gaussian(0.7), lam=lam),
        lambda lam: KernelRidge(Unhashable(0.5), lam=lam),
        lambda lam: SketchedKONS(Gaussian(0.7), lam=lam, clip=3.0, seed=0),
        lambda lam: NystromPKAWV(Gaussian(0.7), lam=lam, mu=0.1, seed=0),
        lambda lam: NystromPKAWV(0.5 * Gaussian(0.7), lam=lam, mu=0.1, memory="exact", seed=0),
        lambda lam: PKAWV(Taylor(Gaussian(0.7), degree=3), lam=lam),
        lambda lam: PKRR(Fourier(Gaussian(0.7), 20, seed=None), lam=lam),
        lambda lam: ONS(Nystrom(Gaussian(0.7), 15), lam=lam, clip=3.0),
    ],
    ids=[
        "exact",
        "unhashable kernel",
        "sketched",
        "frozen",
        "remembering",
        "taylor",
        "maps drawn apart",
        "map that moves at first",
    ],
)
def test_every_learner_is_what_it_would_be_alone(make):
    X, Y = stream()
    together = [make(lam) for lam in (0.1, 1.0, 10.0)]
    panel = started(*together)
    alone = copy.deepcopy(together)
    Q = [panel.run(X[i : i + 64], Y[i : i + 64]) for i in range(0, 192, 64)] + [panel.step(X[192], Y[192])]
    expected = [learner.run(X[:193], Y[:193]) for learner in alone]
    assert_allclose(np.vstack(Q)[:, 0], np.array(expected).T, rtol=0, atol=1e-10)
    assert_allclose(panel.predict(X)[:, 0], np.array([learner.predict(X) for learner in alone]).T, rtol=0, atol=1e-10)
    assert [learner.n_seen for learner in together] == [193] * 3


def test_kernel_values_are_computed_once_for_all_learners_that_have_the_kernel():
    X, Y = stream()
    one = started(KernelAWV(Counted()))
    three = started(*(KernelAWV(Counted(), lam=lam) for lam in (0.1, 1.0, 10.0)), KernelRidge(Gaussian(0.7)))
    for i in range(0, 192, 64):
        part = slice(i, i + 64)
        alone = evaluations(lambda part=part: one.run(X[part], Y[part]))
        assert (
            evaluations(lambda part=part: three.run(X[part], Y[part])) <= alone + 6 * 64
        )  # diagonals, before any learner learns and by each
    alone = evaluations(lambda: one.predict(X[:64]))
    assert evaluations(lambda: three.predict(X[:64])) <= alone + 3 * 64


def test_features_are_computed_once_for_all_learners_whose_maps_are_equal():
    X, Y = stream()
    same = started(*(PKAWV(CountedMap(Gaussian(0.7), 20, seed=0), lam=lam) for lam in (0.1, 1.0, 10.0)))
    assert evaluations(lambda: same.run(X[:64], Y[:64])) == 64
    assert evaluations(lambda: same.predict(X)) == 200
    apart = started(*(PKAWV(CountedMap(Gaussian(0.7), 20, seed=seed)) for seed in (0, 1)))
    assert evaluations(lambda: apart.run(X[:64], Y[:64])) == 128


def test_kernels_are_put_back_even_when_a_learner_refuses():
    X, Y = stream()
    learners = [KernelAWV(Gaussian(0.7)), KernelAWV(Gaussian(0.7), max_points=10)]
    panel = started(*learners)
    with pytest.raises(ValueError, match="max_points"):
        panel.run(X, Y)
    for learner in learners:
        assert type(learner.kernel) is Gaussian
        assert type(learner.factor_.kernel) is Gaussian


def test_values_are_not_remembered_beyond_the_block_nor_for_memory_that_changes():
    X, Y = stream()
    panel = started(KernelAWV(Gaussian(0.7)), KernelAWV(Gaussian(0.7)))
    buffer = X[:64].copy()
    first = panel.predict(buffer)
    panel.run(buffer, Y[:64])
    buffer[:] = X[64:128]
    alone = KernelAWV(Gaussian(0.7))
    alone.run(X[:64], Y[:64])
    assert_array_equal(first, np.zeros((64, 1, 2)))
    assert_allclose(panel.predict(buffer)[:, 0, 0], alone.predict(X[64:128]), atol=1e-12)


def test_asking_leaves_every_kernel_where_it_is_while_it_lasts():
    X, Y = stream()
    learners = [KernelAWV(Watched(), lam=lam) for lam in (0.1, 1.0)]
    panel = started(*learners)
    panel.run(X, Y)
    kernels = [(learner.kernel, learner.factor_.kernel) for learner in learners]
    Watched.seen = []
    Watched.look = lambda: [(learner.kernel, learner.factor_.kernel) for learner in learners]
    panel.predict(X)
    assert Watched.seen
    assert all(now == kernels and now[0][0] is kernels[0][0] for now in Watched.seen)


def test_corrections_with_the_linear_kernel_share_it():
    X, Y = stream()
    learners = [PassiveAggressive(Linear(), loss="epsilon_insensitive", C=C) for C in (0.1, 1.0)]
    panel = started(*learners)
    alone = copy.deepcopy(learners)
    panel.run(X, Y)
    for i, learner in enumerate(alone):
        learner.run(X, Y)
        assert_array_equal(panel.predict(X)[:, 0, i], learner.predict(X))
