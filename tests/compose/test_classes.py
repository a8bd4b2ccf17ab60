"""Class numbers by any learner: blocks and rows agree, late classes, declared classes, and refusals."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from facade_learners import CLASSIFIERS, LEAST_SQUARES, blobs
from numpy.testing import assert_allclose, assert_array_equal

import nystream
from nystream import persist
from nystream.auto.learner import Auto
from nystream.compose.classes import LeastSquaresCodes, NativeClasses, OneVersusRest, class_learner
from nystream.losses import MulticlassHinge


def make(name):
    return class_learner(CLASSIFIERS[name]() or Auto())


def numbered(labels=4, n=160):
    """Class numbers in order of appearance, the last class late."""
    X, y = blobs(n, labels=tuple(range(labels)))
    order = list(dict.fromkeys(y.tolist()))
    return X, np.array([order.index(v) for v in y.tolist()])


def test_the_way_is_chosen_by_the_loss():
    kinds = {name: type(make(name)) for name in CLASSIFIERS}
    assert {kinds[name] for name in LEAST_SQUARES} == {LeastSquaresCodes}
    assert {kind for name, kind in kinds.items() if name.startswith("one")} == {OneVersusRest}
    assert {kind for name, kind in kinds.items() if name.startswith("native")} == {NativeClasses}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_blocks_and_rows_agree(name):
    X, c = numbered()
    block, rows, cut = make(name), make(name), make(name)
    F = block.run(X, c)
    for x, label in zip(X, c.tolist(), strict=True):
        rows.step(x, label)
    for i in range(0, len(X), 33):
        part = cut.run(X[i : i + 33], c[i : i + 33])
        assert_allclose(part, F[i : i + 33, : part.shape[1]], rtol=1e-7, atol=1e-9)
    for other in (rows, cut):
        assert_allclose(other.scores(X), block.scores(X), rtol=1e-7, atol=1e-9)
        assert_allclose(other.probabilities(X), block.probabilities(X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_scores_are_minus_infinity_exactly_while_a_class_is_unknown(name):
    X, c = numbered()
    F = make(name).run(X, c)
    seen = np.maximum.accumulate(np.r_[-1, c])[:-1] + 1  # classes known before each row
    assert_array_equal(np.isneginf(F), np.arange(4) >= seen[:, None])


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_declared_classes_have_scores_from_the_start(name):
    X, c = numbered()
    model = make(name)
    model.declare(5)
    assert_array_equal(model.scores(X), np.zeros((len(X), 5)))
    assert np.isfinite(model.run(X, c)).all()
    assert model.probabilities(X).shape == (len(X), 5)
    assert 4 not in model.scores(X).argmax(axis=1)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_scores_are_pure_and_a_saved_model_goes_on_bit_for_bit(name):
    X, c = numbered()
    model = make(name)
    model.run(X[:100], c[:100])
    before = persist.to_bytes(model)
    model.scores(X)
    model.probabilities(X)
    assert persist.to_bytes(model) == before
    twins = [persist.from_bytes(before), copy.deepcopy(model)]
    model.run(X[100:], c[100:])
    for twin in twins:
        twin.run(X[100:], c[100:])
        assert persist.to_bytes(twin) == persist.to_bytes(model)


@pytest.mark.parametrize("name", LEAST_SQUARES)
def test_a_late_class_of_least_squares_is_exact(name):
    X, c = numbered()
    w = np.random.default_rng(0).uniform(0.1, 3, size=len(X))
    late, known = make(name), make(name)
    known.declare(4)
    F, G = late.run(X, c, w), known.run(X, c, w)
    assert_allclose(late.scores(X), known.scores(X), rtol=1e-10, atol=1e-10)
    assert_allclose(np.where(np.isinf(F), 0, F), np.where(np.isinf(F), 0, G), rtol=1e-10, atol=1e-10)


def test_two_classes_need_one_learner_and_more_need_one_each():
    X, c = numbered()
    model = make("one versus rest, hinge")
    model.run(X[c < 2], c[c < 2])
    assert len(model.learners) == 1
    model.run(X, c)
    assert len(model.learners) == 4
    assert model.learners[3].n_seen < model.learners[0].n_seen == model.learners[1].n_seen


def test_a_loss_of_so_many_classes_refuses_one_more_before_it_learns():
    X, c = numbered()
    model = class_learner(nystream.FOGD(nystream.Gaussian(1.0), dim=20, loss=MulticlassHinge(classes=3), seed=0))
    with pytest.raises(ValueError, match=r"there are 4 classes, but the loss of .* has 3"):
        model.run(X, c)
    assert model.learners == []
    model.run(X[c < 3], c[c < 3])
    assert model.scores(X).shape == (len(X), 3)


@pytest.mark.parametrize("name", ["KernelRidge", "one versus rest, hinge"])
def test_a_learner_that_has_probabilities_of_its_own_gives_those(name):
    X, c = numbered()
    wrapped, plain = class_learner(nystream.Classifier(CLASSIFIERS[name]())), make(name)
    for model in (wrapped, plain):
        model.declare(4)
        model.run(X, c)
    assert_allclose(wrapped.scores(X), plain.scores(X), rtol=1e-9)
    assert_allclose(wrapped.probabilities(X), plain.probabilities(X), rtol=1e-9)


def test_what_is_no_learner_is_refused():
    with pytest.raises(TypeError, match="learner must be a learner, such as FOGD"):
        nystream.Classifier(nystream.FOGD)
