"""Compiled features: the vector routines against SciPy, the paths of the instruction sets against each other."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.linalg
import scipy.special
from numpy.testing import assert_allclose, assert_array_equal

from nystream._core.features import FastfoodFeatures, FourierFeatures, TaylorFeatures, hadamard, sincos


def fastfood(d, m, size, seed=0):
    rng = np.random.default_rng(seed)
    shape = (-(-m // size), size)
    order = np.array([rng.permutation(size) for _ in range(shape[0])], dtype=np.int32)
    signs = rng.choice([-1.0, 1.0], shape)
    return FastfoodFeatures(d, m, 0.7, signs, order, rng.normal(size=shape), rng.uniform(0.01, 0.1, shape))


def maps(d=5):
    rng = np.random.default_rng(1)
    return {
        "taylor": (TaylorFeatures(d, 4, 1.3, 2.0, rng.normal(size=d)), 126),
        "taylor degree 0": (TaylorFeatures(d, 0, 1.3, 1.0, np.zeros(d)), 1),
        "taylor degree 1": (TaylorFeatures(d, 1, 1.3, 1.0, np.zeros(d)), d + 1),
        "fourier": (FourierFeatures(rng.normal(size=(d, 37)), 0.5), 74),
        "fourier wide": (FourierFeatures(rng.normal(size=(d, 301)), 0.5), 602),
        "fastfood": (fastfood(d, 19, 8), 38),
    }


def test_sines_and_cosines_are_right_to_two_units_in_the_last_place():
    rng = np.random.default_rng(0)
    u = np.concatenate([rng.uniform(-1e6, 1e6, 20_001), rng.normal(size=5000), np.arange(-99, 99) * np.pi / 4, [0.0]])
    c, s = sincos(u)
    assert_allclose(c, [math.cos(v) for v in u], rtol=0, atol=2.3e-16)  # NumPy's own may be a unit off
    assert_allclose(s, [math.sin(v) for v in u], rtol=0, atol=2.3e-16)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_row_alone_has_the_angles_of_a_block_however_many_there_are(dtype):
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(5, 3)), rng.normal(size=(3, 300))
    for m in range(1, 300):
        features = FourierFeatures(W[:, :m].astype(dtype), 1.0)
        Z = np.empty((5, 2 * m), dtype=dtype)
        features.map(X, Z)
        assert_array_equal([features.row(x) for x in X], Z)
        assert_allclose(Z[:, :m], np.cos(X @ W[:, :m]), rtol=0, atol=1e-14 if dtype == np.float64 else 1e-5)


@pytest.mark.parametrize("size", [1, 2, 8, 64])
def test_hadamard_is_the_matrix_of_scipy(size):
    A = np.random.default_rng(size).normal(size=(size, 3))
    expected = scipy.linalg.hadamard(size) @ A
    hadamard(A)
    assert_allclose(A, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("size", [0, 3, 6])
def test_hadamard_refuses_other_sizes(size):
    with pytest.raises(ValueError, match=f"power of two, got {size}"):
        hadamard(np.zeros((size, 2)))


@pytest.mark.parametrize("degree", [0, 1, 2, 7, 40, 900])
def test_the_tail_is_that_of_a_poisson_variable(degree):
    squares = np.concatenate([[0.0, 1e-12, 1e-3], np.linspace(0.1, 60, 97), [700.0, 880.0, 1000.0, 1e6, 1e300]])
    engine = TaylorFeatures(1, degree, 1.0, 3.0, np.zeros(1))
    got = [engine.tail(np.array([q]) ** 0.5, 0.0) for q in squares]
    assert_allclose(got, 3.0 * scipy.special.pdtrc(degree, squares), rtol=5e-11, atol=1e-300)


@pytest.mark.parametrize("name", maps())
def test_a_row_alone_has_the_bits_it_has_in_any_block(name):
    engine, dim = maps()[name]
    X = np.random.default_rng(2).normal(size=(75, 5))
    X[11] *= 1e7  # far beyond the range of the vector sine
    X[12] *= 1e305
    X[13] = 0.0
    whole = np.full((75, dim), np.nan)
    engine.map(X, whole)
    assert np.isfinite(whole).all()
    for x, z in zip(X, whole, strict=True):
        assert_array_equal(engine.row(x), z)
    for start, stop in ((0, 3), (1, 18), (5, 75), (9, 41), (40, 40)):
        part = np.full((stop - start, dim), np.nan)
        engine.map(X[start:stop], part)
        assert_array_equal(part, whole[start:stop])


@pytest.mark.parametrize("name", maps())
def test_wrong_arrays_are_refused_before_any_memory_is_touched(name):
    engine, dim = maps()[name]
    X, Z = np.zeros((4, 5)), np.zeros((4, dim))
    locked = Z.copy()
    locked.flags.writeable = False
    for x, z in ((X[:, :4], Z), (X.T.copy().T, Z), (X.astype(np.float32), Z), (X.tolist(), Z)):
        with pytest.raises((TypeError, ValueError), match="expected"):
            engine.map(x, z)
    for z in (Z[:3], np.zeros((4, dim + 1)), np.zeros((5, dim)), locked):
        with pytest.raises(ValueError, match=r"expected|out must be"):
            engine.map(X, z)
    with pytest.raises(ValueError, match="one row"):
        engine.row(X)


def test_fastfood_refuses_tables_that_do_not_fit():
    good = [np.ones((2, 8)), np.zeros((2, 8), np.int32), np.ones((2, 8)), np.ones((2, 8))]
    FastfoodFeatures(8, 16, 1.0, *good)
    bad = [
        (8, 17, good),
        (9, 16, good),
        (8, 16, [good[0], good[1] + 8, *good[2:]]),
        (8, 16, [good[0], good[1] - 1, *good[2:]]),
        (8, 16, [*good[:3], np.ones((2, 4))]),
    ]
    for d, m, tables in bad:
        with pytest.raises(ValueError, match="blocks of one shape"):
            FastfoodFeatures(d, m, 1.0, *tables)


ALL_MAPS = """
import sys, numpy as np
sys.path.insert(0, {folder!r})
from test_features import maps
X = np.random.default_rng(3).normal(size=(50, 5))
parts = []
for engine, dim in maps().values():
    Z = np.empty((50, dim))
    engine.map(X, Z)
    parts.append(Z)
np.save({target!r}, np.hstack(parts))
"""


@pytest.mark.parametrize("isa", ["base", "avx2"])
def test_all_instruction_sets_agree(isa, tmp_path):
    target = str(tmp_path / "features.npy")
    script = ALL_MAPS.format(folder=os.path.dirname(__file__), target=target)
    subprocess.run([sys.executable, "-c", script], env={**os.environ, "NYSTREAM_ISA": isa}, check=True)
    X = np.random.default_rng(3).normal(size=(50, 5))
    here = []
    for engine, dim in maps().values():
        here.append(np.empty((50, dim)))
        engine.map(X, here[-1])
    assert_allclose(np.load(target), np.hstack(here), rtol=1e-12, atol=1e-14)
