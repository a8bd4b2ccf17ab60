"""One builder: learners by name, for every task, with settings that are checked."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from nystream import Auto, Model, Schema, streams
from nystream.compose import Standardized
from nystream.compose.targets import StandardizedTarget
from nystream.model.building import build
from nystream.model.tasks import algorithm
from nystream.registry import LEARNERS
from nystream.scaling.distance import median_distance

X, y = streams.friedman(700, seed=0).load()
Y = 1000 + 50 * y
CLASSES = np.where(y > np.median(y), "high", "low")
WIDTH = median_distance(((X - X.mean(0)) / X.std(0))[:400])
OF_CLASSES = {
    *("second-order-perceptron", "narow", "perceptron", "random-budget-perceptron", "forgetron", "projectron"),
    *("budget-pa", "passive-aggressive", "aioli", "gaf"),
}
"""Learners of classes alone, by their algorithm or their default loss."""
SCHEMA = [f"x{j}" for j in range(X.shape[1])]


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_beats_the_mean_on_raw_targets_or_is_refused_with_one_line(name):
    if name in OF_CLASSES:
        with pytest.raises(ValueError, match=f"{name} learns classes, and the target is a number; use auto, pkrr"):
            build(name, "regression")
        return
    model = Model(build(name, "regression", sigma=WIDTH), Schema(SCHEMA, task="regression"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p = model.run(X, Y)
    means = np.cumsum(Y)[:-1] / np.arange(1, len(Y))
    share = ((p[1:] - Y[1:]) ** 2).sum() / ((means - Y[1:]) ** 2).sum()
    assert share < 0.8


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_tells_two_classes_apart(name):
    model = Model(build(name, "classification", sigma=WIDTH), Schema(SCHEMA, task="classification"))
    assert np.mean(model.run(X, CLASSES)[100:] == CLASSES[100:]) > 0.65


def test_scaling_is_for_those_who_do_not_scale_themselves_and_can_be_left_out():
    assert type(build()) is type(build("auto", "regression")) is Auto
    ons = build("ons", "regression")
    assert isinstance(ons, Standardized)
    assert isinstance(ons.learner, StandardizedTarget)
    assert (ons.learner.bound, algorithm(ons)) == (3.0, "ONS")
    assert (
        algorithm(build("ons", "regression", standardize=False))
        == type(build("ons", "regression", standardize=False)).__name__
    )
    assert not isinstance(build("pkrr", "regression").learner, StandardizedTarget)


@pytest.mark.parametrize(("text", "value"), [("no", False), ("off", False), ("True", True), ("1", True), (True, True)])
def test_booleans_are_written_as_people_do(text, value):
    assert build("auto", settings={"lags": text}).lags is value


@pytest.mark.parametrize(
    ("name", "task", "settings", "message"),
    [
        ("nobody", None, {}, "no learner is called 'nobody'"),
        ("auto", None, {"lags": "perhaps"}, "lags must be yes or no, got 'perhaps'"),
        ("auto", None, {"lam": 1}, "auto has no parameter 'lam'; it has memory"),
        ("pkrr", None, {"colour__x": 1}, "pkrr has no parameter 'colour'"),
        ("pkrr", None, {"features__colour": 1}, "Fourier has no parameter 'colour'"),
        ("pkrr", None, {"lam__x": 1}, "lam=0.01 has no parameters of its own"),
        ("fogd", "regression", {"loss": "hinge"}, "fogd with loss='hinge' learns classes, and the target is a number"),
        ("fogd", None, {"loss": "hing"}, "hing"),
        ("fogd", "classification", {"loss": "novelty"}, "learns without labels"),
    ],
)
def test_settings_that_do_not_fit_are_one_clear_error(name, task, settings, message):
    with pytest.raises(ValueError, match=message):
        build(name, task, settings)


ODD = ["abc", -1, 0, None, [], {}, True, 1e308, float("nan"), "1", 2.5]


@pytest.mark.parametrize("name", LEARNERS)
def test_odd_values_of_every_parameter_are_refused_as_a_value_or_work(name):
    """Never another error than ValueError, neither at construction nor at the first rows."""
    for parameter in LEARNERS[name].cls._names():
        for value in ODD:
            refusal = outcome(name, parameter, value)
            assert len(refusal.splitlines()) <= 1, (parameter, value)


def outcome(name, parameter, value):
    """The refusal of a parameter, or nothing."""
    targets = {"real": Y[:12] / 1000, "sign": np.sign(y[:12] - 14), "class": np.arange(12) % 2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            learner = build(name, settings={parameter: value})
            learner.run(X[:12], targets[learner.labels])
        except ValueError as error:
            return str(error)
    return ""
