"""What every feature map shares: its life from parameters to features."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nystream import ONS, PKRR
from nystream.features import Fastfood, FeatureMap, Fourier, Identity, Nystrom, Taylor
from nystream.kernels import Gaussian, Linear

X = np.random.default_rng(0).normal(size=(40, 3))
MAPS = [
    Identity(),
    Taylor(Gaussian(2.0), degree=3),
    Taylor(Gaussian(2.0), radius=1.0),
    Fourier(Gaussian(2.0), 20, seed=0),
    Fourier(Gaussian(2.0), 20, orthogonal=True, seed=0),
    Fastfood(Gaussian(2.0), 20, seed=0),
]
each_map = pytest.mark.parametrize("template", MAPS, ids=repr)


class Squares(FeatureMap):
    """A map of one's own: `dim` and `_map`, nothing else."""

    @property
    def dim(self):
        return 2 * self.d_

    def _map(self, X, out):
        out[:, : self.d_] = X
        out[:, self.d_ :] = X * X


@each_map
def test_a_map_needs_the_number_of_columns_before_it_transforms(template):
    with pytest.raises(ValueError, match="has seen no data yet; call fit, partial_fit or start"):
        template.clone().transform(X)


@each_map
def test_transform_is_pure_and_takes_the_rows_in_any_form(template):
    features = template.clone().fit(X)
    Z = features.transform(X)
    state = repr(features._state())
    assert Z.shape == (40, features.dim)
    assert_array_equal(features.transform(np.asfortranarray(X)), Z)
    assert_array_equal(features.transform(X.tolist()), Z)
    assert features.transform(X[:0]).shape == (0, features.dim)
    out = np.full_like(Z, np.nan)
    assert features.transform(X, out=out) is out
    assert_array_equal(out, Z)
    assert repr(features._state()) == state


@each_map
def test_rows_and_blocks_have_the_same_features(template):
    features = template.clone().fit(X)
    assert_array_equal([features.row(x) for x in X], features.transform(X))


@each_map
def test_fixed_maps_never_move(template):
    features = template.clone().fit(X)
    Z = features.transform(X)
    assert all(features.observe(x) is None for x in X)
    features.partial_fit(5 * X)
    assert_array_equal(features.transform(X), Z)
    assert_array_equal(features.clone().fit_transform(X), Z)


@each_map
def test_bad_rows_are_refused_with_their_place(template):
    features = template.clone().fit(X)
    bad = X.copy()
    bad[7, 1] = np.nan
    with pytest.raises(ValueError, match="X has nan at row 7, column 1"):
        features.transform(bad)
    with pytest.raises(ValueError, match="X has 2 columns"):
        features.transform(X[:, :2])
    with pytest.raises(ValueError, match="X must be two-dimensional"):
        features.transform(X[0])


@each_map
def test_a_map_has_the_shape_that_learners_expect(template):
    assert isinstance(template, FeatureMap)
    features = template.clone().fit(X)
    assert features.note(X) is None
    assert features.nbytes >= 0
    if type(features).widen is FeatureMap.widen:  # the others: test_widen.py
        with pytest.raises(TypeError, match="cannot take more columns"):
            features.widen(4)


def test_a_map_of_ones_own_needs_two_methods():
    features = Squares().fit(X)
    assert_array_equal(features.transform(X), np.hstack([X, X * X]))
    assert_array_equal(features.row(X[3]), np.hstack([X[3], X[3] ** 2]))


@each_map
def test_rows_that_are_refused_leave_a_fitted_map_as_it_was(template):
    features = template.clone().fit(X)
    Z = features.transform(X)
    for bad in (X * np.nan, X[:0], X[0], [["a", "b", "c"]]):
        with pytest.raises(ValueError, match="X "):
            features.fit(bad)
        assert_array_equal(features.transform(X), Z)


@each_map
def test_a_fitted_map_knows_its_columns_and_names_its_features(template):
    features = template.clone()
    assert not hasattr(features, "n_features_in_")
    features.fit(X)
    assert features.n_features_in_ == 3
    names = features.get_feature_names_out()
    assert len(set(names)) == features.dim
    assert names[0] == f"{type(features).__name__.lower()}0"


def test_rows_that_cannot_be_calculated_with_are_refused_before_any_is_learnt():
    rows = np.ones((600, 2))
    rows[570] = 1e101
    for learner in (PKRR(Identity()), ONS(), PKRR(Nystrom(Linear(), rows[:1]))):
        learner.run(rows[:5], np.ones(5))
        before = learner.to_bytes()
        with pytest.raises(ValueError, match="e\\+202 at row 570, which cannot be calculated with; scale the inputs"):
            learner.run(rows, np.ones(600))
        with pytest.raises(ValueError, match="scale the inputs"):
            learner.step(rows[570], 1.0)
        assert learner.to_bytes() == before
