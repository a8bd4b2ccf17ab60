"""The memory of exact learners: rows and columns grow, the new coordinate of past rows is that of the nested basis."""

from __future__ import annotations

import copy

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from nystream import persist
from nystream.dictionary import Nested
from nystream.dictionary.history import History
from nystream.kernels import Gaussian


def filled(n=40, m=25):
    """n rounds after each of m atoms: more rows and more columns than are reserved at first."""
    rng = np.random.default_rng(0)
    A, history, nested = rng.normal(size=(m, 3)), History(Gaussian()), Nested(Gaussian())
    history.start(3, 2)
    nested.start(3)
    for a in A:
        z, delta = nested.row(a), float(np.sqrt(nested.residual(a[None])[0]))
        history.append_column(history.column(a, z, delta))
        assert nested.append(a)
        X = rng.normal(size=(n // m + 1, 3))
        history.extend(X, X[:, :2], nested.coordinates(X), np.arange(1.0, len(X) + 1))
    return history, nested


def test_past_rows_have_the_coordinates_of_the_present_dictionary():
    history, nested = filled()
    assert history.coordinates.shape == (50, 25)
    assert_allclose(history.coordinates, nested.coordinates(history.points_.view), atol=1e-9)
    assert_array_equal(history.labels, history.points_.view[:, :2])
    assert_array_equal(history.weights, np.tile([1.0, 2.0], 25))
    assert history.nbytes >= 50 * (25 + 3 + 2 + 1) * 8


def test_copies_go_on_alone():
    history, nested = filled()
    for twin in (copy.deepcopy(history), persist.from_bytes(persist.to_bytes(history))):
        assert_array_equal(twin.coordinates, history.coordinates)
        x = np.zeros((1, 3))
        twin.extend(x, x[:, :2], nested.coordinates(x))
        assert (twin.n, history.n) == (51, 50)
        assert twin.weights[-1] == 1


def test_new_outputs_and_columns_of_inputs():
    history, _ = filled()
    history.add_outputs(np.array([[1.0], [-2.0]]))
    assert_allclose(history.labels[:, 2], history.labels[:, 0] - 2 * history.labels[:, 1])
    history.widen(5)
    assert history.points_.view.shape == (50, 5)
    assert not history.points_.view[:, 3:].any()
