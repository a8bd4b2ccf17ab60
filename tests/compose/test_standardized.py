"""A learner on running-standardised inputs says and does what the inner learner would, on inputs scaled beforehand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import (
    FOGD,
    ONS,
    PKAWV,
    PKRR,
    Auto,
    Classifier,
    Fourier,
    Gaussian,
    Standardized,
    from_bytes,
    streams,
    to_bytes,
)
from nystream.compose.classes import LeastSquaresCodes, OneVersusRest, class_learner
from nystream.scaling import RunningScale

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
        assert not Standardized(inner).can("regret")
        assert not Standardized(inner).can("add_outputs")
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
    with pytest.raises(ValueError, match=r"Standardized\(ONS\) has one output"):
        Standardized(ONS(FEATURES)).run(X, np.c_[Y, Y])


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_one_row_is_scaled_as_in_a_block_to_the_last_bit(missing):
    rng = np.random.default_rng(1)
    rows = np.column_stack(
        [1e6 + rng.normal(size=300), np.full(300, 0.1), 1e-9 * rng.normal(size=300), rng.random(300)]
    )
    rows[rng.random(rows.shape) < missing] = np.nan
    block, single = RunningScale(), RunningScale()
    block.start(4)
    single.start(4)
    expected = block(rows)
    for t, row in enumerate(rows):
        if t == 150:
            single = from_bytes(to_bytes(single))
        assert_array_equal(single.step(row), expected[t])
    assert to_bytes(single) == to_bytes(block)


def test_rounds_one_by_one_are_those_of_a_block_weights_included():
    weights = np.random.default_rng(2).integers(0, 3, size=200).astype(float)
    block, rows = Standardized(PKRR(FEATURES)), Standardized(PKRR(FEATURES))
    P = block.run(X, Y, weights)
    assert_allclose([rows.step(x, y, w) for x, y, w in zip(X, Y, weights, strict=True)], P, rtol=1e-9, atol=1e-12)
    assert rows.n_seen == rows.learner_.n_seen == np.count_nonzero(weights)
    plain = Standardized(ONS(FEATURES, clip=2.0))
    plain.step(X[0], Y[0])
    before = plain.to_bytes()
    with pytest.raises(ValueError, match=r"Standardized\(ONS\) does not take weights"):
        plain.step(X[1], Y[1], 2.0)
    assert plain.to_bytes() == before


def test_what_the_inner_learner_takes_and_tells_goes_through():
    holes = X.copy()
    holes[::7, 1] = np.nan
    model = Standardized(Auto())
    assert model.missing
    assert np.isfinite(model.run(holes, Y)).all()
    assert model.explain() == model.learner_.explain()
    assert model.weights() == model.learner_.weights()
    assert not Standardized(PKRR(FEATURES)).missing
