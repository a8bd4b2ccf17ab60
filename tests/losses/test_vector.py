"""Shapes and refusals that the losses of a score vector share."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nystream.losses import MulticlassHinge, Softmax, StructuredHinge

LOSSES = [MulticlassHinge(), Softmax(), StructuredHinge(1.0 - np.eye(3)), MulticlassHinge(3), Softmax(classes=3)]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_block_is_its_rows(loss):
    rng = np.random.default_rng(0)
    P, y = rng.normal(0, 1, (7, 3)), rng.integers(0, 3, 7)
    s, c = 10 ** rng.uniform(-1, 1, (2, 7))
    rows = range(7)
    assert_allclose(loss.value(y, P), [loss.value(y[i], P[i]) for i in rows], rtol=1e-13, atol=1e-15)
    assert_allclose(loss.grad(y, P), [loss.grad(y[i], P[i]) for i in rows], rtol=1e-13, atol=1e-15)
    assert_allclose(loss.second(y, P), [loss.second(y[i], P[i]) for i in rows], rtol=1e-13, atol=1e-15)
    assert_allclose(loss.implicit(y, P, s, c), [loss.implicit(y[i], P[i], s[i], c[i]) for i in rows], rtol=1e-12)
    assert_allclose(loss.grad(y[:, None].astype(float), P), loss.grad(y, P), rtol=0)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_gradients_and_steps_sum_to_zero_and_an_empty_block_is_empty(loss):
    p = np.array([0.3, 0.1, -0.7])
    assert abs(loss.grad(2.0, p).sum()) < 1e-15
    assert abs(loss.implicit(2.0, p, 1.0, 0.3).sum()) < 1e-15
    assert loss.lipschitz(1.0) ** 2 >= (loss.grad(2, 50 * p) ** 2).sum()
    assert loss.value(np.empty(0), np.empty((0, 3))).shape == (0,)
    assert loss.implicit(np.empty(0), np.empty((0, 3)), 1.0, 1.0).shape == (0, 3)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_label_without_a_score_is_refused_by_number_and_by_block(loss):
    for y in (-1, 3):
        with pytest.raises(ValueError, match=f"label {y} has no score; there are 3 scores"):
            loss.grad(y, np.zeros(3))
        with pytest.raises(ValueError, match=f"label {y} has no score; there are 3 scores"):
            loss.grad([0, y], np.zeros((2, 3)))


def test_scores_that_do_not_fit_the_label_table_are_refused():
    loss = StructuredHinge(1.0 - np.eye(3))
    with pytest.raises(ValueError, match=r"4 scores do not fit a label table of shape \(3, 3\)"):
        loss.value(0, np.zeros(4))
    with pytest.raises(ValueError, match=r"4 scores do not fit a label table of shape \(3, 3\)"):
        loss.value([0], np.zeros((1, 4)))
    with pytest.raises(ValueError, match="got shape"):
        loss.value(0, np.float64(1.0))


def test_the_number_of_scores_may_grow_while_classes_are_open():
    for loss in (MulticlassHinge(), Softmax()):
        assert loss.grad(0, np.zeros(2)).shape == (2,)
        assert loss.grad(0, np.zeros(5)).shape == (5,)


@pytest.mark.parametrize("kind", [MulticlassHinge, Softmax])
def test_fewer_than_two_classes_are_refused(kind):
    for bad in (1, 0, 2.0, True):
        with pytest.raises(ValueError, match="classes must be a whole number of at least 2"):
            kind(classes=bad)
