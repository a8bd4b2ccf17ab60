"""The compiled losses against the NumPy forms, which define them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nystream._core import losses as core
from nystream.losses import LOSSES, MulticlassHinge, Softmax, StructuredHinge
from oracles_losses import SCALAR, label_values

VECTOR = {
    "multiclass_hinge": MulticlassHinge(),
    "softmax": Softmax(),
    "structured_hinge": StructuredHinge(np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))),
}


def test_every_loss_has_a_code_of_its_own_and_knows_it():
    assert sorted(core.CODES.values()) == list(range(12))
    assert set(core.CODES) == set(LOSSES)
    for loss, _ in SCALAR.values():
        assert loss.compiled[0] == core.CODES[loss.name]
    for name, loss in VECTOR.items():
        assert loss.compiled[0] == core.CODES[name]


@pytest.mark.parametrize("name", SCALAR)
def test_scalar_forms_equal_numpy(name):
    loss = SCALAR[name][0]
    rng = np.random.default_rng(0)
    n = 2000
    y, p = label_values(loss, rng, n), rng.normal(0, 1, n) * 10 ** rng.uniform(-2, 3, n)
    s, c = 10 ** rng.uniform(-8, 8, (2, n))
    kind, a, _ = loss.compiled
    for method in ("value", "grad", "second"):
        fast = [getattr(core, method)(kind, a, *row) for row in zip(y, p, strict=True)]
        assert_allclose(fast, getattr(loss, method)(y, p), rtol=1e-12, atol=1e-300)
    fast = [core.implicit(kind, a, *row) for row in zip(y, p, s, c, strict=True)]
    assert_allclose(fast, loss.implicit(y, p, s, c), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("name", SCALAR)
def test_scalar_forms_equal_numpy_on_the_kinks(name):
    loss = SCALAR[name][0]
    kind, a, _ = loss.compiled
    for y in (-1.0, 1.0):
        for p in (y, y + a, y - a, a, -a, 0.0):
            for method in ("value", "grad", "second"):
                assert getattr(core, method)(kind, a, y, p) == pytest.approx(
                    getattr(loss, method)(np.array(y), np.array(p)), rel=1e-14, abs=0
                )


@pytest.mark.parametrize("name", VECTOR)
def test_vector_forms_equal_numpy(name):
    loss = VECTOR[name]
    rng = np.random.default_rng(1)
    n = 600
    y, P = rng.integers(0, 5, n), rng.normal(0, 1, (n, 5)) * 10 ** rng.uniform(-2, 2, (n, 1))
    s, c = 10 ** rng.uniform(-8, 8, (2, n))
    kind, D = core.CODES[name], loss.label_margins
    values = [core.multi_value(kind, D, y[i], P[i]) for i in range(n)]
    assert_allclose(values, loss.value(y, P), rtol=1e-12, atol=1e-300)
    grads = [core.multi_grad(kind, D, y[i], P[i]) for i in range(n)]
    assert_allclose(grads, loss.grad(y, P), rtol=1e-12, atol=1e-300)
    rules = {"exact": core.EXACT, "runner_up": core.RUNNER_UP}
    for rule, code in rules.items():
        if rule == "runner_up" and name == "softmax":
            continue
        fast = [core.multi_implicit(kind, code, D, None, y[i], P[i], None, s[i], c[i]) for i in range(n)]
        slow = loss.implicit(y, P, s, c, rule=rule)
        # entries far below the largest are differences of scores: their rounding is that of the largest
        assert (np.abs(fast - slow).max(axis=1) <= 1e-12 * np.abs(slow).max(axis=1)).all()
        if name == "softmax":
            assert_allclose(fast, slow, rtol=1e-12, atol=1e-300)


def test_joint_kernel_step_equals_numpy():
    rng = np.random.default_rng(2)
    B = rng.normal(0, 1, (5, 3))  # rank 3: some pairs of labels nearly coincide
    loss = StructuredHinge(VECTOR["structured_hinge"].margins, similarity=B @ B.T)
    y, P, F = rng.integers(0, 5, 100), rng.normal(0, 1, (100, 5)), rng.normal(0, 1, (100, 5))
    for scores in (None, F):
        slow = loss.implicit(y, P, 0.7, 0.9, rule="runner_up", scores=scores)
        for i in range(100):
            f = None if scores is None else scores[i]
            assert_allclose(
                loss.implicit(y[i], P[i], 0.7, 0.9, rule="runner_up", scores=f), slow[i], rtol=1e-12, atol=1e-14
            )


def test_score_vectors_of_any_layout_and_type_are_read_right():
    P = np.asfortranarray(np.random.default_rng(3).normal(0, 1, (4, 5)))
    kind = core.CODES["softmax"]
    for given, plain in ((P[1], P[1].copy()), ([1, 2, 3], np.array([1.0, 2.0, 3.0]))):
        assert_allclose(core.multi_grad(kind, None, 2, given), core.multi_grad(kind, None, 2, plain), rtol=0)


def test_bad_vectors_tables_and_labels_are_refused():
    kind, D = core.CODES["structured_hinge"], 1.0 - np.eye(3)
    with pytest.raises(ValueError, match="one number per label"):
        core.multi_grad(kind, None, 0, np.zeros((2, 2)))
    with pytest.raises(ValueError, match="one number per label"):
        core.multi_value(kind, None, 0, np.zeros(0))
    with pytest.raises(ValueError, match="do not fit a label table"):
        core.multi_value(kind, D, 0, np.zeros(2))
    with pytest.raises(ValueError, match="label 3 has no score"):
        core.multi_implicit(kind, core.EXACT, D, None, 3, np.zeros(3), None, 1.0, 1.0)
    with pytest.raises(ValueError, match="scores has 2 numbers, p has 3"):
        core.multi_implicit(kind, core.RUNNER_UP, D, None, 0, np.zeros(3), np.zeros(2), 1.0, 1.0)
