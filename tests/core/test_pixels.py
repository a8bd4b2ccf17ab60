"""The compiled frame of the video network: the definition in NumPy, every instruction set, bands in any order."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream._core.pixels import TILE, Sweep

RATE = -50.0
N = 2 * TILE + 7  # the last tile is mostly padding


def network(n=N, c=3, budget=4, dtype="float64", tau=0.02, C=0.05, rho=1.0, absolute=False, ring=False):
    """Empty arrays and the sweep over them."""
    tiles = -(-n // TILE)
    whole = {"float64": np.int64, "float32": np.int32}[dtype]
    arrays = (
        np.zeros((tiles, budget, c, TILE), dtype),
        np.zeros((tiles, budget, TILE), dtype),
        np.full((tiles, budget, TILE), -1, whole),
        np.ones((tiles, TILE), dtype),
    )
    cap = C if ring else (1 - tau) * C
    sweep = Sweep(*arrays, n, absolute=absolute, ring=ring, rate=RATE, keep=1 - tau, cap=cap, rho=rho)
    return sweep, arrays


def frames(T=60, n=N, c=3, seed=0):
    """Colours that come back, so that pixels have several modes, and byte noise, so that ties occur."""
    rng = np.random.default_rng(seed)
    modes = rng.integers(0, 256, size=(3, n, c))
    pick = rng.integers(3, size=(T, n))
    noise = rng.integers(-3, 4, size=(T, n, c))
    return np.clip(modes[pick, np.arange(n)] + noise, 0, 255).astype(np.uint8)


def by_definition(X, budget=4, tau=0.02, C=0.05, rho=1.0, absolute=False, ring=False, frozen=None):
    """Scores (T, n): arrays over pixels and slots, decays applied at once, no scale."""
    T, n, c = X.shape
    Z, A, B = np.zeros((n, budget, c)), np.zeros((n, budget)), np.full((n, budget), -1)
    P = np.empty((T, n))
    for t in range(T):
        x = X[t] / 255.0
        difference = Z - x[:, None]
        distance = np.abs(difference).sum(2) if absolute else (difference**2).sum(2)
        f = P[t] = (A * np.exp(RATE * distance)).sum(1)
        live = np.ones(n, bool) if frozen is None else ~frozen[t]
        A[live] *= 1 - tau
        if ring:
            new = np.where(f < rho, C, 0.0)
            j = B.argmin(axis=1)
        else:
            new = np.clip(rho - (1 - tau) * f, 0, (1 - tau) * C)
            least = A.min(axis=1)
            j = np.where(least[:, None] == A, B, T).argmin(axis=1)
            live = live & (new > 0) & (new >= least)
        i = np.flatnonzero(live)
        Z[i, j[i]], A[i, j[i]], B[i, j[i]] = x[i], new[i], t
    return P


def run(sweep, arrays, X, frozen=None, cuts=(0, 3), start=0):
    dtype = arrays[0].dtype
    P = np.empty(X.shape[:2], dtype)
    for t, x in enumerate(X):
        for first, last in pairwise(cuts):
            sweep.band(x, P[t], None if frozen is None else frozen[t], start + t, True, first, last)
    return P


SETTINGS = [
    {},
    {"tau": 0.3, "C": 0.4},  # the scale falls below its limit and is taken up
    {"tau": 0.0, "C": 0.25},  # every coefficient is equal: the oldest goes
    {"budget": 1},
    {"budget": 9, "C": 2.0, "rho": 0.5},
    {"absolute": True},
    {"ring": True, "C": 0.3},
    {"ring": True, "budget": 7, "tau": 0.0, "rho": 0.4},
]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
@pytest.mark.parametrize("c", [1, 3, 6])
def test_scores_are_those_of_the_definition(setting, c):
    X = frames(T=250 if setting.get("tau") == 0.3 else 60, c=c)
    expected = by_definition(X, **setting)
    assert_allclose(run(*network(c=c, **setting), X), expected, rtol=1e-12, atol=1e-13)
    assert (expected > 0.0125).any()
    single = run(*network(c=c, dtype="float32", **setting), X)  # coefficients equal in one may differ in the other
    assert np.isclose(single, expected, rtol=2e-5, atol=2e-6).mean() > 0.999


@pytest.mark.parametrize("ring", [False, True])
def test_a_frozen_pixel_neither_learns_nor_fades(ring):
    X = frames()
    frozen = np.random.default_rng(1).random(X.shape[:2]) < 0.4
    expected = by_definition(X, frozen=frozen, ring=ring)
    assert_allclose(run(*network(ring=ring), X, frozen), expected, rtol=1e-12, atol=1e-13)
    kept = np.ones(N, bool)
    sweep, arrays = network(ring=ring)
    run(sweep, arrays, X)
    before = [a.copy() for a in arrays]
    run(sweep, arrays, X, np.broadcast_to(kept, X.shape[:2]).copy())
    for a, b in zip(arrays, before, strict=True):
        assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bands_in_any_cut_and_numbers_for_bytes_give_the_same_bits(dtype):
    X = frames()
    sweep, arrays = network(dtype=dtype)
    P = run(sweep, arrays, X)
    for cuts in ((0, 1, 2, 3), (0, 2, 3)):
        other, more = network(dtype=dtype)
        assert_array_equal(run(other, more, X, cuts=cuts), P)
        for a, b in zip(arrays, more, strict=True):
            assert_array_equal(a, b)
    real = arrays[0].dtype.type
    other, more = network(dtype=dtype)
    assert_array_equal(run(other, more, X.astype(real) / real(255)), P)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_pixel_does_not_depend_on_its_place(dtype):
    X = frames()
    turned = np.random.default_rng(2).permutation(N)
    Y = np.ascontiguousarray(X[:, turned])
    assert_array_equal(run(*network(dtype=dtype), Y), run(*network(dtype=dtype), X)[:, turned])


def test_scoring_alone_changes_nothing():
    X = frames()
    sweep, arrays = network()
    run(sweep, arrays, X)
    before = [a.copy() for a in arrays]
    P = np.empty(N)
    sweep.band(X[0], P, None, 99, False, 0, 3)
    for a, b in zip(arrays, before, strict=True):
        assert_array_equal(a, b)
    twice = np.empty(N)
    sweep.band(X[0], twice, None, 99, True, 0, 3)
    assert_array_equal(P, twice)


@pytest.mark.parametrize(("dtype", "error"), [("float64", 2e-16), ("float32", 2e-7)])
def test_one_stored_colour_gives_the_kernel_itself(dtype, error):
    n = 40 * TILE
    u = np.linspace(0, 2.0, n)[:, None]
    sweep, arrays = network(n=n, c=1, budget=1, dtype=dtype)
    arrays[1][:] = 1.0
    P = np.empty(n, dtype)
    sweep.band(u.astype(dtype), P, None, 0, False, 0, len(arrays[1]))
    exact = np.exp(RATE * u.astype(dtype).astype(np.float64)[:, 0] ** 2)
    assert (np.abs(P - exact) <= error * (1 + 200 * u[:, 0] ** 2) * exact + 2e-35).all()


def test_far_colours_of_any_size_give_zero_and_no_nan():
    for dtype in ("float32", "float64"):
        sweep, arrays = network(n=TILE, c=1, budget=1, dtype=dtype)
        arrays[1][:] = 1.0
        P = np.empty(TILE, dtype)
        x = np.full((TILE, 1), np.finfo(dtype).max, dtype)
        sweep.band(x, P, None, 0, False, 0, 1)
        assert_array_equal(P, 0)


SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
import numpy as np
from test_pixels import frames, network, run
out = [run(*network(dtype=d, ring=r), frames()) for d in ("float64", "float32") for r in (False, True)]
np.savez(sys.stdout.buffer, *out)
"""


def test_every_instruction_set_gives_the_same_scores():
    here = os.path.dirname(__file__)
    results = {}
    for isa in ("base", "avx2", "avx512"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT.format(folder=here)],
            env={**os.environ, "NYSTREAM_ISA": isa},
            capture_output=True,
        )
        assert done.returncode == 0, done.stderr.decode()
        with np.load(io.BytesIO(done.stdout)) as file:
            results[isa] = list(file.values())
    for isa in ("avx2", "avx512"):
        for i, (got, base) in enumerate(zip(results[isa], results["base"], strict=True)):
            assert_allclose(got, base, **({"rtol": 1e-12, "atol": 1e-14} if i < 2 else {"rtol": 1e-4, "atol": 1e-5}))


def test_arrays_of_other_types_and_sizes_are_refused():
    sweep, arrays = network()
    x, P = frames(T=1)[0], np.empty(N)
    for frame, scores, frozen in [
        (x.astype(np.float32), P, None),
        (x[:-1], P, None),
        (x, P.astype(np.float32), None),
        (x, P[:-1], None),
        (x, P, np.zeros(N)),
        (np.asfortranarray(x), P, None),
    ]:
        with pytest.raises(TypeError, match="expected"):
            sweep.band(frame, scores, frozen, 0, True, 0, 3)
    with pytest.raises(IndexError, match="tiles"):
        sweep.band(x, P, None, 0, True, 0, 4)
    with pytest.raises(TypeError, match="too few tiles"):
        Sweep(*arrays, 4 * TILE, absolute=False, ring=False, rate=RATE, keep=1.0, cap=1.0, rho=1.0)
