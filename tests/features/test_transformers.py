"""Feature maps as scikit-learn transformers: pipelines, clones, searches."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import PKRR
from nystream.features import Fastfood, Fourier, Identity, Nystrom, Taylor
from nystream.kernels import Gaussian

WHY = "scikit-learn is not installed"
base = pytest.importorskip("sklearn.base", reason=WHY)
linear_model = pytest.importorskip("sklearn.linear_model", reason=WHY)
model_selection = pytest.importorskip("sklearn.model_selection", reason=WHY)
pipeline = pytest.importorskip("sklearn.pipeline", reason=WHY)
validation = pytest.importorskip("sklearn.utils.validation", reason=WHY)

X = np.random.default_rng(0).normal(size=(40, 3))
Y = np.sin(X[:, 0]) * X[:, 1]
KERNEL_MAPS = [
    Taylor(Gaussian(2.0), degree=3),
    Taylor(Gaussian(4.0)),
    Taylor(Gaussian(2.0), degree=2, centre=np.ones(3)),
    Fourier(Gaussian(2.0), 20, seed=0),
    Fourier(Gaussian(2.0), 20, orthogonal=True, seed=np.random.default_rng(0)),
    Fastfood(Gaussian(2.0), 20, seed=0),
]


@pytest.mark.parametrize("template", [Identity(), *KERNEL_MAPS], ids=lambda m: type(m).__name__)
def test_a_pipeline_fits_a_linear_model_on_the_features(template):
    features = template.clone()
    model = pipeline.make_pipeline(features, linear_model.Ridge(0.1)).fit(X, Y)
    validation.check_is_fitted(features)
    Z = features.transform(X)
    C, mean = Z - Z.mean(0), Y.mean()
    w = np.linalg.solve(0.1 * np.eye(Z.shape[1]) + C.T @ C, C.T @ Y)
    assert_allclose(model.predict(X), C @ w + mean, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("template", KERNEL_MAPS, ids=lambda m: type(m).__name__)
def test_a_clone_is_unfitted_and_draws_the_same_features(template):
    features = template.clone().fit(X)
    twin = base.clone(features)
    assert not twin.d_
    assert_array_equal(twin.fit_transform(X), features.transform(X))


@pytest.mark.parametrize("template", KERNEL_MAPS, ids=lambda m: type(m).__name__)
def test_a_search_reaches_the_kernels_parameters(template):
    model = pipeline.make_pipeline(template.clone(), linear_model.Ridge(0.1))
    name = f"{type(template).__name__.lower()}__kernel__sigma"
    search = model_selection.GridSearchCV(model, {name: [3.0, 5.0]}, cv=2).fit(X, Y)
    by_hand = [
        np.mean(model_selection.cross_val_score(base.clone(model).set_params(**{name: s}), X, Y, cv=2))
        for s in (3.0, 5.0)
    ]
    assert_allclose(search.cv_results_["mean_test_score"], by_hand)


def test_a_learner_on_a_fitted_map_goes_through_cross_validation():
    facade = pytest.importorskip("nystream.sklearn", reason=WHY)
    model = facade.OnlineKernelRegressor(PKRR(Nystrom(Gaussian(2.0), 10).fit(X), lam=0.1))
    assert_array_equal(base.clone(model).learner.features.points, X[:10])
    scores = model_selection.cross_val_score(model, X, Y, cv=2)
    by_hand = PKRR(Nystrom(Gaussian(2.0), X[:10]), lam=0.1)
    by_hand.run(X[20:], Y[20:])
    error = ((by_hand.predict(X[:20]) - Y[:20]) ** 2).sum()
    assert_allclose(scores[0], 1 - error / ((Y[:20] - Y[:20].mean()) ** 2).sum())
