"""The linear kernel."""

import numpy as np
from numpy.testing import assert_allclose

from nystream.kernels import Linear


def test_values_are_inner_products():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20, 45)), rng.normal(size=(9, 45))
    assert_allclose(Linear()(X, Y), X @ Y.T, rtol=1e-12, atol=1e-13)
    assert_allclose(Linear().diag(X), (X * X).sum(1), rtol=1e-13)
