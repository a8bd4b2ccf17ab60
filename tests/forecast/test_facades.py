"""The forecaster in other libraries: river, scikit-learn's methods, sktime."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nystream import Forecaster

H, N = 6, 120
Y = 10 + 3 * np.sin(2 * np.pi * np.arange(N) / 24) + np.random.default_rng(0).normal(size=N)
TIMES = np.datetime64("2024-03-01T00:00", "us") + np.arange(N + H) * np.timedelta64(1, "h")
TEMP = np.random.default_rng(1).normal(size=N + H)


# -- river -----------------------------------------------------------------------------------------------------------
def test_every_check_of_river_passes():
    checks = pytest.importorskip("river.checks", reason="river is not installed")
    from nystream.river import KernelForecaster

    found = list(checks.yield_checks(KernelForecaster()))
    assert len(found) >= 5
    for check in found:
        check(KernelForecaster())


def test_river_gives_what_the_forecaster_gives():
    pytest.importorskip("river", reason="river is not installed")
    from nystream.river import KernelForecaster

    model, f = KernelForecaster(horizon=H, season=24), Forecaster(H, season=24)
    assert model.forecast(2) == [0.0, 0.0]
    assert model.forecast_interval(1) == [(-math.inf, math.inf)]
    for y in Y:
        model.learn_one(y)
        f.step(y)
    assert_array_equal(model.forecast(4), f.forecast(4))
    low, high = f.forecast_interval(0.8)
    assert model.forecast_interval(2, 0.8) == list(zip(low[:2], high[:2], strict=True))
    with pytest.raises(ValueError, match="horizon must be 1 to 6"):
        model.forecast(7)
    with pytest.raises(ValueError, match="horizon must be 1 to 6"):
        model.forecast_interval(7)


def test_river_finds_the_time_and_takes_the_other_features_as_known_ahead():
    pytest.importorskip("river", reason="river is not installed")
    from nystream.river import KernelForecaster

    rows = [{"at": t.item(), "temp": float(v)} for t, v in zip(TIMES, TEMP, strict=True)]
    model, f = KernelForecaster(horizon=H), Forecaster(H)
    for i, y in enumerate(Y):
        model.learn_one(y, rows[i])
        f.step(y, {"temp": rows[i]["temp"]}, rows[i]["at"])
    assert model.forecaster.calendar_ is not None
    X = [{"temp": row["temp"]} for row in rows[N:]]
    assert_array_equal(model.forecast(H, rows[N:]), f.forecast(X=X))
    with pytest.raises(ValueError, match="xs must have the inputs of the next 3 rows"):
        model.forecast(3)
    with pytest.raises(ValueError, match="xs must have the inputs of the next 3 rows"):
        model.forecast_interval(3)
    with pytest.raises(ValueError, match="x has no 'at'"):
        model.learn_one(1.0, {"temp": 1.0})


# -- scikit-learn's methods ------------------------------------------------------------------------------------------
def test_fit_and_predict_are_run_and_forecast():
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    from sklearn.base import clone
    from sklearn.exceptions import NotFittedError

    from nystream.sklearn import OnlineKernelForecaster

    model = OnlineKernelForecaster(H, season=24)
    with pytest.raises(NotFittedError):
        model.predict()
    model.fit(Y[:50]).fit(Y[:60]).partial_fit(Y[60:])  # fit begins anew
    f = Forecaster(H, season=24)
    f.run(Y)
    assert_array_equal(model.predict(), f.forecast())
    assert_array_equal(model.predict_interval(0.5), f.forecast_interval(0.5))
    assert clone(model).get_params() == model.get_params()
    X = TEMP[:, None]
    timed = OnlineKernelForecaster(H).fit(Y, X[:N], TIMES[:N])
    g = Forecaster(H)
    g.run(Y, X[:N], TIMES[:N])
    assert_array_equal(timed.predict(X=X[N:]), g.forecast(X=X[N:]))


# -- sktime ----------------------------------------------------------------------------------------------------------
about_itself = pytest.mark.filterwarnings("ignore")  # sktime warns of its own plans


def sktime_model(**params):
    pytest.importorskip("sktime", reason="sktime is not installed")
    from nystream.sktime import KernelForecaster

    return KernelForecaster(**params)


@about_itself
def test_every_check_of_sktime_passes():
    model = sktime_model()
    from sktime.utils.estimator_checks import check_estimator

    found = check_estimator(type(model), raise_exceptions=False, verbose=False)
    assert len(found) > 500
    assert {name: error for name, error in found.items() if error != "PASSED"} == {}


@about_itself
def test_sktime_gives_what_the_forecaster_gives():
    model = sktime_model()
    import pandas as pd

    y = pd.Series(Y, index=pd.DatetimeIndex(TIMES[:N], freq="h"), name="load")
    model.fit(y.iloc[:100], fh=np.arange(1, H + 1)).update(y.iloc[100:])
    found = model.predict()
    f = Forecaster(H)
    f.run(Y, when=TIMES[:N])
    assert_array_equal(found.to_numpy(), f.forecast())
    assert found.index[0] == pd.Timestamp(TIMES[N])
