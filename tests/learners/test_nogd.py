"""NOGD: functional gradient descent, then gradient descent on the features of its own points."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream.features import AdaptiveNystrom
from nystream.kernels import Gaussian, Kernel, Linear, Polynomial
from nystream.learners.nogd import NOGD
from nystream.learners.norma import NORMA
from nystream.losses import MulticlassHinge, Softmax, StructuredHinge
from oracles import gaussian
from oracles.adagrad import adagrad
from oracles.landmarks import functional, nolana

SIGMA = 0.5
LOSSES = [
    "hinge",
    "logistic",
    "squared_hinge",
    "squared",
    "absolute",
    "huber",
    "novelty",
    "multiclass_hinge",
    "softmax",
]


def stream(n=300, d=3, seed=0, loss="hinge"):
    X = np.random.default_rng(seed).uniform(-1, 1, (n, d))
    f = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]
    if loss in ("multiclass_hinge", "softmax"):
        return X, np.digitize(f, [-0.4, 0.4]).astype(float), 3
    if loss in ("hinge", "logistic", "squared_hinge"):
        return X, np.where(f >= 0, 1.0, -1.0), 1
    return X, f if loss != "novelty" else np.zeros(n), 1


def known_classes(loss):
    """Three classes from the start, where the loss is one of classes: unknown ones would score -inf."""
    return {"multiclass_hinge": MulticlassHinge(classes=3), "softmax": Softmax(classes=3)}.get(loss, loss)


@pytest.mark.parametrize("loss", LOSSES)
def test_predictions_are_those_of_the_definition(loss):
    X, y, outputs = stream(loss=loss)
    model = NOGD(Gaussian(SIGMA), landmarks=40, loss=known_classes(loss), eta=0.2, schedule="sqrt", lam=0.01)
    expected, _ = nolana(X, y[:, None], SIGMA, 40, 32, np.inf, outputs, loss, 0.2, 0.01, "sqrt")
    assert_allclose(model.run(X, y).reshape(len(X), -1), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("loss", ["logistic", "absolute", "multiclass_hinge"])
def test_adaptive_steps_follow_the_definition(loss):
    X, y, outputs = stream(loss=loss)
    model = NOGD(Gaussian(SIGMA), landmarks=40, loss=known_classes(loss), eta=0.2, method="adagrad")
    expected, _ = adagrad(X, y[:, None], SIGMA, 40, 32, np.inf, outputs, loss, 0.2)
    assert_allclose(model.run(X, y).reshape(len(X), -1), expected, rtol=0, atol=1e-8)


def test_with_every_point_a_landmark_it_is_functional_gradient_descent():
    """60 points, then 240 rounds over the same points: the span holds everything, so nothing is approximated."""
    X, y, _ = stream(60)
    again = np.random.default_rng(1).integers(60, size=240)
    X, y = np.vstack([X, X[again]]), np.append(y, y[again])
    model = NOGD(Gaussian(0.3), landmarks=60, rank=60, tol=0.0, eta=0.3, lam=0.01)
    expected, _ = functional(X, y[:, None], 0.3, 1, "hinge", 0.3, 0.01)
    assert_allclose(model.run(X, y), expected[:, 0], rtol=0, atol=1e-11)


def test_support_takes_the_first_points_with_a_loss():
    X, y, _ = stream()
    model = NOGD(Gaussian(SIGMA), landmarks=25, rank=25, select="support", eta=0.7)
    expected, alpha = functional(X, y[:, None], SIGMA, 1, "hinge", 0.7)
    support = np.flatnonzero(alpha)[:25]
    last = support[-1]
    assert last > 24  # some points before it had no loss
    P = model.run(X[: last + 1], y[: last + 1])
    assert_allclose(P, expected[: last + 1, 0], rtol=0, atol=1e-12)
    assert_array_equal(model.points, X[support])
    f = gaussian(X, X[support], SIGMA) @ alpha[support, 0]
    assert_allclose(model.predict(X), f, rtol=0, atol=1e-9)  # rank = m: the switch changes nothing
    assert model.size == 25


def test_a_point_where_the_kernel_vanishes_is_no_support_point():
    model = NOGD(Linear(), landmarks=3, select="support")
    model.run(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]), [1.0, 1.0, -1.0, 1.0])
    assert_array_equal(model.points, [[1.0, 0.0], [0.0, 1.0]])


def test_repeated_landmarks_are_harmless():
    X, y, _ = stream(10)
    X, y = np.repeat(X, 20, axis=0), np.repeat(y, 20)  # 30 landmarks, two of them different
    expected, _ = functional(X[:40], y[:40, None], SIGMA, 1, "logistic", 0.2)
    model = NOGD(Gaussian(SIGMA), landmarks=30, loss="logistic", eta=0.2)
    assert_allclose(model.run(X[:40], y[:40]), expected[:, 0], rtol=0, atol=1e-12)
    assert np.count_nonzero(model.features_.rotation_.any(axis=1)) == 2
    assert np.isfinite(model.run(X, y)).all()


def test_rows_and_blocks_give_the_same_bits_and_predict_is_what_step_returns():
    X, y, _ = stream(120)
    block, rows = (NOGD(Gaussian(SIGMA), landmarks=33, loss="logistic") for _ in range(2))
    P = block.run(X, y)
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        before = rows.predict(x[None])[0]
        assert rows.step(x, label) == before == P[t]
    assert_array_equal(block.predict(X), rows.predict(X))


def test_several_targets_are_independent_columns_over_one_map():
    X, y, _ = stream(loss="squared")
    Y = np.column_stack([y, -y, y**2])
    together = NOGD(Polynomial(2), landmarks=12, loss="squared", eta=0.02)
    P = together.run(X, Y)
    for k in range(3):
        alone = NOGD(Polynomial(2), landmarks=12, loss="squared", eta=0.02)
        assert_allclose(P[:, k], alone.run(X, Y[:, k]), rtol=1e-10, atol=1e-12)


class Tanimoto(Kernel):
    def __call__(self, X, Y):
        XY = X @ Y.T
        return XY / ((X * X).sum(1)[:, None] + (Y * Y).sum(1) - XY)


def test_a_kernel_of_ones_own_serves_rows_and_blocks():
    X, y, _ = stream()
    X = np.abs(X)
    block, rows = (NOGD(0.5 * Tanimoto(), landmarks=30) for _ in range(2))
    P = block.run(X, y)
    assert_allclose(P, [rows.step(x, label) for x, label in zip(X, y, strict=True)], rtol=1e-10, atol=1e-12)
    assert_allclose(block.predict(X), rows.predict(X), rtol=1e-10, atol=1e-12)


def test_weights_multiply_the_loss_in_both_phases():
    X, y, _ = stream(90)
    weights = np.random.default_rng(3).integers(0, 3, 90).astype(float)
    weighted, whole = (NOGD(Gaussian(SIGMA), landmarks=30, eta=eta, loss="absolute") for eta in (0.1, 0.2))
    P = weighted.run(X, y, weights=np.full(90, 2.0))
    assert_allclose(P, whole.run(X, y), rtol=1e-12, atol=1e-13)
    none = NOGD(Gaussian(SIGMA), landmarks=30, select="support")
    none.run(X, y, weights=(weights > 0).astype(float))
    assert none.size == 30
    assert not any((X[weights == 0][:, None] == none.points).all(2).ravel())


def test_a_class_that_appears_late_gets_a_column_in_either_phase():
    X, y, _ = stream(200, loss="softmax")
    for late in (10, 150):
        first = y.copy()
        first[:late] = np.minimum(y[:late], 1)
        model = NOGD(Gaussian(SIGMA), landmarks=40, loss="softmax")
        P = model.run(X, first)
        assert P.shape == (200, 3)
        assert np.isinf(P[: late + 1, 2]).all()
        assert np.isfinite(P[late + 30 :]).all()


def test_memory_is_landmarks_and_one_rotation():
    X, y, _ = stream(300, d=5)
    model = NOGD(Gaussian(SIGMA), landmarks=50)
    model.run(X, y)
    bytes_after = model.nbytes
    model.run(X, y)
    assert model.nbytes == bytes_after < 8 * (50 * 5 + 50 * 40 + 300)
    assert model.size == 50


def test_more_columns_of_zeros_change_no_prediction_in_either_phase():
    X, y, _ = stream(100)
    wide = np.hstack([X, np.zeros((100, 2))])
    for learnt in (20, 80):
        model = NOGD(Gaussian(SIGMA), landmarks=40)
        model.run(X[:learnt], y[:learnt])
        twin = copy.deepcopy(model)
        twin.widen(5)
        assert_allclose(twin.run(wide[learnt:], y[learnt:]), model.run(X[learnt:], y[learnt:]), rtol=1e-10, atol=1e-12)


def test_the_map_is_the_fixed_one_of_its_points():
    X, y, _ = stream()
    model = NOGD(Gaussian(SIGMA), landmarks=40, rank=20)
    model.run(X, y)
    features = AdaptiveNystrom(Gaussian(SIGMA), X[:40], rank=20, eps=np.inf).fit(X)
    assert_array_equal(model.features_.transform(X), features.transform(X))


def test_bad_arguments_are_refused_with_the_way_out():
    for name, value, message in [
        ("landmarks", 0, "landmarks must be a whole number of at least 1, got 0"),
        ("rank", 11, "rank must be at most the number of landmarks, 10, got 11"),
        ("rank", 0, "rank must be a whole number of at least 1"),
        ("select", "last", "select must be one of 'first', 'support'; got 'last'"),
        ("eta", -1, "eta must be a number greater than 0"),
        ("schedule", "linear", "schedule must be one of"),
        ("tol", 1.0, "tol must be a number at least 0 and less than 1"),
        ("loss", "hing", "did you mean 'hinge'"),
    ]:
        with pytest.raises(ValueError, match=message):
            NOGD(Gaussian(), **{"landmarks": 10, name: value})
    with pytest.raises(ValueError, match="kernel must be a kernel"):
        NOGD("rbf")
    with pytest.raises(ValueError, match="eta \\* lam must be less than 1"):
        NOGD(Gaussian(), lam=10.0)
    with pytest.raises(ValueError, match=r"the kernel between landmarks is not finite; scale the inputs"):
        NOGD(Polynomial(9), landmarks=2).run(np.full((2, 1), 1e40), [1.0, -1.0])


def test_labels_that_are_alike_learn_together_in_both_phases():
    """With as many landmarks as points NOGD is functional descent under the joint kernel k(x, x') M[y, y']."""
    loss = StructuredHinge(1 - np.eye(3), np.eye(3) + 0.4)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 3, 60).astype(float)
    X = np.vstack([X[:20], X[rng.integers(0, 20, 40)]])  # after the landmarks, only points of their span
    model = NOGD(Gaussian(1.0), landmarks=20, rank=20, loss=loss, eta=0.2, tol=0.0)
    assert_allclose(model.run(X, y), NORMA(Gaussian(1.0), loss=loss, eta=0.2, lam=0.0).run(X, y), atol=1e-8)
