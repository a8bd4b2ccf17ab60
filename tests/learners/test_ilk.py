"""ILK and SILK against the definition, and the properties that the step and the buffer have."""

import numpy as np
import pytest
from grids import grid
from numpy.testing import assert_allclose, assert_array_equal

from nystream.kernels import Gaussian, Kernel, Linear, Polynomial
from nystream.learners import ILK, NORMA, SILK
from nystream.losses import LOSSES, Hinge, Loss, MulticlassHinge, Softmax, Squared, StructuredHinge
from nystream.streams import checkerboard, drifting_gaussians
from oracles.expansion import SIGMA, SlowExpansion, silk

T, CLASSES = 300, 4
FAR = np.abs(np.subtract.outer(np.arange(float(CLASSES)), np.arange(float(CLASSES))))
CASES = {name: (kind(), None) for name, kind in LOSSES.items() if not kind.multiclass} | {
    "multiclass_hinge": (MulticlassHinge(CLASSES), "exact"),
    "runner_up": (MulticlassHinge(CLASSES), "runner_up"),
    "softmax": (Softmax(CLASSES), "exact"),
    "structured": (StructuredHinge(FAR), "exact"),
    "similarity": (StructuredHinge(FAR, np.exp(-FAR)), "runner_up"),
}
SETTINGS = [
    {"lam": 0.01, "C": 0.5, "eta": 2.0},
    {"lam": 0.3, "C": 3.0},
    {"lam": 0.1, "C": 1.0, "schedule": "sqrt"},
]


class Quartic(Loss):
    """A loss that only Python knows."""

    name = "quartic"

    def value(self, y, p):
        return (p - y) ** 4

    def grad(self, y, p):
        return 4 * (p - y) ** 3


class Slowly(Kernel):
    """A kernel that only Python knows."""

    def __call__(self, X, Y):
        return np.exp(-((X[:, None] - Y[None]) ** 2).sum(-1) / (2 * SIGMA**2))


def stream(loss, n=T, d=3, seed=0):
    """Inputs, some of which come back, and labels of the loss's kind."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    X[n // 2 : n // 2 + 10] = X[:10]
    f = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, -1] + 0.1 * rng.normal(size=n)
    if loss.labels == "class":
        return X, np.digitize(f, [-0.4, 0.2, 0.6])
    return X, np.where(f > 0, 1.0, -1.0) if loss.labels == "sign" else f


def largest_difference(model, X, Y, **definition):
    """Of the predictions, and of the predictions of the averaged hypothesis."""
    K = CLASSES if model._loss.multiclass else 1
    P = model.run(X, Y).reshape(len(X), -1)
    Q, f = silk(X, Y, model._loss, outputs=K, **definition)
    M = getattr(model._loss, "label_similarity", None)
    mean = np.array([f.averaged(x, len(X)) for x in X[:20]])
    A = model.averaged(X[:20]).reshape(20, -1)
    return max(abs(P - Q).max(), abs(A - (mean if M is None else mean @ M)).max())


@pytest.mark.parametrize(("case", "setting"), grid(CASES, SETTINGS))
def test_ilk_equals_the_definition(case, setting):
    loss, rule = CASES[case]
    X, Y = stream(loss)
    extra = {} if rule is None else {"multiclass": rule}
    worst = largest_difference(ILK(Gaussian(SIGMA), loss=loss, **setting, **extra), X, Y, **setting, **extra)
    print(f"ILK {case}: {worst:.1e}")
    assert worst < 1e-10


@pytest.mark.parametrize(("case", "drop"), grid(CASES, ["smallest", "oldest", "contribution", "project"]))
def test_silk_equals_the_definition(case, drop):
    loss, rule = CASES[case]
    X, Y = stream(loss)
    extra = {} if rule is None else {"multiclass": rule}
    setting = SETTINGS[0] | {"budget": 25, "drop": drop}
    worst = largest_difference(SILK(Gaussian(SIGMA), loss=loss, **setting, **extra), X, Y, **setting, **extra)
    print(f"SILK {drop} {case}: {worst:.1e}")
    assert worst < (1e-7 if drop == "project" else 1e-10)  # the projection's solve is ill-conditioned


@pytest.mark.parametrize("case", ["hinge", "squared", "multiclass_hinge"])
def test_silk_with_merging_equals_the_definition(case):
    loss, _ = CASES[case]
    X, Y = stream(loss, n=100)
    setting = {"lam": 0.01, "budget": 15, "drop": "merge"}
    worst = largest_difference(SILK(Gaussian(SIGMA), loss=loss, **setting), X, Y, **setting)
    print(f"SILK merge {case}: {worst:.1e}")
    assert worst < 1e-3  # the definition searches a grid


def test_contribution_equals_the_definition_where_the_diagonal_varies():
    loss, kernel = Hinge(), Polynomial(2)
    X, Y = stream(loss)
    P = SILK(kernel, budget=20, drop="contribution", lam=0.01).run(X, Y)
    Q, _ = silk(X, Y, loss, lam=0.01, budget=20, drop="contribution", f=SlowExpansion(kernel=kernel))
    assert_allclose(P, Q[:, 0], rtol=1e-8, atol=1e-9)


def test_several_targets_and_weights_equal_the_definition():
    loss = Squared()
    X, y = stream(loss)
    Y, weights = np.column_stack([y, y**2, -y]), np.random.default_rng(1).uniform(0, 2, T)
    weights[::7] = 0.0
    model = SILK(Gaussian(SIGMA), loss=loss, budget=25, lam=0.1)
    some = weights > 0  # a row of weight 0 is no round
    Q, _ = silk(X[some], Y[some], loss, lam=0.1, budget=25, outputs=3, weights=weights[some])
    assert_allclose(model.run(X, Y, weights)[some], Q, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("drop", ["smallest", "oldest", "project"])
def test_a_kernel_and_a_loss_of_ones_own_work_in_blocks_and_rows(drop):
    X, Y = stream(Squared(), n=80)
    block, rows = (SILK(Slowly(), loss=Quartic(), budget=20, drop=drop, lam=0.01) for _ in range(2))
    P = block.run(X, Y)
    assert_allclose(P, [rows.step(x, y) for x, y in zip(X, Y, strict=True)], rtol=1e-8, atol=1e-9)
    assert_allclose(P, SILK(Gaussian(SIGMA), loss=Quartic(), budget=20, drop=drop, lam=0.01).run(X, Y), atol=1e-8)


def test_a_buffer_that_never_fills_is_ilk():
    X, Y = stream(Hinge())
    for drop in ("smallest", "oldest", "contribution", "project", "merge"):
        assert_array_equal(SILK(Gaussian(SIGMA), budget=T, drop=drop).run(X, Y), ILK(Gaussian(SIGMA)).run(X, Y))


def test_without_decay_the_hinge_step_is_passive_aggressive_one():
    X, Y = stream(Hinge())
    kernel, C = Gaussian(SIGMA), 0.3
    P, A = [], np.zeros(T)
    K = kernel(X, X)
    for t in range(T):
        P.append(A @ K[t])
        A[t] = Y[t] * min(C, max(0.0, 1 - Y[t] * P[t]) / K[t, t])
    assert_allclose(ILK(kernel, tau=0.0, C=C).run(X, Y), P, rtol=1e-13, atol=1e-14)


def test_a_hinge_coefficient_never_exceeds_its_cap():
    X, Y = stream(Hinge())
    model = SILK(Gaussian(SIGMA), tau=0.05, C=0.4, budget=30)
    for x, y in zip(X, Y, strict=True):
        model.step(x, y)
        assert abs(model.expansion_.coef).max() <= 0.95 * 0.4 * (1 + 1e-14)


def test_the_implicit_step_never_raises_the_loss_at_its_point():
    for case, (loss, rule) in CASES.items():
        X, Y = stream(loss, n=60)
        model = ILK(Gaussian(SIGMA), loss=loss, tau=0.0, C=5.0, **({} if rule is None else {"multiclass": rule}))
        for x, y in zip(X, Y, strict=True):
            p = model.step(x, y)
            after = model.predict(x[None])[0]
            assert loss.value(y, after) <= loss.value(y, p) + 1e-9, case


def test_the_decay_can_be_given_either_way():
    X, Y = stream(Hinge())
    tau = 0.02
    one, two = ILK(Gaussian(SIGMA), tau=tau), ILK(Gaussian(SIGMA), lam=tau / (1 - tau), eta=1.0)
    assert_allclose(one.run(X, Y), two.run(X, Y), rtol=1e-12, atol=1e-13)


def test_lazy_decay_equals_the_plain_one_across_rescales():
    X, Y = stream(Hinge(), n=500)  # the scale passes 1e-100 after 333 rounds
    assert_allclose(ILK(Gaussian(SIGMA), tau=0.5).run(X, Y), silk(X, Y, Hinge(), lam=1.0)[0][:, 0], atol=1e-10)


@pytest.mark.parametrize("drop", ["smallest", "oldest", "project", "merge"])
def test_a_prefix_and_its_continuation_are_one_run(drop):
    X, Y = stream(Hinge())
    whole, parts = (SILK(Gaussian(SIGMA), budget=20, drop=drop) for _ in range(2))
    expected = whole.run(X, Y)
    got = [*parts.run(X[:50], Y[:50]), *(parts.step(x, y) for x, y in zip(X[50:73], Y[50:73], strict=True))]
    assert_array_equal([*got, *parts.run(X[73:], Y[73:])], expected)


@pytest.mark.parametrize("drop", ["smallest", "oldest", "contribution", "project", "merge"])
def test_the_buffer_grows_and_shrinks_by_at_most_one(drop):
    X, Y = stream(Hinge())
    model = SILK(Gaussian(SIGMA), budget=15, drop=drop)
    sizes = [0]
    for x, y in zip(X, Y, strict=True):
        model.step(x, y)
        sizes.append(model.size)
    assert max(sizes) == 15
    assert np.diff(sizes).min() >= 0  # nothing leaves without a successor


def test_the_order_of_slots_is_no_matter():
    X, Y = stream(Hinge())
    model = SILK(Gaussian(SIGMA), budget=20, tau=0.01)
    model.run(X[:150], Y[:150])
    state = model._state()
    inner = state["expansion_"]._state()
    order = np.random.default_rng(0).permutation(20)
    for name in ("points_", "own_", "birth_"):
        inner[name] = inner[name][order]
    for name in ("coef_", "past_"):
        inner[name] = inner[name][:, order]
    shuffled = model.clone()
    expansion = state["expansion_"].clone()
    expansion._restore(inner)
    shuffled._restore({**state, "expansion_": expansion, "budget_": state["budget_"].clone()})
    assert_allclose(shuffled.run(X[150:], Y[150:]), model.run(X[150:], Y[150:]), rtol=1e-10, atol=1e-12)


def test_a_point_that_the_kernel_maps_to_zero_is_not_stored():
    model = ILK(Linear(), tau=0.5)
    model.step(np.array([2.0]), 1.0)
    before = model.predict([[2.0]])[0]
    assert model.step(np.array([0.0]), 1.0) == 0.0
    assert model.size == 1
    assert model.predict([[2.0]])[0] == pytest.approx(0.5 * before)  # decay still applies


def test_novelty_absorbs_an_unseen_constant_after_rho_over_c_rounds():
    model = SILK(Gaussian(0.1), loss="novelty", C=0.05, tau=0.0, budget=30)
    scores = np.array([model.step(np.array([0.3, 0.3])) for _ in range(30)])
    assert_allclose(scores[:21], 0.05 * np.arange(21), atol=1e-12)
    assert scores[21:] == pytest.approx(1.0)


def test_at_equal_step_and_ridge_the_implicit_step_is_the_robust_one():
    """8 seeds of the drifting Gaussians; `nystream reproduce ilk-figure1` prints the whole table."""
    kernel, streams = Gaussian(np.sqrt(0.5)), [drifting_gaussians(seed=seed).load() for seed in range(8)]
    for eta in (0.1, 0.3, 1.0, 3.0, 10.0):
        for lam in (0.01, 0.03):
            ilk, norma = (
                sum(np.sum(np.where(kind(kernel, eta=eta, lam=lam).run(X, y) >= 0, 1, -1) != y) for X, y in streams)
                for kind in (ILK, NORMA)
            )
            assert ilk <= 1.04 * norma
            assert eta < 3 or ilk <= 0.93 * norma


def test_giving_a_share_away_is_worth_more_than_removal_where_every_point_matters():
    """Checkerboard, 3000 rounds, 50 points: percent of correct signs before each label, mean of 3 seeds."""
    streams = [checkerboard(3000, seed=seed).load() for seed in range(3)]
    expected = {"smallest": 71.1, "oldest": 67.4, "project": 89.9, "merge": 90.6}
    for drop, wanted in expected.items():
        right = [
            np.mean(np.where(SILK(Gaussian(0.125), tau=1e-4, budget=50, drop=drop).run(X, y) >= 0, 1, -1) == y)
            for X, y in streams
        ]
        assert 100 * np.mean(right) == pytest.approx(wanted, abs=0.5), drop


@pytest.mark.parametrize("drop", ["smallest", "project", "merge"])
def test_columns_that_appear_late_count_as_zero_before(drop):
    X, Y = stream(Hinge(), n=120)
    wide = np.hstack([X, np.zeros((120, 1))])
    wide[60:, 3] = X[60:, 0]
    late, early = (SILK(Gaussian(SIGMA), budget=20, drop=drop) for _ in range(2))
    late.run(X[:60], Y[:60])
    early.run(wide[:60], Y[:60])
    late.widen(4)
    assert_allclose(late.run(wide[60:], Y[60:]), early.run(wide[60:], Y[60:]), rtol=1e-6, atol=1e-7)


def test_classes_that_appear_late_start_from_zero():
    X, Y = stream(MulticlassHinge())
    late = np.concatenate([np.flatnonzero(Y < 2)[:60], np.flatnonzero(Y >= 2)[:60]])
    open_ended = SILK(Gaussian(SIGMA), loss="multiclass_hinge", budget=25, drop="project")
    P = open_ended.run(X[late], Y[late].astype(float))
    assert np.isneginf(P[:60, 2:]).all()
    assert open_ended.predict(X).shape == (T, 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"C": 0}, "C must be a number greater than 0"),
        ({"tau": 1.0}, "tau must be a number at least 0 and less than 1"),
        ({"lam": -1.0}, "lam must be a number at least 0"),
        ({"eta": 0.0}, "eta must be a number greater than 0"),
        ({"schedule": "linear"}, "schedule must be one of 'constant', 'sqrt'"),
        ({"multiclass": "best"}, "multiclass must be one of 'exact', 'runner_up'"),
        ({"loss": "softmax", "multiclass": "runner_up"}, "softmax has one implicit step"),
        ({"loss": StructuredHinge(FAR, np.exp(-FAR))}, "use rule 'runner_up'"),
        ({"budget": 0}, "budget must be a whole number of at least 1"),
        ({"drop": "random"}, "drop must be one of 'smallest'"),
        ({"kernel": "gaussian"}, "kernel must be a kernel such as"),
        ({"kernel": Linear(), "drop": "merge"}, "drop='merge' needs a Gaussian kernel"),
    ],
)
def test_bad_parameters_are_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        SILK(**({"kernel": Gaussian(1.0)} | arguments))
