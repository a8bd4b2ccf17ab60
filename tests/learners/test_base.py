"""What all learners share: the state before the first example, and refusals that leave no trace."""

from __future__ import annotations

import numpy as np
import pytest

from nystream import FOGD, PKRR, Classifier, Fourier, Gaussian, KernelAWV
from nystream.learners import Baseline
from nystream.losses import Softmax

X = np.random.default_rng(0).normal(size=(30, 3))
G = Gaussian(1.0)


@pytest.mark.parametrize(
    ("learner", "shape"),
    [
        (PKRR(Fourier(G, 10)), (30,)),
        (FOGD(G), (30,)),
        (FOGD(G, loss="softmax"), (30, 2)),
        (FOGD(G, loss=Softmax(4)), (30, 4)),
        (Classifier(PKRR(Fourier(G, 10))), (30, 2)),
    ],
)
def test_predictions_before_the_first_example_are_zeros_of_the_right_shape(learner, shape):
    assert learner.predict(X).tolist() == np.zeros(shape).tolist()
    assert learner.run(X[:0], []).shape == (0, *shape[1:])


def test_probabilities_before_the_first_example_are_even():
    model = Classifier(PKRR(Fourier(G, 10)))
    assert model.probabilities(X.tolist()).tolist() == [[0.5, 0.5]] * 30
    with pytest.raises(ValueError, match="X has nan at row 0"):
        model.probabilities(X * np.nan)


def test_a_first_block_that_is_refused_starts_nothing():
    learner = KernelAWV(G, max_points=10)
    before = learner.to_bytes()
    with pytest.raises(ValueError, match="max_points=10"):
        learner.run(X, X[:, 0])
    assert learner.to_bytes() == before
    learner.run(X[:10, :2], X[:10, 0])  # another width is still welcome
    with pytest.raises(ValueError, match="max_points=10"):
        learner.step(X[10, :2], 1.0)


def test_what_was_prepared_survives_a_first_block_that_is_refused():
    learner, twin = Baseline(40), Baseline(40)
    learner.prepare(X)
    twin.prepare(X)
    with pytest.raises(ValueError, match="X has 2 columns, but prepare saw 3"):
        learner.run(X[:, :2], X[:, 0])
    assert np.array_equal(learner.run(X, X[:, 0]), twin.run(X, X[:, 0]))
