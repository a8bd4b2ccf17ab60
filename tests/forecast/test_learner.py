"""A forecaster as a learner of rows: what a `Model` of it says and learns."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import nystream
from nystream import Forecaster, Model
from nystream.forecast import SeriesLearner

H, N = 5, 120
TIMES = np.datetime64("2024-01-01T00:00", "us") + np.arange(N + 50) * np.timedelta64(1, "h")
Y = 10 + 3 * np.sin(2 * np.pi * np.arange(N + 50) / 24) + 0.1 * np.random.default_rng(0).normal(size=N + 50)


def rows(a, b, inputs=False):
    return [
        {"when": str(TIMES[i]), **({"temp": float(i % 5), "kind": "ab"[i % 2]} if inputs else {})} for i in range(a, b)
    ]


def model():
    return Model(SeriesLearner(H, season=24))


@pytest.mark.parametrize("inputs", [False, True])
def test_step_predicts_what_predict_says_and_blocks_change_nothing(inputs):
    one, other = model(), model()
    found = rows(0, N, inputs)
    del found[50:53]  # a gap
    y = np.delete(Y[:N], slice(50, 53))
    P = one.run(found, y.tolist())
    for i, row in enumerate(found):
        if i:
            assert other.predict([row], ahead=1)[0] == P[i]
        assert other.step(row, float(y[i])) == P[i] or i == 0
    assert one.inner.forecaster_.to_bytes() == other.inner.forecaster_.to_bytes()
    assert one.n_seen == len(found)
    assert one.inner.forecaster_.n_seen == N


def test_it_goes_on_from_its_file_and_from_a_copy():
    one = model()
    one.run(rows(0, 80), Y[:80].tolist())
    twin, loaded = copy.deepcopy(one), nystream.from_bytes(one.to_bytes())
    expected = one.run(rows(80, N), Y[80:N].tolist())
    for other in (twin, loaded):
        assert_array_equal(other.run(rows(80, N), Y[80:N].tolist()), expected)
        assert other.inner.to_bytes() == one.inner.to_bytes()


def test_intervals_and_quantiles_are_those_of_the_forecaster():
    one, f = model(), Forecaster(H, season=24)
    one.run(rows(0, N), Y[:N].tolist())
    f.run(Y[:N], when=TIMES[:N])
    low, high = one.predict_interval(rows(N, N + H), 0.8)
    assert_array_equal((low, high), f.forecast_interval(0.8))
    assert_array_equal(one.predict_quantile(rows(N, N + H), [0.1, 0.5]), f.forecast_quantile([0.1, 0.5]))
    assert one.weights() == {name: w[0] for name, w in f.weights().items()}
    assert math.isnan(one.predict(rows(N + H, N + H + 1))[0])
    assert math.isnan(one.predict(rows(N - 1, N))[0])


def test_a_refused_block_changes_nothing():
    one = model()
    one.run(rows(0, 30), Y[:30].tolist())
    before = one.inner.to_bytes()
    for bad in ([*rows(30, 33), rows(20, 21)[0]], [*rows(30, 33), {"when": "2024-02-01T00:17"}], rows(29, 30)):
        with pytest.raises(ValueError, match=r"rise|between two rows"):
            one.run(bad, [1.0] * len(bad))
        assert one.inner.to_bytes() == before
    with pytest.raises(ValueError, match="is no column of times"):
        Model(SeriesLearner(H, time="at")).run(rows(0, 2), [1.0, 2.0])
    with pytest.raises(ValueError, match="horizon"):
        SeriesLearner(0)
