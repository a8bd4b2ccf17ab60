"""Sparse rows in the scikit-learn facade."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

import nystream
from nystream.sklearn import OnlineKernelClassifier, OnlineKernelRegressor


@pytest.mark.parametrize("learner", [None, nystream.SparseLinear(bits=12), nystream.GaussianFilter(bits=12)])
def test_wide_sparse_rows_are_learnt_without_being_made_dense(tmp_path, learner):
    rng = np.random.default_rng(0)
    places = 97 * rng.integers(400, size=(300, 20))
    X = csr_array((np.ones(6000), places.ravel(), np.arange(0, 6001, 20)), shape=(300, 10**6))
    score = X @ np.sin(np.arange(10**6))
    names = np.where(score > 0, "up", "down")
    classifier = OnlineKernelClassifier(learner).fit(X, names)
    assert classifier.score(X, names) > 0.8
    assert_allclose(classifier.predict_proba(X).sum(axis=1), 1.0)
    classifier.save(tmp_path / "m.nys")
    again = OnlineKernelClassifier.load(tmp_path / "m.nys")
    assert again.n_features_in_ == 10**6
    assert (again.predict(X) == classifier.predict(X)).all()
    regressor = OnlineKernelRegressor(learner).partial_fit(X, score)
    assert np.isfinite(regressor.predict(X)).all()
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        OnlineKernelRegressor(nystream.PKRR(nystream.WithConstant())).fit(X, score)
