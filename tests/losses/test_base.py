"""A loss of one's own, and what every loss shares as an object with parameters."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nystream.losses import LOSSES, Huber, Loss, Pinball, StructuredHinge
from nystream.persist import from_bytes, to_bytes
from oracles.losses import SCALAR

STRUCTURED = StructuredHinge([[0, 1, 2], [1, 0, 1], [2, 1, 0]], similarity=np.eye(3) + 0.5)


@pytest.mark.parametrize("name", SCALAR)
def test_bisection_of_the_base_class_agrees_with_every_closed_form(name):
    loss = SCALAR[name][0]
    rng = np.random.default_rng(0)
    y, p = rng.choice([-1.0, 1.0], 200), rng.normal(0, 2, 200)
    s, c = 10 ** rng.uniform(-1, 1, (2, 200))
    s[:10] = 0.0
    assert_allclose(Loss.implicit(loss, y, p, s, c), loss.implicit(y, p, s, c), rtol=1e-11, atol=1e-13)


def test_a_loss_of_ones_own_needs_value_and_grad():
    class Cosh(Loss):
        name = "cosh"

        def value(self, y, p):
            return np.cosh(p - y)

        def grad(self, y, p):
            return np.sinh(p - y)

    loss = Cosh()
    alpha = loss.implicit(1.0, np.array([0.0, 2.0, 1.0]), 0.5, 2.0)
    assert_allclose(alpha, -2.0 * loss.grad(1.0, np.array([0.0, 2.0, 1.0]) + 0.5 * alpha), rtol=1e-12, atol=1e-14)
    assert loss.curvature(1.0) == 0.0
    assert loss.compiled is None
    with pytest.raises(NotImplementedError):
        loss.lipschitz(1.0)


def every_loss():
    return [kind() if name != "structured_hinge" else STRUCTURED for name, kind in LOSSES.items()]


@pytest.mark.parametrize("loss", [*every_loss(), Huber(0.3), Pinball(0.9)], ids=repr)
def test_copies_by_every_road_are_the_same_loss(loss):
    p, y = (np.array([0.3, -1.0, 0.4]), 1) if loss.multiclass else (0.3, 1.0)
    for twin in (loss.clone(), copy.deepcopy(loss), pickle.loads(pickle.dumps(loss)), from_bytes(to_bytes(loss))):
        assert type(twin) is type(loss)
        assert repr(twin) == repr(loss)
        assert repr(twin.compiled) == repr(loss.compiled)
        assert_allclose(twin.value(y, p), loss.value(y, p), rtol=0)
        assert_allclose(twin.grad(y, p), loss.grad(y, p), rtol=0)


def test_changed_parameters_reach_the_compiled_form():
    loss = Huber().set_params(delta=0.25)
    assert loss.compiled.constant == 0.25
    assert loss.grad(0.0, 5.0) == 0.25
