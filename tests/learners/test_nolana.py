"""NOLANA: gradient descent on a map that moves, against its definition and the laws of its second stage."""

from __future__ import annotations

import copy
from itertools import pairwise

import numpy as np
import pytest
from grids import grid
from numpy.testing import assert_allclose, assert_array_equal

from nystream.kernels import Gaussian, Kernel, Laplacian, Polynomial
from nystream.learners.nogd import NOGD
from nystream.learners.nolana import NOLANA
from nystream.losses import MulticlassHinge, Softmax
from oracles.adagrad import adagrad
from oracles.landmarks import nolana

SIGMA = 0.5
ORDERS = ("gd_ls", "ls_gd")
CLASSES = {"multiclass_hinge": MulticlassHinge(classes=3), "softmax": Softmax(classes=3)}
LOSSES = [
    "hinge",
    "logistic",
    "squared_hinge",
    "squared",
    "absolute",
    "epsilon_insensitive",
    "pinball",
    "huber",
    "novelty",
]


def stream(n=300, loss="hinge", seed=0):
    """Three columns that drift, labels for the loss, outputs."""
    X = np.random.default_rng(seed).uniform(-1, 1, (n, 3)) + np.linspace(0, 1, n)[:, None]
    f = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]
    if loss in CLASSES:
        return X, np.digitize(f, [0.2, 1.0]).astype(float), 3
    if loss in ("hinge", "logistic", "squared_hinge"):
        return X, np.where(f >= 0.5, 1.0, -1.0), 1
    return X, f if loss != "novelty" else np.zeros(n), 1


@pytest.mark.parametrize(("loss", "order"), grid([*LOSSES, *CLASSES], ORDERS))
def test_predictions_are_those_of_the_definition(loss, order):
    X, y, outputs = stream(loss=loss)
    parameters = {"eta": 0.1, "lam": 0.01, "schedule": "sqrt", "order": order, "solver": "eigh"}
    model = NOLANA(Gaussian(SIGMA), landmarks=30, eps=0.15, loss=CLASSES.get(loss, loss), **parameters)
    expected, moves = nolana(X, y[:, None], SIGMA, 30, 24, 0.15, outputs, loss, **parameters)
    assert_allclose(model.run(X, y).reshape(len(X), -1), expected, rtol=0, atol=1e-10)
    assert model.moves == moves > 100


@pytest.mark.parametrize(("rank", "loss", "order"), grid([30, 24, 9, 1], ["hinge", "squared", "softmax"], ORDERS))
def test_reflections_are_those_of_their_definition(rank, loss, order):
    X, y, outputs = stream(loss=loss)
    X[40:60] = X[:20]  # rows that are landmarks
    parameters = {"eta": 0.1, "lam": 0.01, "schedule": "sqrt", "order": order}
    model = NOLANA(
        Gaussian(SIGMA), landmarks=30, rank=rank, eps=0.15, loss=CLASSES.get(loss, loss), solver="reflect", **parameters
    )
    expected, moves = nolana(X, y[:, None], SIGMA, 30, rank, 0.15, outputs, loss, solver="reflect", **parameters)
    assert_allclose(model.run(X, y).reshape(len(X), -1), expected, rtol=0, atol=1e-9)
    assert model.moves == moves > 100


@pytest.mark.parametrize("order", ORDERS)
def test_at_full_rank_reflections_are_a_fresh_decomposition_with_no_ridge(order):
    """Any orthonormal basis serves: least squares at as many points as features is the projection on the new span."""
    X, y, _ = stream()
    settings = {"landmarks": 30, "rank": 30, "eps": 0.15, "order": order}
    fast = NOLANA(Gaussian(0.3), **settings)
    slow = NOLANA(Gaussian(0.3), **settings, solver="eigh", theta=0.0, tol=0.0)
    assert_allclose(fast.run(X, y), slow.run(X, y), rtol=0, atol=1e-5)  # up to the ridge, 1e-8 times the trace
    assert fast.moves == slow.moves > 100


@pytest.mark.parametrize(("loss", "order"), grid(["hinge", "squared", "softmax"], ORDERS))
def test_adaptive_steps_follow_the_definition(loss, order):
    X, y, outputs = stream(loss=loss)
    model = NOLANA(
        Gaussian(SIGMA), landmarks=30, eps=0.15, loss=CLASSES.get(loss, loss), eta=0.2, method="adagrad", order=order
    )
    expected, moves = adagrad(X, y[:, None], SIGMA, 30, 24, 0.15, outputs, loss, 0.2, order)
    assert_allclose(model.run(X, y).reshape(len(X), -1), expected, rtol=0, atol=1e-7)  # roots magnify small gradients
    assert model.moves == moves > 100


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("eps", "count", "rank", "theta"), [(0.0, "moves", 24, None), (0.3, "all", 30, 0.0), (0.3, "moves", 12, 1e-2)]
)
def test_every_option_follows_the_definition(order, eps, count, rank, theta):
    X, y, _ = stream()
    X[40:60] = X[:20]  # rows that are landmarks
    model = NOLANA(
        Gaussian(SIGMA), landmarks=30, rank=rank, eps=eps, theta=theta, order=order, count=count, solver="eigh"
    )
    expected, moves = nolana(
        X, y[:, None], SIGMA, 30, rank, eps, 1, "hinge", 0.3, theta=theta, order=order, count=count
    )
    assert_allclose(model.run(X, y), expected[:, 0], rtol=0, atol=1e-10)
    assert model.moves == moves


def test_landmarks_that_never_move_are_nogd_to_the_bit():
    X, y, _ = stream()
    fixed = NOGD(Gaussian(SIGMA), landmarks=31, lam=0.01)
    expected = fixed.run(X, y)
    for eps in (np.inf, 1e6):
        model = NOLANA(Gaussian(SIGMA), landmarks=31, lam=0.01, eps=eps)
        assert_array_equal(model.run(X, y), expected)
        assert_array_equal(model.predict(X), fixed.predict(X))
        assert model.moves == 0


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kernel", [Gaussian(SIGMA), Laplacian(1.0), Polynomial(2)], ids=repr)
def test_rows_and_blocks_of_any_size_give_the_same_bits(kernel, order):
    X, y, _ = stream(1200)
    make = NOLANA(kernel, landmarks=25, eps=0.4, loss="logistic", eta=0.02, order=order, count="all").clone
    whole, rows = make(), make()
    P = whole.run(X, y)
    assert whole.moves > 10
    assert_array_equal(P, [rows.step(x, label) for x, label in zip(X, y, strict=True)])
    assert_array_equal(whole.points, rows.points)
    assert_array_equal(whole.features_.motion_.counts_, rows.features_.motion_.counts_)
    pieces = make()
    cuts = [0, 24, 26, 300, 301, 900, 1200]
    assert_array_equal(np.concatenate([pieces.run(X[a:b], y[a:b]) for a, b in pairwise(cuts)]), P)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("solver", ["reflect", "eigh", "warm", "rank2"])
def test_a_moved_landmark_never_touches_the_prediction_of_its_own_round(order, solver):
    X, y, _ = stream(150)
    model = NOLANA(Gaussian(SIGMA), landmarks=20, eps=0.0, order=order, solver=solver)
    for x, label in zip(X, y, strict=True):
        before = model.predict(x[None])[0]
        assert model.step(x, label) == before
    assert model.moves == 130  # all rows after the landmarks


def test_predictions_do_not_know_the_signs_of_eigenvectors():
    X, y, _ = stream()
    one = NOLANA(Gaussian(SIGMA), landmarks=20, eps=0.2, solver="eigh")
    one.run(X[:150], y[:150])
    two = copy.deepcopy(one)
    signs = np.where(np.arange(16) % 3, 1.0, -1.0)
    two.features_.pairs_.U_ *= signs
    two.features_.rotation_ *= signs[:, None]
    two.solver_.W_ *= signs
    assert_allclose(two.predict(X), one.predict(X), rtol=0, atol=1e-12)
    assert_allclose(two.run(X[150:], y[150:]), one.run(X[150:], y[150:]), rtol=0, atol=1e-11)
    assert one.moves == two.moves > 60


@pytest.mark.parametrize("rank", [20, 16, 3])
def test_predictions_do_not_know_the_basis_that_reflections_turn(rank):
    X, y, _ = stream()
    one = NOLANA(Gaussian(SIGMA), landmarks=20, rank=rank, eps=0.2, solver="reflect")
    one.run(X[:150], y[:150])
    two = copy.deepcopy(one)
    rng = np.random.default_rng(0)
    for part in (slice(rank), slice(rank, 20)):
        Q = np.linalg.qr(rng.normal(size=(20, 20))[part, part])[0]
        two.features_.rotation_[part] = Q @ two.features_.rotation_[part]
        if part.start is None:
            two.solver_.W_[:] = two.solver_.W_ @ Q.T
    assert_allclose(two.predict(X), one.predict(X), rtol=0, atol=1e-10)
    assert_allclose(two.run(X[150:], y[150:]), one.run(X[150:], y[150:]), rtol=0, atol=1e-9)
    assert one.moves == two.moves > 60


@pytest.mark.parametrize(("solver", "rank"), [("reflect", 60), ("reflect", 48), ("warm", 18), ("rank2", 18)])
def test_cheaper_refreshes_keep_the_kernel_and_the_accuracy(solver, rank):
    X, y, _ = stream(1500)
    exact, cheap = (NOLANA(Gaussian(0.8), landmarks=60, rank=rank, eps=0.2, solver=s) for s in ("eigh", solver))
    right = [np.mean(m.run(X, y)[500:] * y[500:] > 0) for m in (exact, cheap)]
    assert exact.moves == cheap.moves > 300
    assert abs(right[0] - right[1]) < 0.02
    K = Gaussian(0.8)(X, X)
    error = [np.linalg.norm(K - Z @ Z.T) for Z in (m.features_.transform(X) for m in (exact, cheap))]
    assert error[1] < 1.05 * error[0]


def test_several_targets_share_one_map():
    X, y, _ = stream(loss="squared")
    Y = np.column_stack([y, 1 - y])
    P = NOLANA(Gaussian(SIGMA), landmarks=25, eps=0.2, loss="squared", eta=0.1).run(X, Y)
    for k in range(2):
        alone = NOLANA(Gaussian(SIGMA), landmarks=25, eps=0.2, loss="squared", eta=0.1)
        assert_allclose(P[:, k], alone.run(X, Y[:, k]), rtol=1e-9, atol=1e-10)


class Tanimoto(Kernel):
    def __call__(self, X, Y):
        XY = X @ Y.T
        return XY / ((X * X).sum(1)[:, None] + (Y * Y).sum(1) - XY)


def test_a_kernel_of_ones_own_moves_too():
    X, y, _ = stream()
    X = np.abs(X)
    block, rows = (NOLANA(Tanimoto() + Gaussian(2.0), landmarks=20, eps=0.2) for _ in range(2))
    P = block.run(X, y)
    assert block.moves > 30
    assert_allclose(P, [rows.step(x, label) for x, label in zip(X, y, strict=True)], rtol=0, atol=1e-9)


def test_the_default_eps_is_the_spacing_of_the_first_landmarks():
    X, y, _ = stream(100)
    model = NOLANA(Gaussian(SIGMA), landmarks=40)
    model.run(X, y)
    squares = ((X[:40, None] - X[:40]) ** 2).sum(2) + np.diag(np.full(40, np.inf))
    assert_allclose(model.features_.motion_.eps_, np.quantile(squares.min(1), 0.9), rtol=1e-12)


def test_memory_is_bounded_by_the_landmarks():
    X, y, _ = stream(600)
    model = NOLANA(Gaussian(SIGMA), landmarks=30, eps=0.05)
    model.run(X[:60], y[:60])
    before = model.nbytes
    model.run(X, y)
    assert model.nbytes == before
    assert model.size == 30
    assert model.moves > 100


def test_bad_arguments_are_refused_with_the_way_out():
    for name, value, message in [
        ("eps", -1.0, "eps must be a number at least 0"),
        ("eps", np.nan, "eps must be a number at least 0"),
        ("theta", -1e-9, "theta must be a number at least 0"),
        ("order", "gd", "order must be one of 'gd_ls', 'ls_gd'; got 'gd'"),
        ("solver", "qr", "solver must be one of 'auto', 'reflect', 'eigh', 'warm', 'rank2'"),
        ("method", "adam", "method must be one of 'sgd', 'adagrad'; got 'adam'"),
        ("count", "some", "count must be one of 'moves', 'all'"),
        ("rank", 101, "rank must be at most the number of landmarks, 100"),
    ]:
        with pytest.raises(ValueError, match=message):
            NOLANA(Gaussian(), **{name: value})
    with pytest.raises(ValueError, match=r"method='adagrad' takes no ridge here, got lam=0\.1"):
        NOLANA(Gaussian(), method="adagrad", lam=0.1)


def test_given_landmarks_are_learnt_on_from_the_first_round(tmp_path):
    """The definition, with weights 0 on a map built on the given points."""
    X, y, _ = stream()
    start = X[::15][:20].copy()
    model = NOLANA(Gaussian(SIGMA), landmarks=start, eps=0.2, solver="eigh", order="gd_ls")
    p = model.run(X, y)
    # rows without a gradient before them: the definition takes them as landmarks and stays at 0
    silent = np.vstack([start, X])
    expected, moves = nolana(
        silent, np.vstack([np.full((20, 1), np.nan), y[:, None]]), SIGMA, 20, 16, 0.2, 1, "hinge", 0.3
    )
    assert_allclose(p, expected[20:, 0], rtol=0, atol=1e-10)
    assert model.moves == moves > 20
    assert model.clone().run(X, y).tolist() == p.tolist()
    again = NOLANA(Gaussian(SIGMA), landmarks=start, eps=0.2, solver="eigh")
    assert_allclose([again.step(x, label) for x, label in zip(X, y, strict=True)], p, atol=1e-12)


def test_counts_of_landmarks_start_at_one():
    X, y, _ = stream()
    for settings in ({"eps": 0.0}, {"eps": 0.3, "count": "all"}):
        model = NOLANA(Gaussian(SIGMA), landmarks=20, **settings)
        model.run(X[:20], y[:20])
        assert model.features_.motion_.counts_.tolist() == [1] * 20
        assert model.moves == 0


def test_given_landmarks_of_another_width_are_refused_and_nothing_is_kept():
    model = NOLANA(Gaussian(SIGMA), landmarks=np.zeros((4, 2)) + np.arange(4)[:, None])
    with pytest.raises(ValueError, match="landmarks have 2 columns, but the rows have 3"):
        model.step(np.zeros(3), 1.0)
    model.step(np.zeros(2), 1.0)
    assert model.size == 4
    with pytest.raises(ValueError, match="not selected"):
        NOGD(Gaussian(SIGMA), landmarks=np.zeros((4, 2)), select="support")
