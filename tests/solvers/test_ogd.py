"""OGD against the recursion written slowly, the proximal definition, and its own laws."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import persist
from nystream.kernels import Linear
from nystream.learners import ILK, NORMA
from nystream.losses import LOSSES, Hinge, Loss, MulticlassHinge, Softmax, StructuredHinge, as_loss
from nystream.runtime.types import Change
from nystream.solvers import OGD
from oracles.features import descent

METHODS = ["sgd", "adagrad", "adam", "implicit"]
ORDINAL = StructuredHinge(np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0))))
ALL = [ORDINAL if name == "structured_hinge" else as_loss(name) for name in LOSSES]


def stream(loss, n=120, dim=11, seed=0):
    """Rows, labels (n, 1) of the loss's kind, weights."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, dim)) / np.sqrt(dim)
    f = 2 * Z[:, 0] - Z[:, 1] + 0.3 * rng.normal(size=n)
    Y = {"real": f, "sign": np.where(f >= 0, 1.0, -1.0), "class": np.digitize(f, [-0.3, 0.3]) * 1.0, "none": 0 * f}
    return Z, Y[loss.labels][:, None], rng.uniform(0, 2, n)


def started(loss, dim=11, outputs=None, **params):
    solver = OGD(loss, **params)
    solver.start(dim, outputs or (3 if solver.labels == "class" else 1))
    return solver


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("loss", ALL, ids=lambda loss: loss.name)
def test_run_equals_the_recursion_written_slowly(loss, method):
    Z, Y, weights = stream(loss)
    for eta, schedule, lam in [(0.3, "constant", 0.05), (1.0, "sqrt", 0.0)]:
        solver = started(loss, eta=eta, schedule=schedule, lam=lam, method=method)
        P, w = descent(loss, Z, Y, weights, method, eta, schedule, lam)
        assert_allclose(solver.run(Z, Y, weights), P, rtol=1e-9, atol=1e-11)
        assert_allclose(solver.weights, w, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("loss", ["squared", "hinge", "softmax"])
def test_run_equals_the_loop_of_step_bit_for_bit(loss, method):
    Z, Y, weights = stream(as_loss(loss))
    params = {"method": method, "lam": 0.01, "schedule": "sqrt", "average": True}
    block, rows, cut = (started(loss, **params) for _ in range(3))
    P = block.run(Z, Y, weights)
    assert_array_equal(P, [rows.step(z, y, w) for z, y, w in zip(Z, Y, weights, strict=True)])
    pieces = [slice(i, i + 7) for i in range(0, 120, 7)]
    assert_array_equal(P, np.vstack([cut.run(Z[i], Y[i], weights[i]) for i in pieces]))
    for other in (rows, cut):
        assert_array_equal(block.weights, other.weights)
        assert_array_equal(block.averaged(), other.averaged())
        assert block.t_ == other.t_ == 120


def test_a_step_predicts_exactly_what_predict_says():
    Z, Y, _ = stream(Softmax())
    solver = started("softmax")
    for z, y in zip(Z, Y, strict=True):
        expected = solver.predict(z[None])[0]
        assert_array_equal(solver.step(z, y), expected)


@pytest.mark.parametrize("loss", ALL, ids=lambda loss: loss.name)
def test_the_implicit_step_minimises_the_proximal_objective(loss):
    Z, Y, weights = stream(loss, n=25)
    eta, lam = 3.0, 0.1
    solver = started(loss, method="implicit", eta=eta, lam=lam)
    rng = np.random.default_rng(1)

    def objective(w, before, z, y, weight):
        value = loss.value(int(y[0]), z @ w) if loss.multiclass else loss.value(y, z @ w)[0]
        return 0.5 * np.sum((w - before) ** 2) + eta * (0.5 * lam * np.sum(w**2) + weight * value)

    for z, y, weight in zip(Z, Y, weights, strict=True):
        before = solver.weights.copy()
        solver.step(z, y, weight)
        least = objective(solver.weights, before, z, y, weight)
        for size in 10.0 ** rng.uniform(-5, 0, 40):
            other = solver.weights + size * rng.normal(size=before.shape)
            along = solver.weights + size * np.outer(z, rng.normal(size=before.shape[1]))
            for w in (other, along):
                assert objective(w, before, z, y, weight) >= least - 1e-12 * max(1, abs(least))


def test_a_large_implicit_step_never_raises_the_loss_at_the_point_but_a_gradient_step_does():
    Z, Y, _ = stream(as_loss("squared"))
    implicit, explicit = started("squared", method="implicit", eta=50.0), started("squared", eta=50.0)
    for z, y in zip(Z[:10], Y[:10], strict=True):
        p = implicit.step(z, y)
        assert (implicit.predict(z[None])[0] - y) ** 2 <= (p - y) ** 2
    p = explicit.step(Z[0], Y[0])
    assert (explicit.predict(Z[:1])[0] - Y[0]) ** 2 > (p - Y[0]) ** 2


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("loss", ["squared", "absolute", "huber"])
def test_k_targets_are_k_independent_columns(loss, method):
    Z, _, weights = stream(as_loss(loss))
    Y = Z @ np.random.default_rng(2).normal(size=(11, 4))
    together = started(loss, outputs=4, method=method, lam=0.02)
    P = together.run(Z, Y, weights)
    for k in range(4):
        alone = started(loss, method=method, lam=0.02)
        assert_array_equal(alone.run(Z, np.ascontiguousarray(Y[:, k : k + 1]), weights), P[:, k : k + 1])


class PlainHinge(Loss):
    """The hinge as a user would write it, without a compiled form."""

    name = "plain_hinge"
    labels = "sign"

    def value(self, y, p):
        return max(0.0, 1 - y * p)

    def grad(self, y, p):
        return -y if y * p < 1 else 0.0

    def implicit(self, y, p, s, c):
        return y * min(max((1 - y * p) / s, 0.0), c)


class PlainMulticlassHinge(Loss):
    name = "plain_multiclass_hinge"
    labels = "class"
    multiclass = True

    def grad(self, y, p):
        return MulticlassHinge().grad([y], p[None])[0]

    def implicit(self, y, p, s, c):
        return MulticlassHinge().implicit([y], p[None], s, c)[0]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("plain", "built_in"), [(PlainHinge(), Hinge()), (PlainMulticlassHinge(), MulticlassHinge())])
def test_a_loss_of_ones_own_learns_like_its_compiled_twin(plain, built_in, method):
    assert plain.compiled is None
    assert built_in.compiled is not None
    Z, Y, weights = stream(built_in)
    slow_path, fast_path = (started(loss, method=method, lam=0.01) for loss in (plain, built_in))
    assert_allclose(slow_path.run(Z, Y, weights), fast_path.run(Z, Y, weights), rtol=1e-12, atol=1e-14)
    assert_allclose(slow_path.weights, fast_path.weights, rtol=1e-12, atol=1e-14)


def test_an_error_inside_a_loss_of_ones_own_reaches_the_caller():
    class Broken(PlainHinge):
        def grad(self, y, p):
            raise ZeroDivisionError("the loss is at fault")

    solver = started(Broken())
    with pytest.raises(ZeroDivisionError, match="the loss is at fault"):
        solver.run(np.ones((3, 11)), np.ones((3, 1)))
    assert solver.t_ == 0


@pytest.mark.parametrize("method", ["sgd", "implicit"])
def test_a_weight_is_a_multiple_of_the_loss(method):
    Z, Y, _ = stream(as_loss("logistic"))
    weighted, longer = started("logistic", eta=0.2, method=method), started("logistic", eta=0.6, method=method)
    assert_allclose(weighted.run(Z, Y, np.full(120, 3.0)), longer.run(Z, Y), rtol=1e-12, atol=1e-14)
    before = weighted.weights.copy()
    weighted.run(Z, Y, np.zeros(120))
    assert_array_equal(weighted.weights, before)


@pytest.mark.parametrize("method", METHODS)
def test_the_average_is_the_mean_of_the_weights_that_predicted(method):
    Z, Y, _ = stream(as_loss("squared"))
    solver = started("squared", method=method, average=True)
    assert_array_equal(solver.averaged(), np.zeros((11, 1)))
    iterates = []
    for z, y in zip(Z, Y, strict=True):
        iterates.append(solver.weights.copy())
        solver.step(z, y)
    assert_allclose(solver.averaged(), np.mean(iterates, axis=0), rtol=1e-12)
    with pytest.raises(ValueError, match="average=True"):
        started("squared").averaged()


def test_plain_steps_follow_a_rotation_of_the_features():
    Z, Y, _ = stream(as_loss("squared"))
    Q = np.linalg.qr(np.random.default_rng(3).normal(size=(11, 11)))[0]
    for method in ("sgd", "implicit"):
        still, turned = (started("squared", method=method, average=True) for _ in range(2))
        expected = still.run(Z, Y)
        turned.run(Z[:60], Y[:60])
        turned.rebase(Change(Q), 11)
        assert_allclose(turned.run(np.ascontiguousarray(Z[60:] @ Q.T), Y[60:]), expected[60:], rtol=1e-9, atol=1e-12)
        assert_allclose(turned.averaged(), Q @ still.averaged(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", ["adagrad", "adam"])
def test_adaptive_steps_follow_a_signed_permutation_with_new_coordinates(method):
    Z, Y, _ = stream(as_loss("squared"))
    order = np.random.default_rng(4).permutation(11)
    T = np.zeros((13, 11))
    T[np.arange(11), order] = np.where(order % 2, -1.0, 1.0)
    still, moved = started("squared", method=method), started("squared", method=method)
    expected = still.run(Z, Y)
    moved.run(Z[:60], Y[:60])
    moved.rebase(Change(T), 13)
    assert_allclose(moved.run(Z[60:] @ T.T, Y[60:]), expected[60:], rtol=1e-9, atol=1e-12)


def test_a_map_that_gives_no_transport_starts_the_solver_again():
    Z, Y, _ = stream(as_loss("squared"))
    fresh, again = (started("squared", method="adam", schedule="sqrt", average=True) for _ in range(2))
    again.run(Z, Y)
    again.rebase(Change(None), 11)
    assert_array_equal(again.run(Z, Y), fresh.run(Z, Y))


@pytest.mark.parametrize("method", METHODS)
def test_a_map_may_start_without_features(method):
    Z, Y, _ = stream(as_loss("squared"))
    solver, fresh = started("squared", dim=0, method=method), started("squared", method=method)
    solver.rebase(Change(np.eye(11, 0)), 11)
    assert_array_equal(solver.run(Z, Y), fresh.run(Z, Y))
    empty = started("hinge", dim=0, method=method)
    assert_array_equal(empty.run(np.zeros((3, 0)), np.ones((3, 1))), np.zeros((3, 1)))


@pytest.mark.parametrize("method", METHODS)
def test_a_late_class_starts_at_zero_and_leaves_the_others_alone(method):
    Z, Y, _ = stream(Softmax())
    solver = started("softmax", outputs=2, method=method)
    early = Y[:, 0] < 2
    solver.run(Z[early], Y[early])
    before = solver.predict(Z)
    solver.grow(4)
    assert_array_equal(solver.predict(Z), np.hstack([before, np.zeros((120, 2))]))
    solver.run(Z, Y)
    assert (solver.weights[:, 2] != 0).all()


@pytest.mark.parametrize("method", METHODS)
def test_a_saved_solver_goes_on_bit_for_bit(method):
    Z, Y, _ = stream(as_loss("squared"))
    solver = started("squared", method=method, average=True)
    solver.run(Z[:50], Y[:50])
    copy = persist.from_bytes(persist.to_bytes(solver))
    assert_array_equal(copy.run(Z[50:], Y[50:]), solver.run(Z[50:], Y[50:]))
    assert_array_equal(copy.averaged(), solver.averaged())
    assert solver.nbytes == sum(8 * 11 for _ in range({"adagrad": 3, "adam": 4}.get(method, 2)))


def test_a_zero_row_moves_nothing_but_the_decay():
    for method, factor in [("sgd", 1 - 0.3 * 0.1), ("implicit", 1 / (1 + 0.3 * 0.1))]:
        solver = started("squared", method=method, lam=0.1)
        solver.run(*stream(as_loss("squared"))[:2])
        before = solver.weights.copy()
        solver.step(np.zeros(11), np.array([5.0]))
        assert_allclose(solver.weights, factor * before, rtol=1e-15)


def test_bad_arguments_are_refused_where_they_are_given():
    with pytest.raises(ValueError, match=r"eta \* lam must be less than 1"):
        OGD("hinge", eta=2.0, lam=0.5)
    assert OGD("hinge", eta=2.0, lam=0.5, method="implicit").lam == 0.5
    with pytest.raises(ValueError, match="eta must be"):
        OGD("hinge", eta=0.0)
    with pytest.raises(ValueError, match="schedule must be one of"):
        OGD("hinge", schedule="linear")
    with pytest.raises(ValueError, match="method must be one of"):
        OGD("hinge", method="newton")
    with pytest.raises(ValueError, match="but a label similarity M does not define coordinates"):
        OGD(StructuredHinge(1 - np.eye(3), np.eye(3) + 0.1), method="adam")
    with pytest.raises(ValueError, match="class number below 3, got 3"):
        started("softmax").run(np.ones((1, 11)), np.full((1, 1), 3.0))
    with pytest.raises(ValueError, match="shape"):
        started("hinge").run(np.ones((2, 10)), np.ones((2, 1)))


ISA_SCRIPT = """
import numpy as np
from nystream.solvers import OGD
Z = np.random.default_rng(0).normal(size=(200, 37)) / 6
out = []
for method in ("sgd", "adagrad", "adam", "implicit"):
    solver = OGD("squared", method=method, lam=0.01)
    solver.start(37, 2)
    out.append(solver.run(Z, Z[:, :2].copy()))
print(np.array(out).tobytes().hex())
"""


def test_every_instruction_set_gives_the_same_numbers():
    outputs = []
    for isa in ("base", "avx2"):
        done = subprocess.run(
            [sys.executable, "-c", ISA_SCRIPT], env=os.environ | {"NYSTREAM_ISA": isa}, capture_output=True, check=True
        )
        outputs.append(np.frombuffer(bytes.fromhex(done.stdout.decode())))
    assert_allclose(outputs[1], outputs[0], rtol=1e-9, atol=1e-12)


def test_labels_that_are_alike_learn_together_as_under_the_joint_kernel():
    """With kernel <z, z'> M[y, y'] the expansion of NORMA and ILK is the weight matrix of OGD."""
    loss = StructuredHinge(1 - np.eye(3), np.eye(3) + 0.4)
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(120, 4)), rng.integers(0, 3, 120).astype(float)
    for solver, learner in [
        (OGD(loss, eta=0.2, lam=0.05), NORMA(Linear(), loss=loss, eta=0.2, lam=0.05)),
        (OGD(loss, eta=0.7, method="implicit"), ILK(Linear(), loss=loss, C=0.7, tau=0.0, multiclass="runner_up")),
    ]:
        solver.start(4, 3)
        assert_allclose(solver.run(Z, y[:, None]), learner.run(Z, y), atol=1e-10)
