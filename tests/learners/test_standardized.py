"""A learner on running-standardised inputs says and does what the inner learner would, on inputs scaled beforehand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import FOGD, ONS, PKAWV, PKRR, Classifier, Fourier, Gaussian, Standardized, streams
from nystream.learners.classes import LeastSquaresCodes, OneVersusRest, class_learner

FEATURES = Fourier(Gaussian(1.0), 40, seed=0)
X = 100 + 10 * np.random.default_rng(0).normal(size=(200, 3))
Y = np.sin((X[:, 0] - 100) / 10)


def test_it_is_the_learner_on_the_standardised_stream():
    model, inner = Standardized(PKAWV(FEATURES, lam=0.1)), PKAWV(FEATURES, lam=0.1)
    scaled, _ = streams.arrays(X, Y).standardize().load()
    assert_array_equal(model.run(X, Y), inner.run(scaled, Y))
    for name in ("regret", "regret_bound", "log_det", "effective_dimension"):
        assert getattr(model, name)() == getattr(inner, name)()


def test_it_has_only_what_the_inner_learner_has():
    assert Standardized(PKAWV(FEATURES)).regret() == 0.0
    for inner in (FOGD(Gaussian(1.0), loss="squared"), ONS(FEATURES)):
        assert not hasattr(Standardized(inner), "regret")
        assert not hasattr(Standardized(inner), "add_outputs")
    assert isinstance(class_learner(Standardized(PKRR(FEATURES))), LeastSquaresCodes)
    assert isinstance(class_learner(Standardized(ONS(FEATURES))), OneVersusRest)


def test_a_class_that_appears_late_is_exact_inside_and_outside():
    numbers = np.digitize(Y, [-0.3, 0.3])
    numbers[:100] = np.minimum(numbers[:100], 1)
    outside, inside = Classifier(Standardized(PKRR(FEATURES))), Standardized(Classifier(PKRR(FEATURES)))
    declared = Classifier(Standardized(PKRR(FEATURES)))
    declared.reserve(3, 3)
    outside.run(X, numbers)
    inside.run(X, numbers)
    declared.run(X, numbers)
    assert_allclose(outside.predict(X), inside.predict(X), rtol=1e-10, atol=1e-12)
    assert_allclose(outside.predict(X), declared.predict(X), rtol=1e-10, atol=1e-12)


def test_an_inner_learner_of_one_output_refuses_two():
    with pytest.raises(ValueError, match="ONS has one output"):
        Standardized(ONS(FEATURES)).run(X, np.c_[Y, Y])
