"""Both facades explain themselves in the names of their columns, whatever their learner."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from facade_learners import REGRESSORS, blobs, fourier, regression
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

import nystream
from nystream.river import KernelClassifier, KernelRegressor
from nystream.sklearn import OnlineKernelClassifier, OnlineKernelRegressor


def dicts(X):
    return [dict(zip("uvw", map(float, x), strict=True)) for x in X]


def test_columns_have_importance_and_rows_reasons():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(150, 3)), columns=["a", "b", "c"])
    y = 2 * X["b"] + X["a"]
    for learner in (None, nystream.PKRR(fourier())):
        model = OnlineKernelRegressor(learner).fit(X, y)
        assert next(iter(model.importance())) == "b"
        assert next(iter(model.importance(X[:80], y[:80]))) == "b"
        reasons = model.explain_row(X[3:4])
        assert_allclose(sum(reasons.values()) + reasons.base, model.predict(X[3:4])[0], rtol=1e-8)
        assert model.explain_row(X.iloc[3]) == reasons == model.explain_row(X.iloc[3].to_dict())
    classes = OnlineKernelClassifier(nystream.PKRR(fourier())).fit(X, np.where(y > 0, "up", "down"))
    assert_allclose(classes.explain_row(X[3:4], of="up").prediction, classes.predict_proba(X[3:4])[0, 1], rtol=1e-8)
    two = OnlineKernelRegressor(nystream.PKRR(fourier())).fit(X, np.column_stack([y, X["c"]]))
    assert next(iter(two.explain_row(X[3:4], of=1))) == "c"
    for ask in (
        OnlineKernelRegressor().importance,
        OnlineKernelRegressor().explain,
        lambda: OnlineKernelRegressor().explain_row(X[:1]),
    ):
        with pytest.raises(NotFittedError):
            ask()


def test_features_have_importance_and_rows_reasons():
    X, y = regression(200)
    for model in (KernelRegressor(), KernelRegressor(REGRESSORS["PKRR"]())):
        with pytest.raises(ValueError, match="nothing to explain"):
            model.explain_row({"u": 1.0})
        for x, target in zip(dicts(X), y, strict=True):
            model.learn_one(x, target)
        assert set(model.importance()) == {"u", "v", "w"}
        assert_allclose(sum(model.importance().values()), 1.0)
        reasons = model.explain_row(dicts(X)[0])
        later = model._model.predict(X[:1])[0]  # reasons are those of a later row, predict_one is for the next one
        assert_allclose(sum(reasons.values()) + reasons.base, later, rtol=1e-8)
    classes = KernelClassifier(REGRESSORS["PKRR"]())
    classes.learn_many(pd.DataFrame(X, columns=["u", "v", "w"]), pd.Series(y > 0))
    x = dicts(X)[0]
    assert_allclose(classes.explain_row(x, of=True).prediction, classes.predict_proba_one(x)[True], rtol=1e-8)
    several = KernelRegressor(REGRESSORS["PKRR"]())
    for x, target in zip(dicts(X), y.tolist(), strict=True):
        several.learn_one(x, {"one": target, "two": -target})
    a, b = (several.explain_row(dicts(X)[0], of=name) for name in ("one", "two"))
    assert_allclose([a[name] for name in "uvw"], [-b[name] for name in "uvw"], rtol=1e-6, atol=1e-9)


def test_a_grid_reaches_into_the_default_learner_of_classes():
    X, y = blobs()
    search = GridSearchCV(OnlineKernelClassifier(), {"learner__memory": ["1MB", "2MB"]}, cv=2).fit(X, y)
    assert search.best_params_["learner__memory"] in ("1MB", "2MB")
    assert search.best_estimator_.learner_.memory == search.best_params_["learner__memory"]
    assert search.best_score_ > 0.9
