"""One row of exact and sketched kernel learners in one call, against the rounds of Python."""

from __future__ import annotations

import copy
import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import solve_triangular

from nystream import Gaussian, Kernel
from nystream._core.linalg import Triangle
from nystream.learners import KONS, KernelAWV, KernelRidge, SketchedKONS


class Asked(Kernel):
    """A Gaussian that only Python can evaluate."""

    def __init__(self, sigma):
        self.sigma = sigma

    def __call__(self, X, Y):
        return Gaussian(self.sigma)(X, Y)


LEARNERS = {
    "KernelAWV": lambda kernel: KernelAWV(kernel, lam=0.1),
    "KernelRidge": lambda kernel: KernelRidge(kernel, lam=0.1, clip=0.6),
    "KONS": lambda kernel: KONS(kernel, clip=2.0, lam=0.5),
    "KONS, absolute": lambda kernel: KONS(kernel, clip=0.5, loss="absolute", lam=0.1),
    "KONS, hinge": lambda kernel: KONS(kernel, clip=1.5, loss="hinge", lam=0.1),
    "SketchedKONS": lambda kernel: SketchedKONS(kernel, clip=2.0, gamma=0.2, beta=2.0, seed=3),
    "SketchedKONS, clipped": lambda kernel: SketchedKONS(kernel, clip=0.4, loss="squared_hinge", gamma=0.1, seed=3),
}


def stream(name, n=330):
    X = np.random.default_rng(0).normal(size=(n, 3))
    X[n // 2 :: 9] = X[1]
    y = np.sin(2 * X[:, 0]) * np.cos(X[:, 1])
    return X, np.where(y >= 0, 1.0, -1.0) if "hinge" in name or "clipped" in name else y


def by_rows(model, X, y):
    return [model.step(x, label) for x, label in zip(X, y.tolist(), strict=True)]


@pytest.mark.filterwarnings("ignore:.*kink")
@pytest.mark.parametrize("name", LEARNERS)
def test_rows_in_one_call_are_those_of_python(name):
    X, y = stream(name)
    short, long = LEARNERS[name](Gaussian(0.7)), LEARNERS[name](Asked(0.7))
    assert_allclose(by_rows(short, X, y), by_rows(long, X, y), rtol=0, atol=1e-11)
    assert short._row is not None
    assert long._row is None
    assert short.size == long.size
    assert_allclose(short.predict(X), long.predict(X), rtol=0, atol=1e-10)
    assert_allclose(short.regret_bound(1.0), long.regret_bound(1.0), rtol=1e-9)
    assert_allclose(short.log_det(), long.log_det(), rtol=1e-9)
    assert_allclose(short.online_dimension(), long.online_dimension(), rtol=1e-9)


@pytest.mark.filterwarnings("ignore:.*kink")
@pytest.mark.parametrize("name", LEARNERS)
def test_rows_blocks_copies_columns_and_questions_follow_each_other(name):
    X, y = stream(name)
    mixed, blocks = LEARNERS[name](Gaussian(0.7)), LEARNERS[name](Gaussian(0.7))
    given = []
    for i in range(0, len(X), 33):
        part = slice(i, i + 20)
        given.extend(mixed.run(X[part], y[part]))
        mixed.predict(X[:2])
        given.extend(by_rows(mixed, X[i + 20 : i + 33], y[i + 20 : i + 33]))
        mixed = copy.deepcopy(mixed)
        if i == 132:
            blocks.run(X[:165], y[:165])
            mixed.widen(5)
            blocks.widen(5)
            X = np.hstack([X, 0.1 * X[:, :2]])
    expected = blocks.run(X[165:], y[165:])
    assert_allclose(given[165:], expected, rtol=0, atol=1e-10)
    assert mixed.size == blocks.size


@pytest.mark.parametrize("kind", [KONS, SketchedKONS, KernelAWV])
def test_what_has_no_room_is_refused_on_the_short_way_as_on_the_long_one(kind):
    X, y = stream("")
    model = kind(Gaussian(0.7), max_points=20)
    by_rows(model, X[:20], y[:20])
    before = model.to_bytes()
    with pytest.raises(ValueError, match="max_points=20"):
        model.step(X[20], 1.0)
    assert model.to_bytes() == before


def test_a_label_beyond_the_clip_warns_on_the_short_way_too():
    X, y = stream("")
    model = KONS(Gaussian(0.7), clip=1.0)
    by_rows(model, X[:5], y[:5])
    with pytest.warns(UserWarning, match="clip"):
        model.step(X[5], 3.0)
    model.step(X[6], 3.0)  # once


@pytest.mark.parametrize("n", [1, 7, 8, 9, 100, 257, 530])
def test_a_triangle_solves_grows_and_is_cut_short(n):
    rng = np.random.default_rng(n)
    L = np.tril(rng.normal(size=(n, n))) / np.sqrt(n)
    np.fill_diagonal(L, rng.uniform(0.5, 2.0, n))
    B = rng.normal(size=(37, n))
    triangle = Triangle()
    for i in range(0, n, 50):
        j = min(i + 50, n)
        triangle.border(np.ascontiguousarray(L[i:j, :i]), np.ascontiguousarray(L[i:j, i:j]))
    assert_array_equal(triangle.matrix, L)
    assert_array_equal(triangle.diagonal, L.diagonal())
    for transposed in (False, True):
        expected = solve_triangular(L, B.T, lower=True, trans="T" if transposed else "N").T
        solved = triangle.solve(B.copy(), transposed)
        assert_allclose(solved, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
        assert_array_equal(triangle.solve(B[5:6].copy(), transposed), solved[5:6])
    triangle.truncate(n // 2)
    half = Triangle(L[: n // 2, : n // 2])
    part = np.ascontiguousarray(B[:, : n // 2])
    assert_array_equal(triangle.solve(part.copy()), half.solve(part.copy()))
    triangle.border(np.ascontiguousarray(L[n // 2 :, : n // 2]), np.ascontiguousarray(L[n // 2 :, n // 2 :]))
    assert_array_equal(triangle.solve(B.copy()), Triangle(L).solve(B.copy()))
    with pytest.raises(ValueError, match="rows, not"):
        triangle.truncate(n + 1)


PROGRAM = """
import numpy as np
from nystream import Gaussian
from nystream.learners import KONS, DoublySGD, KernelAWV, SketchedKONS
rng = np.random.default_rng(0)
X, y = rng.normal(size=(300, 3)), rng.uniform(-1, 1, 300)
for model in (KernelAWV(Gaussian(0.7)), KONS(Gaussian(0.7)), SketchedKONS(Gaussian(0.7), seed=0),
              DoublySGD(Gaussian(0.7), loss="squared", seed=0)):
    print(*[model.step(x, label) for x, label in zip(X, y.tolist())][::7])
"""


def test_instruction_sets_agree():
    found = {}
    for isa in ("plain", "base", "avx2", "avx512"):
        environment = {**os.environ, "NYSTREAM_ISA": isa, "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-c", PROGRAM]
        out = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
        found[isa] = np.array(out.split(), dtype=float)
    for isa in ("base", "avx2", "avx512"):
        assert_allclose(found[isa], found["plain"], rtol=0, atol=1e-10)
