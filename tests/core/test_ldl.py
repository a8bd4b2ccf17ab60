"""The LDL pass: the same bits for every number of samples a pass, the same numbers on every instruction set."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import nystream
from nystream._core.linalg import ISA, LDL, aligned_zeros, record

HEADERS = Path(__file__).resolve().parents[2] / "src" / "nystream" / "_core" / "simd"


def state(r, K, lam=0.5):
    blocks = -(-r // 8)
    return (
        aligned_zeros(blocks * (blocks + 1) // 2, 8, 8),
        aligned_zeros(8 * blocks) + 1 / lam,
        aligned_zeros(8 * blocks, -(-K // 8) * 8),
        np.zeros(3),
        np.zeros((6, K)),
    )


def stream(n, r, K, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, r)) / np.sqrt(r)
    Z[n // 2 : n // 2 + 3] = Z[:3]
    Z[5 % n] = 0.0
    w = rng.integers(0, 3, n) * rng.uniform(0.1, 2.0, n)
    return Z, rng.normal(size=(n, K)), w


def model(r, K, vovk=True, clip=None):
    arrays = state(r, K)
    return LDL(r, K, *arrays, vovk, clip), arrays


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("r", "K"), [(1, 1), (7, 3), (8, 1), (9, 9), (33, 2), (65, 1), (320, 1), (321, 9)])
def test_results_are_the_same_bits_for_every_number_of_samples_a_pass(r, K, weighted):
    Z, Y, w = stream(67, r, K)
    w = w if weighted else None
    rows, expected = model(r, K)
    P = np.array([rows.step(z, y, 1.0 if w is None else w[t]) for t, (z, y) in enumerate(zip(Z, Y, strict=True))])
    for samples in (1, 2, 3, 5, 8, 13, 16):
        ldl, arrays = model(r, K)
        ldl.samples = samples
        assert_array_equal(ldl.run(Z, Y, w), P)
        for got, wanted in zip(arrays, expected, strict=True):
            assert_array_equal(got, wanted)
        for asked, alone in zip(ldl.query(Z), zip(*(ldl.query(z[None]) for z in Z), strict=True), strict=True):
            assert_array_equal(asked, np.concatenate(alone))


def test_one_output_in_plain_numbers_has_the_same_bits():
    Z, Y, _ = stream(40, 21, 1)
    one, first = model(21, 1, clip=0.3)
    two, second = model(21, 1, clip=0.3)
    assert_array_equal([one.step_one(z, y) for z, y in zip(Z, Y[:, 0], strict=True)], two.run(Z, Y)[:, 0])
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("vovk", [True, False])
def test_a_query_has_the_bits_of_a_step_and_changes_nothing(vovk):
    Z, Y, _ = stream(60, 21, 3)
    ldl, arrays = model(21, 3, vovk, 0.2)
    ldl.run(Z[:40], Y[:40])
    before = [a.copy() for a in arrays]
    P, s = ldl.query(Z[40:], True)
    M, again = ldl.query(Z[40:])
    assert all(np.array_equal(a, b) for a, b in zip(arrays, before, strict=True))
    assert_array_equal(s, again)
    assert_array_equal(P, np.clip(M / (1 + s)[:, None] if vovk else M, -0.2, 0.2))
    assert_array_equal(ldl.step(Z[40], Y[40]), P[0])


def test_queries_in_several_threads_do_not_disturb_each_other():
    Z, Y, _ = stream(400, 60, 2)
    ldl, _ = model(60, 2)
    ldl.run(Z, Y)
    expected = ldl.query(Z)[0]
    with ThreadPoolExecutor(4) as pool:
        for M in pool.map(lambda _: ldl.query(Z)[0], range(16)):
            assert_array_equal(M, expected)


@pytest.mark.parametrize("wrong", [(np.zeros((4, 2)), None), (np.zeros((3, 3)), None), (np.zeros((4, 3)), np.ones(3))])
def test_labels_and_weights_that_do_not_fit_are_refused(wrong):
    ldl, _ = model(21, 3)
    with pytest.raises(ValueError, match="Y must be"):
        ldl.run(np.zeros((4, 21)), *wrong)


def test_outputs_do_not_depend_on_each_other():
    Z, Y, w = stream(50, 13, 11)
    together = model(13, 11)[0].run(Z, Y, w)
    apart = [model(13, 1)[0].run(Z, np.ascontiguousarray(Y[:, k : k + 1]), w) for k in range(11)]
    assert_array_equal(together, np.hstack(apart))


def test_labels_leave_no_trace_in_their_own_prediction():
    Z, Y, _ = stream(30, 13, 1)
    for label in (0.0, 1e-3, -7.0, 1e150):
        ldl, _ = model(13, 1)
        ldl.run(Z[:20], Y[:20])
        first = ldl.step(Z[20], np.array([label]))
        ldl, _ = model(13, 1)
        ldl.run(Z[:20], Y[:20])
        assert_array_equal(ldl.step(Z[20], Y[20]), first)


def test_features_that_would_overflow_are_refused_and_nothing_changes():
    Z, Y, _ = stream(30, 13, 1)
    ldl, arrays = model(13, 1)
    ldl.run(Z[:20], Y[:20])
    before = [a.copy() for a in arrays]
    bad = Z[20:].copy()
    bad[4, 3] = 1e101
    with pytest.raises(ValueError, match="features of row 4 are too large"):
        ldl.run(bad, Y[20:])
    with pytest.raises(ValueError, match="features of row 0 are too large"):
        ldl.step(Z[20], Y[20], 1e250)
    assert all(np.array_equal(a, b) for a, b in zip(arrays, before, strict=True))


def test_tiny_numbers_count_as_zero_inside_a_pass_and_only_there():
    Z, Y, _ = stream(30, 13, 1)
    Z[:, 3] = 5e-324
    ldl, _ = model(13, 1)
    assert np.isfinite(ldl.run(Z, Y)).all()
    ldl.query(Z)
    assert np.float64(5e-324) * np.float64(1.0) > 0  # the processor's mode is what it was


def test_arrays_that_do_not_fit_are_refused():
    Z, Y, _ = stream(10, 13, 2)
    ldl, _ = model(13, 2)
    for bad in (Z[:, :12], Z.astype(np.float32), np.asfortranarray(Z), Z[0]):
        with pytest.raises(ValueError, match="contiguous float64 array with 13 columns"):
            ldl.run(bad, Y)
    with pytest.raises(ValueError, match="contiguous float64 array with 13 columns"):
        ldl.query(Z[:, :12].copy())
    with pytest.raises(ValueError, match="2 labels"):
        ldl.step(Z[0], Y[0, :1].copy())
    with pytest.raises(ValueError, match="one output"):
        ldl.step_one(Z[0], 1.0)
    with pytest.raises(ValueError, match=r"Y must be \(10, 2\)"):
        ldl.run(Z, Y[:9])
    tiles, *rest = state(13, 2)
    with pytest.raises(ValueError, match="fit together"):
        LDL(17, 2, tiles, *rest, True, None)
    for samples in (0, 17):
        with pytest.raises(ValueError, match="from 1 to 16"):
            ldl.samples = samples
    with pytest.raises(ValueError, match="meter of 2 outputs"):
        record(np.zeros(3), np.zeros((6, 2)), Y, Y, Y[:, :1].copy(), np.ones(10), np.ones(10))


def test_state_arrays_start_on_a_cache_line():
    assert all(aligned_zeros(n, 3).ctypes.data % 64 == 0 for n in range(1, 40))


ON_OTHER = """
import sys
import numpy as np
from nystream import load
from nystream._core.linalg import ISA
model = load(sys.argv[1])
with np.load(sys.argv[2]) as data:
    X, Y, w = data["X"], data["Y"], data["w"]
P = model.run(X, Y, w)
np.savez(sys.argv[3], isa=ISA, P=P, Q=model.predict(X), s=model.leverage(X), regret=model.regret())
"""


@pytest.mark.parametrize("isa", ["base", "avx2", "avx512"])
def test_a_model_saved_here_goes_on_with_another_instruction_set(isa, tmp_path):
    rng = np.random.default_rng(0)
    X, Y, w = rng.normal(size=(150, 4)), rng.normal(size=(150, 3)), rng.integers(0, 3, 150).astype(float)
    here = nystream.PKAWV(nystream.Fourier(nystream.Gaussian(2.0), 42, seed=0), lam=0.1)
    here.run(X[:70], Y[:70], w[:70])
    here.save(tmp_path / "model.nys")
    np.savez(tmp_path / "data.npz", X=X[70:], Y=Y[70:], w=w[70:])
    command = [sys.executable, "-c", ON_OTHER, *(str(tmp_path / name) for name in ("model.nys", "data.npz", "out.npz"))]
    subprocess.run(command, check=True, env={**os.environ, "NYSTREAM_ISA": isa})
    with np.load(tmp_path / "out.npz") as file:
        there = dict(file)
    if there["isa"] != isa:
        pytest.skip(f"this processor runs the {there['isa']} path at most, not {isa}")
    equal = assert_array_equal if isa == ISA else lambda a, b: assert_allclose(a, b, rtol=1e-10, atol=1e-12)
    equal(there["P"], here.run(X[70:], Y[70:], w[70:]))
    equal(there["Q"], here.predict(X[70:]))
    equal(there["s"], here.leverage(X[70:]))
    equal(there["regret"], here.regret())


PLAIN = r"""
#include "ldl_kernel.h"
const char *path(void) { return ldl_isa(); }
void run_pass(int learn, int S, int blocks, int outputs, double *L, double *dinv, double *Q, const double *Y,
          const double *s0, double *X, double *M, double *lev) {
  ldl_choose(learn)(S, blocks, outputs, L, dinv, Q, Y, s0, X, M, lev);
}
void gather(int S, int r, int blocks, const double *Z, double *X) { ldl_gather(S, r, blocks, Z, X); }
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    compiler = shutil.which(os.environ.get("CC", "cc"))  # CC: one that compiles for this Python, under emulation
    if compiler is None:
        pytest.skip("no C compiler cc: the path for other compilers is not tested here")
    if not HEADERS.is_dir():
        pytest.skip("the C headers are not there: these tests were taken out of their source tree")
    folder = tmp_path_factory.mktemp("plain")
    (folder / "plain.c").write_text(PLAIN)
    source, library = str(folder / "plain.c"), str(folder / "plain.so")
    flags = ["-O2", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{HEADERS}"]
    subprocess.run([compiler, "-DNYSTREAM_PLAIN_C", *flags, source, "-o", library], check=True)
    functions = ctypes.CDLL(library)
    functions.path.restype = ctypes.c_char_p
    assert functions.path() == b"plain"
    return functions


def address(a):
    return a.ctypes.data_as(ctypes.c_void_p)


@pytest.mark.parametrize(("r", "K"), [(5, 1), (37, 3)])
def test_the_plain_path_agrees(plain, r, K):
    Z, Y, w = stream(60, r, K)
    w += 0.5
    ldl, arrays = model(r, K, vovk=False)
    P = ldl.run(Z, Y, w)
    L, dinv, Q, _, _ = state(r, K)
    blocks, S = len(dinv) // 8, 12
    M, lev, X = np.zeros((S, Q.shape[1])), np.zeros(S), np.zeros(8 * blocks * S)
    for t in range(0, 60, S):
        labels = np.zeros((S, Q.shape[1]))
        labels[:, :K] = Y[t : t + S]
        s0 = 1 / w[t : t + S]
        plain.gather(S, r, blocks, address(Z[t:]), address(X))
        everything = (S, blocks, K, *map(address, (L, dinv, Q, labels, s0, X, M, lev)))
        plain.run_pass(1, *everything)
        assert_allclose(M[:, :K], P[t : t + S], rtol=1e-10, atol=1e-12)
    for got, wanted in zip((L, dinv, Q), arrays[:3], strict=True):
        assert_allclose(got, wanted, rtol=1e-10, atol=1e-12)
    rows = Z[:S].copy()
    before = L.copy()
    plain.gather(S, r, blocks, address(rows), address(X))
    plain.run_pass(0, S, blocks, K, *map(address, (L, dinv, Q, M.copy(), s0, X, M, lev)))
    assert_array_equal(L, before)
    R, s = ldl.query(rows)
    assert_allclose(M[:, :K], R, rtol=1e-10, atol=1e-12)
    assert_allclose(lev, s, rtol=1e-10, atol=1e-14)
