"""The public contract: names, signatures and conventions that users rely on. What is here is not changed lightly."""

from __future__ import annotations

import copy
import importlib
import inspect
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import nystream
from nystream import FOGD, ONS, PKAWV, PKRR, Fourier, Gaussian, KernelAWV, KernelRidge, Nystrom, Polynomial, Taylor
from nystream.cli.app import call
from nystream.losses import StructuredHinge

REQUIRED = inspect.Parameter.empty
DESCENT = {"eta": 0.3, "schedule": "constant", "lam": 0.0}
SIGNATURES = {
    "ONS": ({"features": None}, {"loss": "squared", "clip": 1.0, "lam": 1.0, "eta": "auto"}),
    "KernelAWV": ({"kernel": REQUIRED}, {"lam": 1.0, "clip": None, "max_points": None}),
    "KernelRidge": ({"kernel": REQUIRED}, {"lam": 1.0, "clip": None, "max_points": None}),
    "PKAWV": ({"features": REQUIRED}, {"lam": 1.0, "clip": None}),
    "PKRR": ({"features": REQUIRED}, {"lam": 1.0, "clip": None}),
    "FOGD": ({"kernel": REQUIRED}, {"dim": 200, "loss": "hinge", **DESCENT, "features": "fourier", "seed": None}),
    "Auto": ({}, {"memory": "64MB", "deadline": None, "lags": True, "seed": 0}),
    "Gaussian": ({"sigma": 1.0}, {}),
    "Laplacian": ({"sigma": 1.0, "scales": None}, {}),
    "Matern": ({"nu": 1.5, "sigma": 1.0}, {}),
    "Polynomial": ({"degree": 2, "scale": 1.0, "offset": 1.0}, {}),
    "Linear": ({}, {}),
    "Normalized": ({"kernel": REQUIRED}, {}),
    "Taylor": ({"kernel": REQUIRED, "degree": "auto", "centre": None, "radius": None}, {}),
    "Fourier": ({"kernel": REQUIRED, "dim": REQUIRED, "orthogonal": False, "seed": None}, {}),
    "Fastfood": ({"kernel": REQUIRED, "dim": REQUIRED, "seed": None}, {}),
    "Nystrom": ({"kernel": REQUIRED, "landmarks": REQUIRED}, {}),
}
LOSSES = [
    *("squared", "absolute", "epsilon_insensitive", "huber", "pinball", "hinge", "squared_hinge", "logistic"),
    *("novelty", "multiclass_hinge", "softmax", "structured_hinge"),
]
G = Gaussian(1.0)
FEATURES = Fourier(G, 20, seed=0)
LEARNERS = {
    "ONS": ONS(clip=2.0),
    "KernelAWV": KernelAWV(G),
    "KernelRidge": KernelRidge(G),
    "PKAWV": PKAWV(FEATURES),
    "PKRR": PKRR(FEATURES),
    "FOGD": FOGD(G, dim=20, loss="squared", seed=0),
}
LEAST_SQUARES = ["KernelAWV", "KernelRidge", "PKAWV", "PKRR"]
each_learner = pytest.mark.parametrize("name", LEARNERS)
each_least_squares = pytest.mark.parametrize("name", LEAST_SQUARES)

X = np.random.default_rng(0).normal(size=(60, 3))
Y = np.sin(2 * X[:, 0]) * X[:, 1] / 2
NEW = np.random.default_rng(1).normal(size=(7, 3))


def trained(name, rows=slice(None)):
    learner = LEARNERS[name].clone()
    learner.run(X[rows], Y[rows])
    return learner


# -- names and signatures -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", SIGNATURES)
def test_constructors_take_what_was_promised(name):
    """Positional arguments in order, the others by keyword with their defaults; more may follow, by keyword."""
    positional, keyword = SIGNATURES[name]
    parameters = list(inspect.signature(getattr(nystream, name)).parameters.values())
    first = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert {p.name: p.default for p in first} == positional
    assert [p.name for p in first] == list(positional)
    others = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    assert {k: others.get(k, REQUIRED) for k in keyword} == keyword
    assert all(default is not REQUIRED for default in others.values())


def test_names_are_where_they_should_be():
    assert nystream.KernelAAR is nystream.KernelAWV
    for name in ("Gaussian", "Laplacian", "Matern", "Polynomial", "Linear", "Normalized", "Kernel"):
        assert getattr(nystream.kernels, name) is getattr(nystream, name)
    for name in ("Taylor", "Fourier", "Fastfood", "Nystrom", "LearnedMetric", "Landmarks", "WithConstant", "Chain"):
        assert getattr(nystream.features, name) is getattr(nystream, name)
    for entry in nystream.registry.LEARNERS.values():
        assert getattr(nystream, entry.cls.__name__) is entry.cls
    for name in ("StandardScale", "GlobalScale", "LogScale"):
        assert getattr(nystream.scaling, name) is getattr(nystream, name)
    assert list(nystream.losses.LOSSES) == LOSSES
    assert set(nystream.__all__) <= set(dir(nystream))


@each_learner
def test_every_learner_has_the_common_methods(name):
    learner = trained(name)
    for method in ("predict", "step", "run", "clone", "get_params", "set_params", "save", "to_bytes", "merge"):
        assert callable(getattr(learner, method))
    assert learner.n_seen == 60
    assert isinstance(learner.size, int)
    assert learner.nbytes >= 8 * learner.size
    wanted = ["regret", "regret_bound", "effective_dimension", "log_det", "leverage", "std"]
    assert name not in LEAST_SQUARES or learner.abilities >= set(wanted)
    assert learner.can("unlearn") == (name in ("PKAWV", "PKRR"))


# -- the rounds -----------------------------------------------------------------------------------------------------
@each_learner
def test_a_round_predicts_before_it_reads_the_label(name):
    learner, other = trained(name), trained(name)
    p = learner.step(NEW[0], 0.5)
    assert type(p) is float
    assert other.step(NEW[0], -0.5) == p
    assert learner.n_seen == 61
    assert learner.step(NEW[0], 0.5) != other.step(NEW[0], 0.5)


@each_learner
def test_run_is_the_loop_of_step_and_predict_is_pure(name):
    block, rows = LEARNERS[name].clone(), LEARNERS[name].clone()
    P = block.run(X, Y)
    assert_allclose(P, [rows.step(x, y) for x, y in zip(X, Y, strict=True)], rtol=1e-8, atol=1e-10)
    before = block.to_bytes()
    assert_allclose(block.predict(NEW), rows.predict(NEW), rtol=1e-8, atol=1e-10)
    assert block.to_bytes() == before


@each_learner
def test_files_and_bytes_go_on_bit_for_bit(name, tmp_path):
    learner = trained(name, slice(40))
    learner.save(tmp_path / "m.nys")
    assert (tmp_path / "m.nys").read_bytes() == learner.to_bytes()
    for resumed in (nystream.load(tmp_path / "m.nys"), nystream.from_bytes(learner.to_bytes())):
        twin = copy.deepcopy(learner)
        assert_array_equal(resumed.run(np.asfortranarray(X[40:]), Y[40:]), twin.run(X[40:], Y[40:]))
        assert resumed.to_bytes() == twin.to_bytes()


@each_learner
def test_parameters_are_read_set_and_cloned(name):
    learner = trained(name)
    params = learner.get_params()
    assert params["lam"] == learner.lam
    assert any(key.endswith("__sigma") for key in params) == (name != "ONS")
    fresh = learner.clone()
    assert repr(fresh) == repr(learner)
    assert fresh.n_seen == 0
    assert learner.set_params(lam=0.25) is learner
    assert (learner.lam, learner.n_seen) == (0.25, 0)


@each_learner
def test_merge_is_exact_or_a_clear_refusal(name):
    left, right = trained(name, slice(35)), trained(name, slice(35, None))
    if name not in LEAST_SQUARES:
        with pytest.raises(TypeError, match=f"{name} cannot merge"):
            left.merge(right)
        return
    assert left.merge(right) is left
    assert_allclose(left.predict(NEW), trained(name).predict(NEW), rtol=1e-9, atol=1e-10)
    assert left.n_seen == 60


# -- least squares --------------------------------------------------------------------------------------------------
@each_least_squares
def test_the_meter_says_what_its_definitions_say(name):
    learner = LEARNERS[name].clone()
    P = learner.run(X, Y)
    phi = FEATURES.clone().fit(X)
    K = G(X, X) if name.startswith("Kernel") else phi.transform(X) @ phi.transform(X).T
    best = Y @ np.linalg.solve(K + np.eye(60), Y)  # lam = 1
    assert_allclose(learner.regret(), ((P - Y) ** 2).sum() - best, rtol=1e-8)
    assert learner.regret() <= learner.regret_bound()
    assert_allclose(learner.log_det(), np.linalg.slogdet(np.eye(60) + K)[1], rtol=1e-8)
    assert_allclose(learner.effective_dimension(), np.trace(K @ np.linalg.inv(K + np.eye(60))), rtol=1e-7)
    k, own = (
        (G(NEW, X), np.ones(7)) if name.startswith("Kernel") else (phi.transform(NEW) @ phi.transform(X).T, np.ones(7))
    )
    s = own - np.einsum("ij,ji->i", k, np.linalg.solve(K + np.eye(60), k.T))
    assert_allclose(learner.leverage(NEW), s, rtol=1e-7)
    assert_allclose(learner.std(NEW), np.sqrt(best / 60 * (1 + s)), rtol=1e-7)


@pytest.mark.parametrize("name", ["PKAWV", "PKRR"])
def test_unlearning_is_exact_and_refuses_what_was_not_learnt(name):
    learner = trained(name)
    learner.unlearn(X[20:], Y[20:])
    assert_allclose(learner.predict(NEW), trained(name, slice(20)).predict(NEW), rtol=1e-8, atol=1e-10)
    assert learner.n_seen == 20
    before = learner.to_bytes()
    with pytest.raises(ValueError, match="Nothing was changed"):
        learner.unlearn(5 * NEW, np.ones(7))
    assert learner.to_bytes() == before


# -- conventions ----------------------------------------------------------------------------------------------------
def test_squared_losses_carry_no_half():
    squared, squared_hinge = (nystream.losses.LOSSES[name]() for name in ("squared", "squared_hinge"))
    assert (squared.value(1.0, 4.0), squared.grad(1.0, 4.0)) == (9.0, 6.0)
    assert (squared_hinge.value(1.0, -1.0), squared_hinge.grad(1.0, -1.0)) == (4.0, -4.0)


@pytest.mark.parametrize(
    ("learner", "labels", "shape"),
    [
        *((learner, Y, (60,)) for learner in LEARNERS.values()),
        *((LEARNERS[name], np.c_[Y, -Y], (60, 2)) for name in [*LEAST_SQUARES, "FOGD"]),
        *(
            (FOGD(G, loss=loss, seed=0), np.where(Y > 0, 1, -1), (60,))
            for loss in ("hinge", "squared_hinge", "logistic")
        ),
        *((FOGD(G, loss=loss, seed=0), np.arange(60) % 4, (60, 4)) for loss in ("multiclass_hinge", "softmax")),
        (FOGD(G, loss=StructuredHinge(1 - np.eye(3)), seed=0), np.arange(60) % 3, (60, 3)),
        (FOGD(G, loss="novelty", seed=0), None, (60,)),
    ],
)
def test_outputs_are_set_by_the_loss_or_by_the_columns_of_y(learner, labels, shape):
    learner = learner.clone()
    assert learner.run(X, labels).shape == shape
    assert learner.predict(NEW).shape == (7, *shape[1:])
    if isinstance(learner, (PKAWV, FOGD)):
        assert learner.solver_.weights.shape == (learner.size, *(shape[1:] or (1,)))


@pytest.mark.parametrize("loss", [name for name in LOSSES if name != "structured_hinge"])
def test_losses_are_given_by_name_or_as_objects(loss):
    kind = nystream.losses.LOSSES[loss]()
    labels = {"sign": np.where(Y > 0, 1, -1), "class": np.arange(60) % 3, "none": None}.get(kind.labels, Y)
    by_name, by_object = FOGD(G, loss=loss, seed=0), FOGD(G, loss=kind, seed=0)
    assert_array_equal(by_name.run(X, labels), by_object.run(X, labels))


@each_learner
def test_inputs_of_any_layout_and_type_are_the_same_numbers(name):
    whole = np.round(4 * X)
    expected = LEARNERS[name].clone().run(whole, Y)
    for form in (whole.astype(np.float32), whole.astype(int), np.asfortranarray(whole), whole.tolist()):
        assert_array_equal(LEARNERS[name].clone().run(form, list(Y)), expected)


@each_learner
@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        (np.where(np.arange(3) == 1, np.nan, NEW), NEW[:, 0], "X has nan at row 0, column 1; remove or impute"),
        (np.where(np.arange(3) == 2, np.inf, NEW), NEW[:, 0], "X has inf at row 0, column 2"),
        (NEW[:, :2], NEW[:, 0], "X has 2 columns, but the learner was started with 3"),
        (NEW[0], [1.0], r"for one row pass X\[None\]"),
        (NEW, NEW[:5, 0], "y must have one label for each of the 7 rows"),
        (NEW, np.where(np.arange(7) == 4, np.nan, 0.0), r"y has \[nan\] at row 4"),
        (NEW, list("abcdefg"), "y must hold real numbers"),
        (NEW, NEW, "y has 3 columns"),
    ],
)
def test_bad_input_names_argument_and_place_and_changes_nothing(name, rows, labels, message):
    learner = trained(name)
    before = learner.to_bytes()
    with pytest.raises(ValueError, match=message):
        learner.run(rows, labels)
    assert learner.to_bytes() == before


@each_learner
def test_a_bad_row_is_refused_as_a_bad_block_is(name):
    learner = trained(name)
    before = learner.to_bytes()
    for act in (lambda: learner.step(NEW[0, :2], 1.0), lambda: learner.predict(NEW[:, :2])):
        with pytest.raises(ValueError, match="has 2 columns, but the learner was started with 3"):
            act()
    with pytest.raises(ValueError, match="x has nan at row 0, column 0"):
        learner.step(NEW[0] * np.nan, 1.0)
    with pytest.raises(ValueError, match=r"y has \[inf\] at row 0; labels must be finite"):
        learner.step(NEW[0], np.inf)
    assert learner.to_bytes() == before


def test_labels_inside_learners_are_signs_or_class_numbers():
    with pytest.raises(ValueError, match=r"y must be -1 or \+1; got 0 at row 1"):
        FOGD(G).run(X[:2], [1, 0])
    with pytest.raises(ValueError, match=r"y must be a class number 0, 1, 2, \.\.\.; got -1 at row 1"):
        FOGD(G, loss="softmax").run(X[:2], [1, -1])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PKAWV(FEATURES, lam=-1.0), "lam must be a number greater than 0, got -1.0"),
        (lambda: Gaussian(0), "sigma must be a number greater than 0, got 0"),
        (lambda: KernelAWV(3), "kernel must be a kernel"),
        (lambda: PKRR(G), "features must be a feature map"),
        (lambda: FOGD(G, loss="hing"), "did you mean 'hinge'"),
        (lambda: FOGD(G, schedule="cubic"), "schedule must be one of 'constant', 'sqrt'"),
        (lambda: FOGD(G, seed=-3), "seed must be a whole number of at least 0"),
        (lambda: nystream.Matern(2.0), r"nu must be 0\.5, 1\.5 or 2\.5"),
        (lambda: Polynomial(0), "degree must be a whole number of at least 1"),
        (
            lambda: PKRR(Taylor(G, 9)).run(np.zeros((1, 20)), [0]),
            "10015005 features, whose second-order state takes 8024",
        ),
    ],
)
def test_bad_parameters_are_one_clear_line(make, message):
    with pytest.raises(ValueError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_seeds_are_ints_none_or_generators():
    drawn = [Fourier(G, 20, seed=seed).fit_transform(X) for seed in (5, np.random.default_rng(5), 5)]
    assert_array_equal(drawn[0], drawn[1])
    assert_array_equal(drawn[0], drawn[2])
    assert not np.array_equal(Fourier(G, 20).fit_transform(X), Fourier(G, 20).fit_transform(X))


# -- kernels and features -------------------------------------------------------------------------------------------
def test_kernels_mean_what_they_say():
    a, b = np.array([[1.0, 2.0]]), np.array([[0.5, -1.0]])
    squared, l1 = 0.25 + 9.0, 0.5 + 3.0
    assert_allclose(Gaussian(2.0)(a, b), np.exp(-squared / 8))
    assert_allclose(nystream.Laplacian(2.0)(a, b), np.exp(-l1 / 2))
    u = np.sqrt(3 * squared) / 2
    assert_allclose(nystream.Matern(1.5, 2.0)(a, b), (1 + u) * np.exp(-u))
    assert_allclose(Polynomial(3, scale=0.5, offset=2.0)(a, b), (0.5 * -1.5 + 2) ** 3)
    assert_allclose(nystream.Linear()(a, b), -1.5)
    assert_allclose(nystream.Normalized(Polynomial(3))(a, b), (-0.5) ** 3 / np.sqrt(6.0**3 * 2.25**3))


def test_kernels_of_ones_own_add_multiply_and_learn():
    class Cosine(nystream.Kernel):
        def __call__(self, X, Y):
            return X @ Y.T / np.sqrt((X * X).sum(1)[:, None] * (Y * Y).sum(1))

    kernel = 2 * (Cosine() + G) * Gaussian(3.0)
    assert_allclose(kernel(X, NEW), 2 * (Cosine()(X, NEW) + G(X, NEW)) * Gaussian(3.0)(X, NEW))
    exact, spanned = KernelRidge(kernel), PKRR(Nystrom(kernel, X))
    assert_allclose(exact.run(X, Y), spanned.run(X, Y), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "features", [Taylor(G, 3), FEATURES, nystream.Fastfood(G, 20, seed=0), Nystrom(G, 9)], ids=repr
)
def test_features_are_transformers(features):
    features = features.clone()
    assert features.partial_fit(X[:30]).partial_fit(X[30:]) is features
    Z = features.transform(NEW)
    assert Z.shape == (7, features.dim)
    assert_array_equal(features.clone().fit(X).transform(NEW), Z)
    assert_array_equal(features.fit_transform(X), features.transform(X))
    assert set(features.get_params(deep=False)) == set(inspect.signature(type(features)).parameters)


# -- facades and command line ---------------------------------------------------------------------------------------
def test_the_scikit_learn_facade_needs_no_parameter():
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    facade = importlib.import_module("nystream.sklearn")
    model = facade.OnlineKernelClassifier().fit(X, labels := np.where(Y > 0, "up", "down"))
    assert set(model.predict_then_learn(X, labels)) <= {"up", "down"}
    assert model.partial_fit(X, labels) is model
    assert model.predict_proba(NEW).shape == (7, 2)
    assert model.decision_function(NEW).shape == (7,)
    assert [type(learner) for learner in model.learners_] == [nystream.Auto]
    model = facade.OnlineKernelRegressor().fit(X, Y)
    assert model.partial_fit(X, Y).predict_then_learn(X, Y).shape == model.predict(X).shape == (60,)
    assert type(model.learner_) is nystream.Auto
    assert model.predict_interval(NEW)[0].shape == (7,)


def test_the_river_facade_needs_no_parameter():
    pytest.importorskip("river", reason="river is not installed")
    facade = importlib.import_module("nystream.river")
    rows = [dict(zip("abc", x, strict=True)) for x in X.tolist()]
    regressor, classifier = facade.KernelRegressor(), facade.KernelClassifier()
    for x, y in zip(rows, Y.tolist(), strict=True):
        regressor.learn_one(x, y)
        classifier.learn_one(x, y > 0)
    assert isinstance(regressor.predict_one(rows[0]), float)
    assert classifier.predict_one(rows[0]) in (True, False)
    assert_allclose(sum(classifier.predict_proba_one(rows[0]).values()), 1.0)
    assert all(map(callable, (regressor.learn_many, regressor.predict_many)))


def test_exit_codes_are_0_for_good_2_for_the_user_and_1_for_us(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("x,y\n" + "".join(f"{i % 5},{i % 3 + 0.5}\n" for i in range(20)))
    assert call(["run", str(tmp_path / "a.csv"), "-f", str(tmp_path / "m.nys"), "-p", str(tmp_path / "p")]) == 0
    assert call(["run", str(tmp_path / "a.csv"), "-i", str(tmp_path / "m.nys"), "-t"]) == 0
    assert call(["list"]) == 0
    capsys.readouterr()
    assert call(["run", str(tmp_path / "a.csv"), "-i", str(tmp_path / "a.csv")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    broken = "from nystream.cli import app, run; run.open_source = None; app.call(['run', 'sine', '--rows', '5'])"
    done = subprocess.run([sys.executable, "-c", broken], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
