"""One map after another: the composition, and what it passes on."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import PKRR, Fourier, Gaussian, Linear, Nystrom, Taylor, from_bytes, to_bytes
from nystream.features import Chain, Identity, Landmarks, LearnedMetric

X = np.random.default_rng(0).uniform(-1, 1, (200, 3))
Y = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]
KERNEL = Gaussian(0.7)
METRIC = LearnedMetric().fit(X, Y)
RAW = Landmarks(KERNEL, METRIC.transform(X[:15]))


def test_features_are_those_of_the_second_map_on_those_of_the_first():
    second = Fourier(KERNEL, 30, seed=0)
    chain = Chain(METRIC, second)
    chain.start(3)
    expected = second.fit_transform(METRIC.transform(X))
    assert_array_equal(chain.transform(X), expected)
    assert_array_equal(chain.row(X[3]), expected[3])
    assert chain.penalty is None


def test_a_penalty_is_passed_on_so_that_kernel_rows_are_nystrom():
    white = Chain(METRIC, Nystrom(KERNEL, METRIC.transform(X[:15])))
    raw = Chain(METRIC, RAW)
    expected = PKRR(white, lam=0.1).run(X, Y)
    assert_allclose(PKRR(raw, lam=0.1).run(X, Y), expected, rtol=1e-6, atol=1e-8)


def test_what_the_second_map_misses_is_counted_on_its_own_inputs():
    taylor = Taylor(Gaussian(2.0), degree=2)
    chain = Chain(METRIC, taylor)
    chain.start(3)
    chain.note(X[:100])
    for x in X[100:]:
        chain.note(x)
    alone = taylor.clone()
    alone.start(3)
    alone.note(METRIC.transform(X))
    assert_allclose(chain.second_.tail_, alone.tail_, rtol=1e-9)
    assert alone.tail_ > 0
    chain.unnote(X)
    assert_allclose(chain.second_.tail_, 0.0, atol=1e-9 * alone.tail_)


def test_late_columns_reach_both_maps():
    chain = Chain(METRIC, Fourier(KERNEL, 30, seed=0))
    chain.start(3)
    Z = chain.transform(X)
    chain.widen(5)
    assert_allclose(chain.transform(np.column_stack([X, np.zeros((200, 2))])), Z, rtol=1e-9, atol=1e-12)


def test_copies_and_files_map_alike():
    chain = Chain(METRIC, RAW)
    chain.start(3)
    for twin in (copy.deepcopy(chain), from_bytes(to_bytes(chain))):
        assert_array_equal(twin.transform(X), chain.transform(X))


def test_what_cannot_be_chained_is_refused():
    with pytest.raises(ValueError, match="second must be a feature map"):
        Chain(METRIC, KERNEL)
    with pytest.raises(ValueError, match="does not move"):
        Chain(METRIC, Nystrom(KERNEL, 5)).start(3)
    with pytest.raises(ValueError, match="was fitted on 3"):
        Chain(METRIC, RAW).start(4)
    with pytest.raises(ValueError, match="scale the inputs"):
        PKRR(Chain(Identity(), Landmarks(Linear(), X[:5])), lam=0.1).run(1e150 * X, Y)
