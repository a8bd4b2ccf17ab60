"""NystromPKAWV and NystromPKRR against explicit projections, golden values and their bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from nystream import Gaussian, KernelAWV, KernelRidge, Linear, NystromPKAWV, NystromPKRR, Polynomial
from nystream.dictionary import KORS
from oracles import nystrom as slow

G = Gaussian(0.7)
POINTS = np.random.default_rng(3).uniform(-1, 1, (25, 3))
VARIANTS = {
    "kors": NystromPKAWV(G, lam=0.1, mu=0.5, seed=0),
    "full": NystromPKRR(G, lam=0.1, max_atoms=17, clip=0.6, seed=0),
    "ald": NystromPKRR(G, lam=0.1, dictionary="ald", nu=0.05),
    "given": NystromPKAWV(G, lam=0.1, dictionary=POINTS),
    "exact": NystromPKAWV(G, lam=0.1, mu=0.5, memory="exact", seed=0),
    "exact-ald": NystromPKRR(G, lam=0.1, dictionary="ald", memory="exact", max_atoms=20),
}


def stream(n=300, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    X[n // 3 :: 5] = X[rng.integers(n // 3, size=len(X[n // 3 :: 5]))]  # repeats
    return X, np.sin(3 * X[:, 0]) + X[:, 1] * X[:, -1] + 0.3 * rng.normal(size=n)


def by_steps(learner, X, y):
    return np.array([learner.step(x, v) for x, v in zip(X, y.tolist(), strict=True)])


@pytest.mark.parametrize("rounds", ["run", "step"])
def test_golden_values(rounds):
    X, y, _ = oracles.golden_stream()
    golden = {"exact": (9.7804476671, -0.3385278420), "frozen": (9.8473164529, -0.3346663171)}
    for memory, (loss, last) in golden.items():
        learner = NystromPKAWV(Gaussian(0.3), lam=0.5, mu=0.5, memory=memory)
        slow.with_coins(learner, 2, oracles.golden_uniforms())
        p = learner.run(X, y) if rounds == "run" else by_steps(learner, X, y)
        assert_allclose([((p - y) ** 2).sum(), p[-1]], [loss, last], atol=6e-11)
        assert learner.size == 38


@pytest.mark.parametrize("dictionary", ["kors", "ald"])
def test_predictions_equal_explicit_projections(dictionary, capsys):
    X, y = stream()
    K, lam, worst = oracles.gaussian(X, X, 0.7), 0.1, 0.0
    if dictionary == "kors":
        atoms = slow.independent(K, slow.kors_atoms(K, np.random.default_rng(5).random(300), 0.3)[0])
    else:
        atoms = slow.independent(K, range(300), nu=0.05)
    expected = {"frozen": slow.frozen(K, y, atoms, lam)[:2], "exact": slow.exact(K, y, atoms, lam)}
    for memory, (ridge, awv) in expected.items():
        for cls, p in ((NystromPKRR, ridge), (NystromPKAWV, awv)):
            for size in (1, 7, 300):
                learner = cls(G, lam=lam, mu=0.3, memory=memory, dictionary=dictionary, nu=0.05, seed=5)
                got = np.concatenate([learner.run(X[i : i + size], y[i : i + size]) for i in range(0, 300, size)])
                assert_array_equal(learner.atoms, X[atoms])
                worst = max(worst, np.abs(got - p).max())
    with capsys.disabled():
        print(f"  largest difference to explicit projections ({dictionary}): {worst:.1e}")
    assert worst < 1e-9
    assert 20 < len(atoms) < 120


@pytest.mark.parametrize("memory", ["frozen", "exact"])
def test_keeping_everything_is_the_exact_kernel_learner(memory):
    X, y = stream(200)
    for ours, reference in ((NystromPKAWV, KernelAWV), (NystromPKRR, KernelRidge)):
        learner = ours(G, lam=0.1, beta=math.inf, memory=memory, seed=0)
        p, full = learner.run(X, y), reference(G, lam=0.1)
        assert_allclose(p, full.run(X, y), atol=1e-8)
        assert_allclose(learner.regret(), full.regret(), rtol=1e-7)
        assert_allclose(learner.log_det(), full.log_det(), rtol=1e-8)
        assert_allclose(learner.effective_dimension(), full.effective_dimension(), rtol=1e-7)
        assert_allclose(learner.missed(), 0.0, atol=1e-7)


def test_a_dictionary_given_beforehand_is_the_same_in_both_memories():
    X, y = stream()
    frozen = NystromPKAWV(G, lam=0.1, dictionary=POINTS.tolist()).run(X, y)
    exact = NystromPKAWV(G, lam=0.1, dictionary=POINTS, memory="exact").run(X, y)
    assert_allclose(frozen, exact, atol=1e-10)
    assert_allclose(frozen, NystromPKAWV(G, lam=0.1, dictionary=POINTS, max_atoms=25).run(X, y), atol=1e-12)
    assert NystromPKAWV(G, dictionary=np.vstack([POINTS, POINTS])).clone().dictionary.shape == (50, 3)


@pytest.mark.parametrize("name", VARIANTS)
def test_predict_is_what_step_will_say(name):
    """Also in rounds that bring an atom: the pending coin is known."""
    X, y = stream(120)
    learner, brought = VARIANTS[name].clone(), 0
    for x, v in zip(X, y.tolist(), strict=True):
        expected, size = learner.predict(np.vstack([x, -x]))[0], learner.size
        assert_allclose(learner.step(x, v), expected, rtol=1e-9, atol=1e-12)
        brought += learner.size > size
    assert brought > 10 or name == "given"


def test_one_uniform_is_consumed_in_every_round():
    """Also when the probability is 0 or 1, and when the dictionary is full."""
    X, y = stream()
    for most in (None, 10):
        learner = NystromPKAWV(G, mu=0.3, max_atoms=most, seed=7)
        learner.run(X[:200], y[:200])
        by_steps(learner, X[200:], y[200:])
        u = np.random.default_rng(7).random(301)
        assert learner.atoms_.u_ == u[-1]
        kors = KORS(G, 0.3, max_atoms=most)
        kors.start(3)
        kors.run(X, u[:-1])
        assert_array_equal(learner.atoms_.kors_.points, kors.points)
        assert_allclose(learner.atoms_.kors_.odds, kors.odds, rtol=1e-9)
    source = np.random.default_rng(7)
    assert NystromPKAWV(G, mu=0.3, seed=source).clone().run(X, y).tolist() == (
        NystromPKAWV(G, mu=0.3, seed=7).run(X, y).tolist()
    )
    assert source.random() == u[0]  # a generator given as the seed is copied


def streams_of_trouble(n, seed):
    rng = np.random.default_rng(seed)
    X, y = stream(n, seed=seed)
    yield "random", X, rng.uniform(-1, 1, n)
    yield "regular", X, y
    yield "alternating", np.zeros((n, 3)), np.resize([1.0, -1.0], n)
    yield "alternating points", X[np.arange(n) % 7], np.resize([1.0, -1.0], n)
    yield "switching", X, np.where((np.arange(n) // 25) % 2, y, -y)
    yield "drifting", X + np.linspace(0, 3, n)[:, None], np.where(y > 0, 1.0, -1.0)


@pytest.mark.parametrize("memory", ["frozen", "exact"])
def test_regret_and_loss_stay_below_their_bounds(memory, capsys):
    worst, worst_loss = 0.0, 0.0
    for seed in range(4):
        for kind, X, y in streams_of_trouble(150, seed):
            B = np.abs(y).max()
            K = oracles.gaussian(X, X, 0.7)
            for learner in (
                NystromPKAWV(G, lam=0.3, mu=1.0, memory=memory, seed=seed),
                NystromPKAWV(G, lam=0.3, memory=memory, dictionary="ald", nu=0.3, clip=B),
                NystromPKRR(G, lam=0.3, mu=1.0, memory=memory, clip=B, seed=seed),
            ):
                p = learner.run(X, y)
                loss = ((p - y) ** 2).sum()
                worst = max(worst, learner.regret() / learner.regret_bound())
                assert learner.regret() <= learner.regret_bound() * (1 + 1e-9), (kind, learner)
                for ridge in (0.03, 0.3, 3.0):  # comparators: kernel ridge in hindsight, in the whole space
                    a = np.linalg.solve(K + ridge * np.eye(len(K)), y)
                    bound = learner.loss_bound(((K @ a - y) ** 2).sum(), max(a @ K @ a, 0.0))
                    worst_loss = max(worst_loss, loss / bound)
                    assert loss <= bound * (1 + 1e-9), (kind, learner)
    with capsys.disabled():
        print(f"  {memory}: largest regret / bound {worst:.3f}, largest loss / bound against f in H {worst_loss:.3f}")


def test_the_meter_equals_its_dense_definitions():
    X, y = stream()
    K = oracles.gaussian(X, X, 0.7)
    atoms = slow.independent(K, slow.kors_atoms(K, np.random.default_rng(5).random(300), 1.0)[0])
    Phi = slow.features(K)
    Q = slow.basis(Phi, atoms)
    sees = {"frozen": slow.projected_rows(Phi, atoms, Q), "exact": Phi @ Q}
    for memory, F in sees.items():
        learner = NystromPKAWV(G, lam=0.3, mu=1.0, memory=memory, seed=5)
        p = learner.run(X, y)
        Kp = F @ F.T
        assert_allclose(learner.log_det(), oracles.log_det(Kp, 0.3), rtol=1e-8)
        assert_allclose(learner.effective_dimension(), oracles.effective_dimension(Kp, 0.3), rtol=1e-8)
        assert_allclose(learner.missed(), (K.diagonal() - Kp.diagonal()).sum(), rtol=1e-6)
        best = oracles.best_in_hindsight(Kp, y, 0.3)
        assert_allclose(learner.regret(), ((p - y) ** 2).sum() - best, rtol=1e-8)
        assert learner.online_dimension() <= learner.log_det()
        top = np.linalg.eigvalsh(Kp)[-1]
        assert learner.log_det() <= learner.effective_dimension() * (1 + np.log1p(top / 0.3))
        z = Phi @ Q
        A = 0.3 * np.eye(len(atoms)) + F.T @ F
        assert_allclose(learner.leverage(X), np.einsum("ij,ji->i", z, np.linalg.solve(A, z.T)), rtol=1e-7, atol=1e-10)


def test_std_is_large_where_nothing_was_seen():
    X, y = stream()
    learner = NystromPKRR(G, lam=0.1, mu=0.3, seed=0)
    learner.run(X, y)
    near, far = learner.std(np.vstack([X[0], np.full(3, 50.0)]))
    noise = math.sqrt(learner.solver_.meter_.variance[0])
    assert near < 1.5 * noise
    assert_allclose(far, noise * math.sqrt(1 + 1 / 0.1), rtol=1e-9)


@pytest.mark.parametrize("memory", ["frozen", "exact"])
def test_several_outputs_share_one_dictionary_and_one_factor(memory):
    X, y = stream()
    Y = np.column_stack([y, X[:, 0], np.ones(300)])
    together = NystromPKAWV(G, mu=1.0, memory=memory, seed=0)
    apart = [NystromPKAWV(G, mu=1.0, memory=memory, seed=0).run(X, column) for column in Y.T]
    assert_allclose(together.run(X, Y), np.column_stack(apart), atol=1e-11)
    assert together.std(X[:5]).shape == (5, 3)


@pytest.mark.parametrize("memory", ["frozen", "exact"])
def test_a_new_output_is_a_combination_of_the_old_ones(memory):
    X, y = stream()
    Y = np.column_stack([y, np.ones(300)])
    late, known = (NystromPKRR(G, mu=1.0, memory=memory, seed=0) for _ in range(2))
    late.run(X[:150], Y[:150])
    late.add_outputs(np.array([[0.0], [-1.0]]))
    wide = np.column_stack([Y, -np.ones(300)])
    known.run(X[:150], wide[:150])
    assert_allclose(late.run(X[150:], wide[150:]), known.run(X[150:], wide[150:]), atol=1e-10)


@pytest.mark.parametrize("memory", ["frozen", "exact"])
def test_weights_count_as_repetitions_and_zero_as_absence(memory):
    X, y = stream(120)
    w = np.random.default_rng(1).integers(0, 4, 120).astype(float)
    settings = {"lam": 0.5, "dictionary": "ald", "memory": memory, "nu": 0.05}
    weighted, repeated = NystromPKRR(G, **settings), NystromPKRR(G, **settings)
    by_rows = NystromPKRR(G, **settings)
    p = weighted.run(X, y, w)
    assert_allclose([by_rows.step(*row) for row in zip(X, y, w, strict=True)], p, atol=1e-10)
    repeated.run(np.repeat(X, w.astype(int), axis=0), np.repeat(y, w.astype(int)))
    assert_array_equal(weighted.atoms, repeated.atoms)
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-10)
    assert_allclose(weighted.missed(), repeated.missed(), rtol=1e-8)
    assert_allclose(by_rows.missed(), repeated.missed(), rtol=1e-8)
    assert_allclose(weighted.log_det(), repeated.log_det(), rtol=1e-9)


def test_scaling_kernel_and_ridges_together_changes_nothing():
    X, y = stream()
    for settings in ({"memory": "frozen"}, {"memory": "exact"}, {"dictionary": "ald"}):
        plain = NystromPKAWV(G, lam=0.5, mu=1.0, seed=0, **settings).run(X, y)
        assert_allclose(NystromPKAWV(7.0 * G, lam=3.5, mu=7.0, seed=0, **settings).run(X, y), plain, atol=1e-9)


@pytest.mark.parametrize("memory", ["frozen", "exact"])
def test_more_columns_of_zeros_change_nothing(memory):
    X, y = stream()
    wide = np.hstack([X, np.zeros((300, 2))])
    learner, other = (NystromPKAWV(G, mu=1.0, memory=memory, seed=0) for _ in range(2))
    learner.run(X[:150], y[:150])
    learner.widen(5)
    other.run(wide[:150], y[:150])
    assert_allclose(learner.run(wide[150:], y[150:]), other.run(wide[150:], y[150:]), atol=1e-10)


@pytest.mark.parametrize(
    ("X", "kernel", "settings"),
    [
        (np.tile([[0.3, -0.2]], (100_000, 1)), G, {"mu": 1.0, "lam": 1e-8}),
        (np.tile([[0.3, -0.2]], (100_000, 1)), G, {"dictionary": "ald", "nu": 1e-9, "lam": 1e-8}),
        (np.eye(2)[np.arange(20_000) % 2] + 1e-9 * np.arange(40_000).reshape(-1, 2) / 4e4, G, {"lam": 1e-8, "mu": 0.1}),
        (1e6 * np.random.default_rng(0).normal(size=(2_000, 2)), G, {"mu": 10.0, "lam": 1e-8}),
        (1e6 * np.random.default_rng(0).normal(size=(2_000, 2)), Linear(), {"lam": 1e-8}),
        (np.where(np.arange(3_000)[:, None] % 3, 0.0, 1.0) * np.ones((3_000, 2)), Linear(), {"lam": 1e-8}),
    ],
    ids=["one point", "one point ald", "near duplicates", "far", "far linear", "no feature"],
)
def test_hard_streams_leave_positive_pivots_and_finite_predictions(X, kernel, settings):
    y = np.resize([0.0, 1.0, -1.0], len(X))
    for memory in ("frozen", "exact") if len(X) < 10_000 else ("frozen",):
        learner = NystromPKAWV(kernel, max_atoms=200, memory=memory, seed=0, **settings)
        assert np.isfinite(learner.run(X, y)).all()
        assert np.isfinite(learner.predict(X[:20])).all()
        assert learner.solver_.pivots.min() > 0
        assert math.isfinite(learner.regret_bound())


def test_memory_stops_growing_with_the_dictionary():
    X, y = stream(4000)
    learner = NystromPKAWV(G, mu=0.01, max_atoms=64, seed=0)
    learner.run(X[:1000], y[:1000])
    assert learner.size == 64
    held = learner.nbytes
    learner.run(X, y)
    assert learner.nbytes == held


def test_points_without_a_feature_are_predicted_zero_and_change_nothing():
    learner = NystromPKRR(Linear(), lam=0.5, seed=0)
    assert_array_equal(learner.run(np.zeros((5, 2)), np.ones(5)), np.zeros(5))
    assert (learner.size, learner.missed(), learner.n_seen) == (0, 0.0, 5)
    assert_allclose(learner.regret(), 0.0, atol=1e-12)  # no function does better
    assert learner.run(np.ones((3, 2)), np.ones(3))[-1] > 0.5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lam": 0}, "lam must be a number greater than 0"),
        ({"mu": -1.0}, "mu must be a number greater than 0"),
        ({"eps": 1.0}, "eps must be a number greater than 0 and less than 1"),
        ({"beta": 0.0}, "beta must be a number greater than 0"),
        ({"memory": "all"}, "memory"),
        ({"dictionary": "all"}, "dictionary"),
        ({"dictionary": np.full((2, 2), np.nan)}, "dictionary has nan at row 0"),
        ({"nu": 0.0}, "nu must be a number greater than 0"),
        ({"max_atoms": 0}, "max_atoms must be a whole number of at least 1"),
        ({"clip": 0.0}, "clip must be a number greater than 0"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"kernel": "gaussian"}, "kernel must be a kernel such as"),
    ],
)
def test_bad_parameters_are_refused_at_once(settings, message):
    with pytest.raises(ValueError, match=message):
        NystromPKAWV(**{"kernel": G, **settings})


def test_bad_rows_are_refused_before_anything_changes():
    X, y = stream(40)
    learner = NystromPKAWV(Polynomial(40), lam=1.0, seed=0)
    learner.run(X, y)
    before = learner.to_bytes()
    X[30] *= 1e6
    for wrong in (lambda: learner.run(X, y), lambda: learner.step(X[30], 1.0), lambda: learner.predict(X)):
        with pytest.raises(ValueError, match="too large to calculate with"):
            wrong()
    assert learner.to_bytes() == before
    with pytest.raises(ValueError, match="the dictionary has 3 columns, but the rows have 2"):
        NystromPKAWV(G, dictionary=POINTS).run(X[:, :2], y)
    with pytest.raises(ValueError, match="no point of the dictionary can be used"):
        NystromPKAWV(Linear(), dictionary=np.zeros((2, 3))).run(X, y)
