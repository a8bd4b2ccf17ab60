"""The compiled losses against the NumPy forms, which define them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nystream._core import losses as core
from nystream.losses import LOSSES, MulticlassHinge, Softmax, StructuredHinge
from oracles.losses import SCALAR, label_values

VECTOR = {
    "multiclass_hinge": MulticlassHinge(),
    "softmax": Softmax(),
    "structured_hinge": StructuredHinge(np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))),
}


def test_every_loss_has_a_code_of_its_own_and_knows_it():
    assert sorted(core.CODES.values()) == list(range(12))
    assert set(core.CODES) == set(LOSSES)
    for loss, _ in SCALAR.values():
        assert loss.compiled.code == core.CODES[loss.name]
    for name, loss in VECTOR.items():
        assert loss.compiled.code == core.CODES[name]


def test_the_compiled_form_is_made_once_and_shows_its_constant():
    loss = LOSSES["huber"](0.3)
    assert loss.compiled is loss.compiled
    assert repr(loss.compiled) == "CompiledLoss('huber', 0.3)"
    with pytest.raises(KeyError, match="quartic"):
        core.CompiledLoss("quartic")


@pytest.mark.parametrize("name", SCALAR)
def test_scalar_forms_equal_numpy(name):
    loss = SCALAR[name][0]
    rng = np.random.default_rng(0)
    n = 2000
    y, p = label_values(loss, rng, n), rng.normal(0, 1, n) * 10 ** rng.uniform(-2, 3, n)
    s, c = 10 ** rng.uniform(-8, 8, (2, n))
    form = loss.compiled
    for method in ("value", "grad", "second"):
        fast = [getattr(form, method)(*row) for row in zip(y, p, strict=True)]
        assert_allclose(fast, getattr(loss, method)(y, p), rtol=1e-12, atol=1e-300)
    fast = [form.implicit(*row) for row in zip(y, p, s, c, strict=True)]
    assert_allclose(fast, loss.implicit(y, p, s, c), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("name", SCALAR)
def test_scalar_forms_equal_numpy_on_the_kinks(name):
    loss = SCALAR[name][0]
    form, a = loss.compiled, loss.compiled.constant
    for y in (-1.0, 1.0):
        for p in (y, y + a, y - a, a, -a, 0.0):
            for method in ("value", "grad", "second"):
                assert getattr(form, method)(y, p) == pytest.approx(
                    getattr(loss, method)(np.array(y), np.array(p)), rel=1e-14, abs=0
                )


@pytest.mark.parametrize("name", VECTOR)
def test_vector_forms_equal_numpy(name):
    loss = VECTOR[name]
    rng = np.random.default_rng(1)
    n = 600
    y, P = rng.integers(0, 5, n), rng.normal(0, 1, (n, 5)) * 10 ** rng.uniform(-2, 2, (n, 1))
    s, c = 10 ** rng.uniform(-8, 8, (2, n))
    form = loss.compiled
    values = [form.multi_value(y[i], P[i]) for i in range(n)]
    assert_allclose(values, loss.value(y, P), rtol=1e-12, atol=1e-300)
    grads = [form.multi_grad(y[i], P[i]) for i in range(n)]
    assert_allclose(grads, loss.grad(y, P), rtol=1e-12, atol=1e-300)
    for rule in core.RULES:
        if rule == "runner_up" and name == "softmax":
            continue
        fast = [form.multi_implicit(rule, y[i], P[i], None, s[i], c[i]) for i in range(n)]
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
    softmax = core.CompiledLoss("softmax")
    for given, plain in ((P[1], P[1].copy()), ([1, 2, 3], np.array([1.0, 2.0, 3.0]))):
        assert_allclose(softmax.multi_grad(2, given), softmax.multi_grad(2, plain), rtol=0)


def test_bad_vectors_tables_and_labels_are_refused():
    plain = core.CompiledLoss("multiclass_hinge")
    hinge = core.CompiledLoss("structured_hinge", margins=1.0 - np.eye(3))
    with pytest.raises(ValueError, match="one number per label"):
        plain.multi_grad(0, np.zeros((2, 2)))
    with pytest.raises(ValueError, match="one number per label"):
        plain.multi_value(0, np.zeros(0))
    with pytest.raises(ValueError, match="do not fit a label table"):
        hinge.multi_value(0, np.zeros(2))
    with pytest.raises(ValueError, match="label 3 has no score"):
        hinge.multi_implicit("exact", 3, np.zeros(3), None, 1.0, 1.0)
    with pytest.raises(ValueError, match="scores has 2 numbers, p has 3"):
        hinge.multi_implicit("runner_up", 0, np.zeros(3), np.zeros(2), 1.0, 1.0)
