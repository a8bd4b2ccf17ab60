"""Learners that store points in single precision: half the bytes, nearly the same predictions, and the same laws."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import nystream
from nystream import (
    BSGD,
    ILK,
    NORMA,
    SILK,
    SVMD,
    BudgetPA,
    Classifier,
    DualSGD,
    Forgetron,
    Gaussian,
    Kernel,
    KernelSmoother,
    Laplacian,
    Linear,
    Matern,
    PassiveAggressive,
    Perceptron,
    Polynomial,
    RandomBudgetPerceptron,
)

G = Gaussian(1.5)
LEARNERS = {
    "SILK": lambda dtype: SILK(G, loss="logistic", budget=40, dtype=dtype),
    "SILK, classes": lambda dtype: SILK(G, loss="softmax", budget=40, dtype=dtype),
    "ILK": lambda dtype: ILK(Laplacian(4.0), dtype=dtype),
    "NORMA": lambda dtype: NORMA(Matern(2.5, 3.0), loss="squared", eta=0.2, budget=40, offset=True, dtype=dtype),
    "SVMD": lambda dtype: SVMD(G, loss="squared", budget=40, dtype=dtype),
    "BSGD": lambda dtype: BSGD(G, budget=40, lam=1e-3, maintenance="remove", dtype=dtype),
    "DualSGD": lambda dtype: DualSGD(G, budget=30, dim=40, lam=1e-3, seed=0, dtype=dtype),
    "Perceptron": lambda dtype: Perceptron(G, dtype=dtype),
    "RandomBudgetPerceptron": lambda dtype: RandomBudgetPerceptron(G, budget=30, seed=0, dtype=dtype),
    "PassiveAggressive": lambda dtype: PassiveAggressive(G, loss="epsilon_insensitive", dtype=dtype),
    "Forgetron": lambda dtype: Forgetron(G, budget=30, dtype=dtype),
    "BudgetPA": lambda dtype: BudgetPA(G, budget=30, dtype=dtype),
    "KernelSmoother": lambda dtype: KernelSmoother(60, dtype=dtype),
}
D = 7


def stream(learner, n=300, d=D, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] * X[:, 1] >= 0, 1, -1)
    return X, (y + 1) // 2 if "classes" in learner else y.astype(float)


def points_of(model):
    return model.points_ if isinstance(model, KernelSmoother) else model.expansion_.points


def both(name):
    X, y = stream(name)
    double, single = (LEARNERS[name](dtype) for dtype in ("float64", "float32"))
    return X, double, single, double.run(X, y), single.run(X, y)


@pytest.mark.parametrize("name", LEARNERS)
def test_predictions_hardly_move_and_are_float64(name):
    X, double, single, p, q = both(name)
    assert q.dtype == np.float64
    assert_allclose(q, p, rtol=1e-5, atol=1e-5)
    assert np.any(q != p)
    assert_allclose(single.predict(X), double.predict(X), rtol=1e-5, atol=1e-5)
    assert single.predict(X).dtype == np.float64


@pytest.mark.parametrize("name", LEARNERS)
def test_points_take_half_the_bytes_and_everything_else_as_many(name):
    _, double, single, _, _ = both(name)
    assert single.size == double.size
    assert points_of(single).dtype == np.float32
    assert_array_equal(points_of(single), points_of(double).astype(np.float32))
    reserved = 60 if name == "KernelSmoother" else double.expansion_.terms.capacity
    assert double.nbytes - single.nbytes == 4 * D * reserved


@pytest.mark.parametrize("d", [3, 12, 22, 40])  # each has kernel rows of another shape
@pytest.mark.parametrize("name", LEARNERS)
def test_a_block_is_its_rows_bit_for_bit_and_a_saved_model_goes_on(name, d):
    X, y = stream(name, d=d)
    model = LEARNERS[name]("float32")
    model.run(X[:200], y[:200])
    twin = nystream.from_bytes(model.to_bytes())
    assert points_of(twin).dtype == np.float32
    steps = [model.step(x, label) for x, label in zip(X[200:], y[200:], strict=True)]
    assert_array_equal(twin.run(X[200:], y[200:]), steps)
    assert twin.to_bytes() == model.to_bytes()


@pytest.mark.parametrize("name", LEARNERS)
def test_parameters_without_a_precision_are_those_of_a_file_from_before(name):
    X, y = stream(name)
    model = LEARNERS[name]("float64")
    model.run(X, y)
    params = {key: value for key, value in model.get_params(deep=False).items() if key != "dtype"}
    assert type(model)(**params).dtype == "float64"


class Own(Kernel):
    """<x, y>."""

    def __call__(self, X, Y):
        return X @ Y.T


OFFERING = (SILK, ILK, NORMA, SVMD, BudgetPA, Perceptron, PassiveAggressive, RandomBudgetPerceptron, Forgetron)


@pytest.mark.parametrize("kind", OFFERING)
@pytest.mark.parametrize(
    "kernel", [Own(), G + Linear(), Linear(), Polynomial(3), Laplacian(1.0, scales=[1.0, 2.0])], ids=repr
)
def test_a_kernel_without_a_form_in_single_precision_is_refused(kind, kernel):
    assert kind(kernel).dtype == "float64"
    with pytest.raises(ValueError, match="use dtype='float64'"):
        kind(kernel, dtype="float32")


@pytest.mark.parametrize("kind", [*OFFERING, KernelSmoother])
def test_a_precision_that_is_none_is_refused(kind):
    with pytest.raises(ValueError, match="dtype must be one of 'float64', 'float32'"):
        kind(*(() if kind is KernelSmoother else (G,)), dtype="float16")


@pytest.mark.parametrize(
    "build",
    [
        lambda: SILK(G, drop="project", dtype="float32"),
        lambda: SILK(G, drop="merge", dtype="float32"),
        lambda: BSGD(G, maintenance="project", dtype="float32"),
        lambda: BSGD(G, dtype="float32"),
        lambda: BudgetPA(G, variant="NN", dtype="float32"),
        lambda: BudgetPA(G, variant="P", dtype="float32"),
    ],
)
def test_rules_that_solve_with_kernel_values_need_double_precision(build):
    with pytest.raises(ValueError, match="needs dtype='float64'"):
        build()


def test_classes_one_against_the_rest_share_the_precision():
    X, _ = stream("")
    model = Classifier(Perceptron(G, dtype="float32"))
    model.run(X, np.random.default_rng(0).integers(0, 3, size=len(X)))
    assert {part.expansion_.points.dtype for part in model._inner.learners} == {np.dtype(np.float32)}


def test_numbers_beyond_single_precision_are_taken_and_forgotten():
    X, y = stream("")
    X[100, 0], X[101, 1] = 1e200, -1e39
    p = SILK(G, budget=20, dtype="float32").run(X, y)
    assert np.isfinite(p).all()


def test_facades_pass_the_precision_on():
    pytest.importorskip("river", reason="river is not installed")
    sklearn, river = pytest.importorskip("nystream.sklearn"), pytest.importorskip("nystream.river")
    X, y = stream("")
    estimator = sklearn.OnlineKernelRegressor(SILK(G, loss="squared", budget=20)).set_params(learner__dtype="float32")
    estimator.fit(X, y)
    model = river.KernelRegressor(NORMA(G, loss="squared", budget=20, dtype="float32"))
    for x, label in zip(X[:30], y[:30], strict=True):
        model.learn_one(dict(enumerate(x)), label)
    for learner in (estimator.learner_, model._model.inner):
        assert points_of(learner).dtype == np.float32
        assert learner.size == 20
