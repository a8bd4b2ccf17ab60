"""One row in one compiled call: what it refuses goes the long way, with the same answers and the same messages."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream._core.inputs import Coins
from nystream._core.linear import Descent
from nystream.compose import Aggregate, Mixture
from nystream.features import AdaptiveNystrom, Fourier, Taylor
from nystream.kernels import Gaussian
from nystream.learners import (
    FOGD,
    KONS,
    KRLS,
    NAROW,
    NOGD,
    ONS,
    PKAWV,
    SILK,
    Baseline,
    DoublySGD,
    Forgetting,
    GaussianFilter,
    KernelAWV,
    KernelRidge,
    KernelSmoother,
    NystromPKAWV,
    ProsNKons,
    SecondOrderPerceptron,
    SketchedKONS,
    SparseLinear,
)
from nystream.losses import as_loss

G = Gaussian(0.7)
LEARNERS = {
    "FOGD": lambda: FOGD(G, dim=20, loss="squared", seed=0),
    "SILK": lambda: SILK(G, loss="squared", budget=10),
    "NOGD": lambda: NOGD(G, landmarks=5, loss="squared"),
    "PKAWV": lambda: PKAWV(Taylor(G, degree=2)),
    "NystromPKAWV": lambda: NystromPKAWV(G, lam=0.1, beta=100.0, seed=0),
    "NystromPKAWV, few": lambda: NystromPKAWV(G, lam=0.1, beta=1.0, seed=0),
    "NystromPKAWV, at most": lambda: NystromPKAWV(G, lam=0.1, max_atoms=4, seed=0),
    "NystromPKAWV, distant": lambda: NystromPKAWV(G, lam=0.1, dictionary="ald", nu=0.3),
    "NystromPKAWV, given": lambda: NystromPKAWV(G, lam=0.1, dictionary=rows(8, seed=1)[0]),
    "KRLS": lambda: KRLS(G, nu=0.3),
    "KONS": lambda: KONS(G, clip=5.0),
    "KONS, clipped": lambda: KONS(G, clip=0.4, loss="absolute", lam=0.1),
    "SketchedKONS": lambda: SketchedKONS(G, clip=5.0, gamma=0.2, seed=0),
    "KernelAWV": lambda: KernelAWV(G, lam=0.1),
    "KernelRidge": lambda: KernelRidge(G, lam=0.1, clip=0.4),
    "DoublySGD": lambda: DoublySGD(G, loss="squared", block=4, seed=0),
    "ProsNKons": lambda: ProsNKons(G, mu=0.5, clip=5.0, seed=0),
    "ProsNKons, warm": lambda: ProsNKons(G, mu=0.5, clip=5.0, warm=True, max_atoms=4, seed=0),
    "SparseLinear": lambda: SparseLinear(bits=8),
    "SparseLinear, pairs": lambda: SparseLinear(bits=8, pairs=True),
    "GaussianFilter": lambda: GaussianFilter(bits=8),
    "Baseline": lambda: Baseline(dim=20, warmup=5, seed=0),
    "ONS": lambda: ONS(Fourier(G, 20, seed=0), clip=5.0),
    "Forgetting": lambda: Forgetting(Fourier(G, 20, seed=0), decay=0.9),
    "KernelSmoother": lambda: KernelSmoother(window=8),
    "Aggregate": lambda: Aggregate([PKAWV(Fourier(G, 20, seed=0), lam=lam) for lam in (0.1, 1.0)], bound=5.0),
    "Aggregate, maps": lambda: Aggregate(
        [PKAWV(Taylor(G, degree=2)), FOGD(G, dim=20, loss="squared", seed=0)], bound=5.0
    ),
    "Mixture": lambda: Mixture([PKAWV(Fourier(G, 20, seed=k)) for k in (0, 0, 1)], bound=5.0),
    "Mixture, not compiled": lambda: Mixture([PKAWV(Taylor(G, degree=2)), SILK(G, loss="squared")], bound=5.0),
}


def rows(n=40, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), rng.normal(size=n)


@pytest.mark.parametrize("name", LEARNERS)
def test_rows_and_labels_of_any_kind_give_what_clean_ones_give(name):
    X, y = rows()
    clean, steps = LEARNERS[name](), LEARNERS[name]()
    kinds = [
        lambda x, label: (x, label),
        lambda x, label: (x.tolist(), label),
        lambda x, label: (np.repeat(x, 2)[::2], np.float64(label)),
        lambda x, label: (x, np.array(label)),
        lambda x, label: (np.ma.array(x), label),
    ]
    expected = [clean.step(x, float(label)) for x, label in zip(X, y, strict=True)]
    given = [steps.step(*kinds[t % len(kinds)](x, float(label))) for t, (x, label) in enumerate(zip(X, y, strict=True))]
    assert_array_equal(given, expected)
    assert steps.n_seen == clean.n_seen == len(X)


@pytest.mark.parametrize("name", LEARNERS)
def test_what_is_refused_changes_nothing(name):
    X, y = rows()
    model = LEARNERS[name]()
    model.run(X[:20], y[:20])
    before = model.to_bytes()
    for x, label in (
        (np.array([0.0, np.nan, 0.0]), 1.0),
        (np.array([0.0, np.inf, 0.0]), 1.0),
        (X[20, :2], 1.0),
        (X[20:22], 1.0),
        (X[20], np.nan),
        (X[20], "one"),
    ):
        with pytest.raises((ValueError, TypeError)):
            model.step(x, label)
    assert model.to_bytes() == before


def test_a_label_that_is_no_sign_is_refused_where_signs_are_learnt():
    X, _ = rows()
    model = FOGD(G, dim=20, seed=0)
    model.step(X[0], 1)
    for label in (0.5, 0, 2):
        with pytest.raises(ValueError, match="y"):
            model.step(X[1], label)
    assert model.n_seen == 1


@pytest.mark.parametrize("name", [name for name in LEARNERS if name.startswith(("NystromPKAWV,", "KRLS", "ProsNKons"))])
def test_rows_that_the_dictionary_may_want_go_the_long_way_and_the_others_the_short_one(name):
    X, y = rows(200)
    steps, blocks = LEARNERS[name](), LEARNERS[name]()
    short, given = 0, []
    for x, label in zip(X, y.tolist(), strict=True):
        twin = copy.deepcopy(steps)  # a row that goes through takes its coin along
        known = twin.atoms_.known(combined=name == "KRLS") if steps.d_ else None
        quick = known is not None and twin.solver_.one(known, x, label) is not None
        size = steps.size
        given.append(steps.step(x, label))
        assert not (quick and steps.size > size > 0)
        short += quick
    assert short > 20
    assert_allclose(given, blocks.run(X, y), rtol=0, atol=1e-13)
    assert_array_equal(steps.atoms, blocks.atoms)
    assert_allclose(steps.atoms_.missed, blocks.atoms_.missed, rtol=1e-12)


@pytest.mark.parametrize("kind", [SparseLinear, GaussianFilter])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_zeros_of_a_dense_row_are_no_entries_of_a_sparse_one(kind, loss):
    X, y = rows(200)
    X[np.random.default_rng(1).random(X.shape) < 0.4] = 0.0
    y = np.sign(y) if loss == "logistic" else y
    steps, blocks = kind(bits=8, loss=loss), kind(bits=8, loss=loss)
    assert_array_equal([steps.step(x, label) for x, label in zip(X, y.tolist(), strict=True)], blocks.run(X, y))
    assert steps.to_bytes() == blocks.to_bytes()
    assert steps._step_one(X[0], 1.0) is not None
    assert steps._compiled.one_dense(np.full(3, 1e80), 1.0, 3, 1e70) is None


@pytest.mark.parametrize("learner", [NAROW(G), NAROW(G, b=1.2), SecondOrderPerceptron(G)])
def test_margins_do_not_depend_on_the_label_and_rounds_are_those_of_a_block(learner):
    X, _ = rows(300)
    y = np.where(X[:, 0] + 0.1 * X[:, 1] > 0, 1.0, -1.0)
    steps, long, blocks, given, did = learner.clone(), learner.clone(), learner.clone(), [], []
    for x, label in zip(X, y.tolist(), strict=True):
        if steps._row is not None:
            before = steps.to_bytes()
            answers = [steps._row.one(x, sign, steps.factor_.trace_) for sign in (-label, label)]
            assert answers[0] == answers[1]
            assert answers[0] == steps.predict(x[None])[0]
            did.append(steps._row.did)
            assert steps.to_bytes() == before
        given.append(steps.step(x, label))
        assert given[-1] == long.step(x.tolist(), label)
    assert did.count(0) > 50
    assert sum(map(bool, did)) > 10
    assert learner.__class__ is SecondOrderPerceptron or {1, 2} <= set(did)
    assert steps.to_bytes() == long.to_bytes()
    assert_allclose(given, blocks.run(X, y), rtol=0, atol=1e-11)
    assert (steps.size, steps.mistakes, steps.n_seen) == (blocks.size, blocks.mistakes, blocks.n_seen)
    assert_allclose(steps.factor_.matrix, blocks.factor_.matrix, rtol=0, atol=1e-11)
    assert_allclose(steps.f_.view, blocks.f_.view, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", [name for name in LEARNERS if name.startswith(("Aggregate", "Mixture"))])
def test_one_call_for_all_learners_of_an_ensemble_is_the_round_of_each(name):
    X, y = rows(100)
    y /= np.abs(y).max()
    y[0] = 1.0  # no later label is larger
    short, long, blocks = LEARNERS[name](), LEARNERS[name](), LEARNERS[name]()
    taken = 0
    for x, label in zip(X, y.tolist(), strict=True):
        taken += short._row is not None
        assert short.step(x, label) == long.step(x.tolist(), label)
    assert taken == (0 if "not compiled" in name else 98)  # the first two build it
    assert_array_equal(short.shares(), long.shares())
    assert short.to_bytes() == long.to_bytes()
    blocks.run(X, y)
    assert [e.n_seen for e in short.experts] == [e.n_seen for e in blocks.experts] == [100] * len(short.experts)


@pytest.mark.parametrize("name", ["Aggregate", "Mixture"])
def test_an_ensemble_notices_that_a_learner_has_changed(name):
    X, y = rows(60)
    model = LEARNERS[name]()
    for x, label in zip(X[:50], y[:50].tolist(), strict=True):
        model.step(x, label)
    held = model._row
    assert held is not None
    assert held.one_row(X[50], -2.0, 1.9) is None  # a label that is not small enough
    model.experts[0].unlearn(X[:5], y[:5])
    twin = copy.deepcopy(model)
    assert held.one_row(X[50], 0.0, 1.0) is None
    for x, label in zip(X[50:], y[50:].tolist(), strict=True):
        assert model.step(x, label) == twin.step(x, label)
    assert model.to_bytes() == twin.to_bytes()


def test_a_map_that_moves_has_no_engine():
    X, _ = rows()
    assert Fourier(G, 20, seed=0).fit(X).engine is not None
    assert AdaptiveNystrom(G, 5).fit(X).engine is None


def test_maps_and_loops_of_other_widths_or_types_do_not_meet():
    X, _ = rows()
    descent = Descent(as_loss("squared"), np.zeros((1, 20)), None, None, None, "sgd", 0.1, False, 0.0)
    assert descent.one_mapped(Fourier(G, 20, seed=0).fit(X).engine, X[0], 1.0, 1) == 0.0
    for other in (Fourier(G, 22, seed=0), Fourier(G, 20, seed=0, dtype="float32")):
        assert descent.one_mapped(other.fit(X).engine, X[0], 1.0, 1) is None
    single = Descent(as_loss("squared"), np.zeros((1, 3), np.float32), None, None, None, "sgd", 0.1, False, 0.0)
    assert single.one_row(X[0], 1.0, 1) is None  # a row of double is not one of float


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.Philox, np.random.MT19937])
def test_a_coin_is_the_next_number_of_its_generator(bits):
    class Own(np.random.Generator):
        pass

    for kind in (np.random.Generator, Own):
        rng, twin = kind(bits(3)), kind(bits(3))
        coins = Coins(rng)
        assert [coins.toss() for _ in range(5)] == [twin.random() for _ in range(5)]
        assert rng.random() == twin.random()
