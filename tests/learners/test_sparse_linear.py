"""AdaGrad on sparse rows against its slow definition; sparse matrices, hashing, late classes, files."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_array, csr_array, csr_matrix
from sparse_streams import LABELS, as_lists, stream

from nystream import GaussianFilter, SparseLinear, from_bytes
from oracles.sparse import adagrad


@pytest.mark.parametrize("loss", LABELS)
@pytest.mark.parametrize("rates", [(1.0, 3.0, 10.0), (2.0,)])
@pytest.mark.parametrize("pairs", [False, True])
def test_predictions_are_those_of_the_slow_definition(loss, rates, pairs):
    X, Y = stream(loss)
    w = np.random.default_rng(3).choice([0.0, 0.5, 1.0, 2.5], size=len(Y))
    for weights in (None, w):
        K = 4 if loss == "softmax" else 1
        model = SparseLinear(loss, rates=rates, pairs=pairs)
        model.reserve(X.shape[1], K)
        got = model.run(X, Y, weights)
        expected = adagrad(as_lists(X), Y, loss, K, rates, pairs=pairs, weights=weights)
        assert_allclose(got.reshape(len(Y), -1), expected, rtol=1e-12, atol=1e-12)


def test_several_targets_are_learnt_as_by_several_learners():
    X, Y = stream("squared", outputs=3)
    together = SparseLinear().run(X, Y)
    for k in range(3):
        assert_array_equal(together[:, k], SparseLinear().run(X, Y[:, k]))
    assert_allclose(together, adagrad(as_lists(X), Y, "squared", 3, (1.0, 3.0, 10.0)), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("bits", [4, 6])
def test_later_columns_are_hashed_to_the_places_there_are(bits):
    X, Y = stream("squared")
    got = SparseLinear(bits=bits).run(X, Y)
    assert_allclose(got[:, None], adagrad(as_lists(X), Y, "squared", 1, (1.0, 3.0, 10.0), bits=bits), rtol=1e-11)


@pytest.mark.parametrize("loss", LABELS)
def test_dense_rows_and_every_sparse_format_give_the_same_bits(loss):
    X, Y = stream(loss)
    expected = SparseLinear(loss).run(X, Y)
    for rows in (X.toarray(), csr_matrix(X), coo_array(X), X.tocsc(), X.astype(np.float64).tolil()):
        model = SparseLinear(loss)
        assert_array_equal(model.run(rows, Y), expected)
        assert_array_equal(model.predict(rows), model.predict(X.toarray()))
    steps = SparseLinear(loss)
    assert_array_equal([steps.step(X[[t]], Y[t]) for t in range(len(Y))][-20:], expected[-20:])


@pytest.mark.parametrize("learner", [SparseLinear, GaussianFilter])
def test_one_dense_column_is_a_row_like_any_other(learner):
    X = np.random.default_rng(0).normal(size=(40, 1))
    expected = learner("squared").run(csr_array(X), X[:, 0])
    for rows in (X, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]):
        assert_array_equal(learner("squared").run(rows, X[:, 0]), expected)


def test_a_million_columns_are_never_made_dense():
    rng = np.random.default_rng(0)
    X = csr_array((np.ones(50_000), rng.integers(10**6, size=50_000), np.arange(0, 50_001, 100)), shape=(500, 10**6))
    model = SparseLinear("logistic", bits=20)
    P = model.run(X, np.where(rng.random(500) < 0.5, 1.0, -1.0))
    assert P.shape == (500,)
    assert model.nbytes < 8 * 6 * 2**20 + 10_000
    assert len(model.to_bytes()) < 8 * 8 * 50_001  # a file holds what was met
    twin = from_bytes(model.to_bytes())
    assert_array_equal(twin.predict(X), model.predict(X))


def test_late_classes_start_at_zero_and_the_table_is_folded_to_stay_within_its_bytes():
    X, Y = stream("softmax")
    late = np.where(np.arange(len(Y)) < 100, np.minimum(Y, 1), Y + 20)
    model = SparseLinear("softmax", bits=8, max_bytes=2**14)
    P = model.run(X, late)
    assert P.shape == (len(Y), 24)
    assert model.table_.nbytes <= 2**14 + 8 * 3 * 25
    assert np.isfinite(model.predict(X)).all()
    assert np.mean(model.predict(X).argmax(1)[100:] == late[100:]) > 0.5


def test_folding_keeps_what_was_met_in_one_of_two_places():
    X, Y = stream("softmax", d=8)  # places 0 to 7 of 256: the upper half was never met
    model = SparseLinear("softmax", bits=8, max_bytes=8 * 257 * 3 * 6)
    model.run(X, Y)
    before = model.predict(X)
    model.reserve(8, 12)
    assert len(model.table_) < 257
    assert_array_equal(model.predict(X)[:, :4], before)


def test_more_columns_have_their_places_already():
    X, Y = stream("squared")
    narrow, wide = SparseLinear(), SparseLinear()
    few = csr_array(X[:, :20])
    expected = wide.run(csr_array(np.hstack([few.toarray(), np.zeros((len(Y), 20))])), Y)
    assert_array_equal(narrow.run(few, Y), expected)
    narrow.widen(40)
    assert_array_equal(narrow.run(X, Y), wide.run(X, Y))


def test_rates_mean_the_same_for_rows_of_few_and_of_many_columns():
    """Every column twenty times over is the same problem; with plain AdaGrad steps would be twenty times as long."""
    X, Y = stream("squared", n=600)
    once, often = SparseLinear(rates=(2.0,)), SparseLinear(rates=(2.0,))
    few = np.mean((once.run(X, Y) - Y)[300:] ** 2)
    many = np.mean((often.run(np.tile(X.toarray(), 20), Y) - Y)[300:] ** 2)
    assert abs(many / few - 1) < 0.1


def test_a_row_of_weight_zero_leaves_no_trace():
    X, Y = stream("squared")
    weights = np.where(np.arange(len(Y)) % 3 == 1, 0.0, 2.0)
    with_zeros, without = SparseLinear(), SparseLinear()
    with_zeros.run(X, Y, weights)
    without.run(X[weights > 0], Y[weights > 0], weights[weights > 0])
    assert_array_equal(with_zeros.predict(X), without.predict(X))


def test_shares_follow_the_better_rate():
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(3000, 30)).astype(float)
    y = X @ rng.normal(size=30) + 5 * rng.normal(size=3000)  # much noise: small steps are better
    model = SparseLinear(rates=(1.0, 30.0))
    p = model.run(X, y)
    alone = [np.mean((SparseLinear(rates=(r,)).run(X, y) - y)[1000:] ** 2) for r in (1.0, 30.0)]
    assert alone[0] < 0.7 * alone[1]
    assert model.shares_[0, 0] > 0.8
    assert np.mean((p - y)[1000:] ** 2) < 1.03 * alone[0]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"loss": "hinge"}, "loss must be one of 'squared', 'logistic', 'softmax'"),
        ({"rates": ()}, "rates must be a list of 1 to 16 numbers"),
        ({"rates": 0.1}, "rates must be a list"),
        ({"rates": (1.0, -1.0)}, "rates must be"),
        ({"bits": 3}, "bits must be a whole number of at least 4"),
        ({"bits": 40}, "bits must be at most 30"),
    ],
)
def test_bad_parameters_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        SparseLinear(**params)


def test_bad_sparse_rows_are_refused_and_change_nothing():
    X, Y = stream("squared")
    model = SparseLinear()
    model.run(X, Y)
    before = model.to_bytes()
    spoilt = X.copy()
    spoilt.data[5] = np.nan
    row = int(np.searchsorted(X.indptr, 5, side="right")) - 1
    with pytest.raises(ValueError, match=rf"X has nan at row {row}, column {X.indices[5]}"):
        model.run(spoilt, Y)
    with pytest.raises(ValueError, match="X has 39 columns, but the learner was started with 40"):
        model.predict(X[:, :39])
    with pytest.raises(ValueError, match="must hold real numbers"):
        model.run(X.astype(complex), Y)
    with pytest.raises(ValueError, match="x must be one row"):
        model.step(X[:2], 1.0)
    with pytest.raises(ValueError, match="one label for each of the 150 rows"):
        model.run(X, Y[:9])
    assert model.to_bytes() == before
