"""Nested Nystrom coordinates: the algebra of projections, nesting, and refusal of dependent atoms."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import persist
from nystream.dictionary import Nested
from nystream.kernels import Gaussian, Kernel, Laplacian, Linear, Matern, Normalized, Polynomial


class Brownian(Kernel):
    """A user's kernel: min(x, y) on x >= 0; k(0, 0) = 0. Fortran-ordered, to be difficult."""

    def __call__(self, X, Y):
        return np.asfortranarray(np.minimum(X, Y.T))


KERNELS = [Gaussian(0.8), Laplacian(2.0), Matern(2.5), 2 * Gaussian() + Polynomial(3), Normalized(Polynomial(4))]


def started(kernel, atoms):
    nested = Nested(kernel)
    nested.start(atoms.shape[1])
    nested.extend(atoms)
    return nested


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(12, 3)), rng.normal(size=(30, 3))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_products_of_coordinates_are_the_projected_kernel(kernel, data):
    """<P phi, P phi'> = k(x, A) K_AA^-1 k(A, x')."""
    A, X = data
    nested = started(kernel, A)
    Z = nested.coordinates(X)
    assert Z.shape == (30, 12)
    projected = kernel(X, A) @ np.linalg.solve(kernel(A, A), kernel(A, X))
    assert_allclose(Z @ Z.T, projected, rtol=1e-9, atol=1e-9 * np.abs(projected).max())


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_atoms_are_reproduced_exactly_and_the_factor_is_that_of_cholesky(kernel, data):
    A, _ = data
    nested = started(kernel, A)
    K = kernel(A, A)
    Z = nested.coordinates(A)
    assert_allclose(Z @ Z.T, K, rtol=1e-10, atol=1e-10 * K.max())
    assert_allclose(nested.matrix, np.linalg.cholesky(K), rtol=1e-8, atol=1e-9 * K.max())
    assert nested.residual(A).max() < 1e-10 * K.max()


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_new_atom_leaves_old_coordinates_and_adds_one(kernel, data):
    A, X = data
    nested = started(kernel, A[:1])
    for a in A[1:]:
        before = nested.coordinates(X)
        assert nested.append(a)
        after = nested.coordinates(X)
        assert_allclose(after[:, :-1], before, rtol=1e-11, atol=1e-12)
        last = nested.matrix[-1]  # (k(a, x) - z(x).z(a)) / delta
        added = (kernel.row(X, a) - before @ last[:-1]) / last[-1]
        assert_allclose(added, after[:, -1], rtol=1e-6, atol=1e-9 * np.abs(after).max())


def test_the_coordinate_of_a_new_atom_is_its_distance_to_the_span(data):
    A, _ = data
    nested = started(Gaussian(), A[:-1])
    z, squared = nested.row(A[-1]), nested.residual(A[-1:])[0]
    assert nested.append(A[-1], z)
    assert_allclose(nested.row(A[-1]), [*z, np.sqrt(squared)], rtol=1e-10)


def test_rows_and_blocks_agree(data):
    A, X = data
    nested = started(Matern(), A)
    Z = nested.coordinates(X)
    assert_allclose(np.stack([nested.row(x) for x in X]), Z, rtol=1e-12, atol=1e-14)
    out = np.full((30, 12), np.nan)
    assert nested.coordinates(X, out) is out
    assert_array_equal(out, Z)


def test_duplicates_and_dependent_atoms_are_refused(data):
    A, _ = data
    nested = started(Gaussian(), np.repeat(A, 3, axis=0))
    assert_array_equal(nested.points, A)
    assert not nested.append(A[4])
    assert not nested.append(A[4] + 1e-9)
    linear = started(Linear(), A)
    assert linear.n == 3  # the span of R^3
    assert_array_equal(linear.points, A[:3])


def test_a_point_without_a_feature_is_refused():
    nested = started(Brownian(), np.array([[0.0], [1.0], [0.0], [2.0]]))
    assert nested.points.tolist() == [[1.0], [2.0]]
    X = np.array([[0.0], [0.5], [1.5], [3.0]])
    Z = nested.coordinates(X)
    assert_allclose(Z @ Z.T, [[0, 0, 0, 0], [0, 0.25, 0.5, 0.5], [0, 0.5, 1.25, 1.5], [0, 0.5, 1.5, 2]], atol=1e-15)
    assert_allclose(nested.residual(X), [0, 0.25, 0.25, 1], atol=1e-15)


def test_no_atoms_mean_no_coordinates(data):
    _, X = data
    nested = Nested(Gaussian())
    nested.start(3)
    assert nested.n == 0
    assert nested.coordinates(X).shape == (30, 0)
    assert nested.row(X[0]).shape == (0,)
    assert_array_equal(nested.residual(X), np.ones(30))


def test_hard_atoms_leave_everything_finite():
    """500 repetitions, near duplicates and points a million away."""
    rng = np.random.default_rng(1)
    A = np.vstack([np.zeros((500, 4)), 1e-4 * rng.normal(size=(60, 4)), 1e6 + rng.normal(size=(20, 4)), np.eye(4)])
    nested = started(Gaussian(), A)
    Z = nested.coordinates(A)
    assert np.isfinite(Z).all()
    assert 24 < nested.n < 80
    assert_allclose(np.einsum("ij,ij->i", Z, Z), np.ones(len(A)), rtol=1e-6)  # every row is an atom or in their span


def test_one_span_embeds_in_a_larger_one(data):
    """T has orthonormal columns and carries coordinates; duplicates between the two are no obstacle."""
    A, _ = data
    part, union = started(Gaussian(), A[[3, 8, 1]]), started(Gaussian(), A)
    T = union.embedding(part)
    assert T.shape == (12, 3)
    assert_allclose(T.T @ T, np.eye(3), atol=1e-10)
    assert_allclose(part.coordinates(A) @ T.T @ union.matrix.T, part.coordinates(A) @ part.coordinates(A).T, atol=1e-9)
    larger = started(Gaussian(), np.vstack([part.points, A]))
    assert_allclose(larger.embedding(part), np.eye(12, 3), atol=1e-10)


def test_more_columns_of_zeros_change_no_coordinate(data):
    A, X = data
    nested = started(Gaussian(), A)
    Z = nested.coordinates(X)
    nested.widen(5)
    assert_allclose(nested.coordinates(np.hstack([X, np.zeros((30, 2))])), Z, rtol=1e-12, atol=1e-13)
    assert nested.append(np.ones(5))


def test_copies_go_on_alone(data):
    A, X = data
    nested = started(Gaussian(), A[:10])
    for twin in (copy.deepcopy(nested), persist.from_bytes(persist.to_bytes(nested))):
        assert_array_equal(twin.coordinates(X), nested.coordinates(X))
        twin.extend(A)
        assert (nested.n, twin.n) == (10, 12)
    assert nested.nbytes >= (10 * 3 + 10 * 10) * 8
