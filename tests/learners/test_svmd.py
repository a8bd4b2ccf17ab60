"""SVMD: linear-time scalars against Gram matrices, the trace against finite differences, mu = 0 against NORMA."""

import numpy as np
import pytest
from grids import grid
from numpy.testing import assert_allclose

from nystream.kernels import Gaussian, Kernel, Polynomial
from nystream.learners import NORMA, SVMD
from nystream.losses import LOSSES, Hinge, Logistic, Loss, MulticlassHinge, Softmax, Squared
from oracles.expansion import SIGMA, svmd

T, CLASSES = 300, 4
CASES = {name: kind() for name, kind in LOSSES.items() if not kind.multiclass} | {
    "multiclass_hinge": MulticlassHinge(CLASSES),
    "softmax": Softmax(CLASSES),
}


class Quartic(Loss):
    """A loss that only Python knows."""

    name = "quartic"

    def value(self, y, p):
        return (p - y) ** 4

    def grad(self, y, p):
        return 4 * (p - y) ** 3

    def second(self, y, p):
        return 12 * (p - y) ** 2


class Slowly(Kernel):
    """A kernel that only Python knows."""

    def __call__(self, X, Y):
        return np.exp(-((X[:, None] - Y[None]) ** 2).sum(-1) / (2 * SIGMA**2))


def stream(loss, n=T, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    f = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, -1] + 0.1 * rng.normal(size=n)
    if loss.labels == "class":
        return X, np.digitize(f, [-0.4, 0.2, 0.6])
    return X, np.where(f > 0, 1.0, -1.0) if loss.labels == "sign" else f


def inner_products(model):
    """<f,f> and <f,v> from the Gram matrix of the stored points."""
    coef, points = model.expansion_.coef, model.expansion_.points
    K = model.kernel(points, points)
    A, B = coef[:, ::2], coef[:, 1::2]
    return np.einsum("ic,ij,jc->", A, K, A), np.einsum("ic,ij,jc->", A, K, B)


@pytest.mark.parametrize(("case", "budget"), grid(CASES, [None, 30]))
def test_svmd_equals_the_definition(case, budget):
    loss = CASES[case]
    X, Y = stream(loss, n=200 if budget is None else T)
    model = SVMD(Gaussian(SIGMA), loss=loss, budget=budget, lam=0.01, mu=0.2)
    P = model.run(X, Y).reshape(len(X), -1)
    Q, meta, f = svmd(X, Y, loss, outputs=P.shape[1], budget=budget, lam=0.01, mu=0.2)
    worst = max(abs(P - Q).max(), abs(model.meta_ - meta[-1]).max())
    print(f"SVMD budget {budget} {case}: {worst:.1e}")
    assert worst < 1e-9
    assert model.size == len(f.terms)
    mean = np.array([f.averaged(x, len(X))[0] for x in X[:20]])
    assert_allclose(model.averaged(X[:20]).reshape(20, -1), mean, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("kernel", [Gaussian(SIGMA), Polynomial(2, scale=0.3)], ids=["gaussian", "polynomial"])
@pytest.mark.parametrize("budget", [None, 25])
def test_the_scalars_carried_along_are_inner_products(kernel, budget):
    X, Y = stream(Logistic(), n=1000)
    model = SVMD(kernel, loss="logistic", budget=budget, eta=0.05, lam=0.01)
    for block in range(0, 1000, 100):
        model.run(X[block : block + 100], Y[block : block + 100])
        assert_allclose(model.meta_[1:], inner_products(model), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("case", ["squared", "logistic", "softmax"])
def test_the_trace_is_the_derivative_with_respect_to_log_eta(case):
    loss = CASES[case]
    X, Y = stream(loss, n=80)
    eta, step = 0.1, 1e-5
    make = [SVMD(Gaussian(SIGMA), loss=loss, mu=0.0, decay=1.0, eta=eta * np.exp(s)) for s in (-step, 0.0, step)]
    for model in make:
        model.run(X, Y)
    slope = (make[2].predict(X) - make[0].predict(X)) / (2 * step)
    v = make[1].expansion_.predict(X)[:, 1::2]
    assert_allclose(v.reshape(slope.shape), slope, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("case", CASES)
def test_without_meta_steps_it_is_norma(case):
    loss = CASES[case]
    X, Y = stream(loss)
    one = SVMD(Gaussian(SIGMA), loss=loss, mu=0.0, lam=0.05, eta=0.2)
    two = NORMA(Gaussian(SIGMA), loss=loss, lam=0.05, eta=0.2)
    assert_allclose(one.run(X, Y), two.run(X, Y), rtol=1e-10, atol=1e-12)


def test_a_step_size_that_is_too_small_grows_tenfold_within_its_clamps():
    X, Y = stream(Hinge(), n=1000)
    model = SVMD(Gaussian(SIGMA), eta=0.01, mu=0.5, clamp=0.1)
    etas = [model.eta_now]
    for x, y in zip(X, Y, strict=True):
        model.step(x, y)
        etas.append(model.eta_now)
    steps = np.diff(np.log(etas))
    assert etas[-1] == pytest.approx(0.113998526, rel=1e-6)
    assert abs(steps).max() <= 0.1 + 1e-12


def test_eta_lam_stays_below_one():
    X, Y = stream(Hinge(), n=500)
    model = SVMD(Gaussian(SIGMA), eta=5.0, lam=0.5, mu=5.0)
    for x, y in zip(X, Y, strict=True):
        assert np.isfinite(model.step(x, y))
        assert model.eta_now * 0.5 <= 0.9 + 1e-12


@pytest.mark.parametrize("budget", [None, 20])
def test_a_kernel_and_a_loss_of_ones_own_work_in_blocks_and_rows(budget):
    X, Y = stream(Squared(), n=120)
    block, rows, fast = (
        SVMD(kernel, loss=Quartic(), budget=budget, eta=0.02) for kernel in (Slowly(), Slowly(), Gaussian(SIGMA))
    )
    P = block.run(X, Y)
    assert_allclose(P, [rows.step(x, y) for x, y in zip(X, Y, strict=True)], rtol=1e-9, atol=1e-10)
    assert_allclose(P, fast.run(X, Y), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"decay": 1.5}, "decay must be at most 1, got 1.5"),
        ({"clamp": 0.0}, "clamp must be a number greater than 0"),
        ({"mu": -1.0}, "mu must be a number at least 0"),
        ({"budget": 0}, "budget must be a whole number of at least 1"),
        ({"kernel": None}, "kernel must be a kernel such as"),
    ],
)
def test_bad_parameters_are_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        SVMD(**({"kernel": Gaussian(1.0)} | arguments))
