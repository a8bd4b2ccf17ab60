import numpy as np
import pytest

import nystream
from nystream.evaluate.metrics import Bytes, Progress, Regret, RegretBound, RowsPerSecond, Seconds, Size, Weights
from oracles.evaluate import Linear, Ridge, regression_stream, sign_stream


def test_meters_read_the_learner_and_the_clock():
    learner = Ridge()
    learner.run(*regression_stream(20))
    progress = Progress(20, 0.5, learner)
    assert Seconds().read(progress) == 0.5
    assert RowsPerSecond().read(progress) == 40.0
    assert Size().read(progress) == 3.0
    assert Bytes().read(progress) == learner.nbytes
    assert Regret().read(progress) == pytest.approx(learner.regret())


def test_what_is_not_known_is_nan():
    learner = Linear()
    learner.run(*sign_stream(5))
    assert np.isnan(Regret().read(Progress(5, 0.1, learner)))
    assert np.isnan(RowsPerSecond().read(Progress(0, 0.0, learner)))


def test_a_learner_that_cannot_tell_its_regret_is_nan_and_says_why_once():
    class Forgot(Ridge):
        def regret(self):
            raise ValueError("examples were unlearnt")

    learner, meter = Forgot(), Regret()
    learner.run(*regression_stream(5))
    with pytest.warns(UserWarning, match="the regret of Forgot is not known: examples were unlearnt"):
        assert np.isnan(meter.read(Progress(5, 0.1, learner)))
    assert np.isnan(meter.read(Progress(5, 0.1, learner)))  # warnings are errors here: there is no second one


def test_the_bound_is_the_learners_own_and_above_its_regret():
    learner = nystream.PKRR(nystream.Fourier(nystream.Gaussian(0.5), 20, seed=0))
    assert RegretBound().read(Progress(0, 0.0, learner)) == 0.0
    learner.run(*nystream.streams.sine(100, seed=0))
    progress = Progress(100, 0.1, learner)
    assert Regret().read(progress) < RegretBound().read(progress) == learner.regret_bound()


def test_a_bound_that_asks_for_a_comparator_is_nan():
    learner = nystream.ONS()
    learner.run(*nystream.streams.sine(20, seed=0))
    assert np.isnan(RegretBound().read(Progress(20, 0.1, learner)))


def test_weights_are_a_column_for_each_part():
    class Named(Ridge):
        def weights(self):
            return {"a": 0.25, "b[1]": -1}

    assert Weights().readings(Progress(5, 0.1, Named())) == {"weights[a]": 0.25, "weights[b[1]]": -1.0}
    assert Weights.parts(["mse", "weights[a]", "weights[b[1]]"]) == {"a": "weights[a]", "b[1]": "weights[b[1]]"}
    assert Weights().readings(Progress(5, 0.1, Ridge())) == {}


def test_weights_of_a_mixture_are_numbered_and_averaged_over_outputs():
    ridges = [nystream.PKRR(nystream.Fourier(nystream.Gaussian(0.5), 20, seed=0), lam=lam) for lam in (0.1, 10.0)]
    X, y = nystream.streams.sine(100, seed=0)
    for Y in (y, np.column_stack([y, -3 * y])):
        learner = nystream.Mixture(ridges, bound=9.0)
        learner.run(X, Y)
        weights = Weights().readings(Progress(100, 0.1, learner))
        assert list(weights) == ["weights[1 PKRR]", "weights[2 PKRR]"]
        assert list(weights.values()) == pytest.approx(learner.shares().reshape(2, -1).mean(axis=1))
