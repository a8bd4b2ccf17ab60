"""What single precision would give kernel expansions and landmarks: a prototype of kernel rows in C, and their errors.

    python benchmarks/speed/single_rows.py            (data: the folder NYSTREAM_DATA, default ../shared/data; needs cc)

Gaussian rows from sums of squared differences, which do not cancel, once with double and once with float: points and
rows are rounded, values are summed as doubles by whoever asked for them. The same C is compiled twice for this
processor. The share of rows in a learner's time is that of its `predict`; `as a whole` is how much faster it would be
with such rows, all else being equal. The mistakes are those of learners with values rounded that way, on ORDERS orders
of the rows: `apart` is the mean difference with equal orders, `noise` the standard deviation over the orders.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import copy
import ctypes
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from _timing import in_turn, rows_of_ijcnn1

from nystream import Gaussian, Kernel
from nystream.learners import BSGD, NOGD, NORMA, SILK

ROWS, SIGMA, REPEATS, ORDERS, TOGETHER = 6000, 0.7, 5, 10, 64
NAMES = ("SILK", "NORMA", "BSGD", "NOGD")
SOURCE = """
#include <math.h>
#include <string.h>
#include <stdint.h>
enum { PANEL = 64 };
static double scale_double(double p, double n) {
  int64_t i = (int64_t)(n + 1023) << 52; double s; memcpy(&s, &i, 8); return p * s;
}
static float scale_float(float p, float n) {
  int32_t i = (int32_t)(n + 127) << 23; float s; memcpy(&s, &i, 4); return p * s;
}
#define ROWS(REAL, RINT, LEAST, POLYNOMIAL)                                                                       \\
  void rows_##REAL(const double *X, int n, const double *Y, int m, int d, double c, double *out) {                \\
    REAL T[512 * PANEL], x[512], a[PANEL];                                                                        \\
    for (int j = 0; j < m; j += PANEL) {                                                                          \\
      const int w = m - j < PANEL ? m - j : PANEL;                                                                \\
      for (int l = 0; l < PANEL; l++)                                                                             \\
        for (int k = 0; k < d; k++) T[k * PANEL + l] = l < w ? (REAL)Y[(j + l) * d + k] : 0;                      \\
      for (int i = 0; i < n; i++) {                                                                               \\
        for (int k = 0; k < d; k++) x[k] = (REAL)X[i * d + k];                                                    \\
        for (int l = 0; l < PANEL; l++) a[l] = 0;                                                                 \\
        for (int k = 0; k < d; k++)                                                                               \\
          for (int l = 0; l < PANEL; l++) { REAL t = x[k] - T[k * PANEL + l]; a[l] += t * t; }                    \\
        for (int l = 0; l < PANEL; l++) {                                                                         \\
          REAL v = (REAL)c * a[l]; v = v < LEAST ? LEAST : v;                                                     \\
          REAL e = RINT(v * (REAL)1.4426950408889634), r = v - e * (REAL)0.6931471805599453, p = 1;               \\
          for (int q = POLYNOMIAL; q > 0; q--) p = p * r / (REAL)q + 1;                                           \\
          a[l] = scale_##REAL(p, e);                                                                              \\
        }                                                                                                         \\
        for (int l = 0; l < w; l++) out[(long)i * m + j + l] = a[l];                                              \\
      }                                                                                                           \\
    }                                                                                                             \\
  }
ROWS(double, rint, -700, 12)
ROWS(float, rintf, -80, 6)
"""


class Rounded(Kernel):
    """The Gaussian kernel in single precision."""

    def __init__(self, sigma: float) -> None:
        self.sigma = sigma

    def __call__(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        x, y = X.astype(np.float32), Y.astype(np.float32)
        squares = ((x[:, None] - y[None]) ** 2).sum(axis=2)
        return np.exp(squares * np.float32(-0.5 / self.sigma**2)).astype(np.float64)

    def diag(self, X: np.ndarray) -> np.ndarray:
        return np.ones(len(X))


def compiled(folder: str) -> Any:
    path = Path(folder) / "rows.c"
    path.write_text(SOURCE)
    library = path.with_suffix(".so")
    options = ["-O3", "-march=native", "-mprefer-vector-width=512", "-ffast-math", "-shared", "-fPIC"]
    subprocess.run(["cc", *options, str(path), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


def learner(name: str, kernel: Any, size: int) -> Any:
    if name == "NOGD":
        return NOGD(kernel, landmarks=size)
    if name == "BSGD":
        return BSGD(kernel, budget=size, lam=1e-4, maintenance="remove")
    return (SILK if name == "SILK" else NORMA)(kernel, budget=size)


def speed(prototype: Any, X: np.ndarray, y: np.ndarray, size: int) -> None:
    d, kernel = X.shape[1], Gaussian(SIGMA)
    warm = {name: learner(name, kernel, size) for name in NAMES}
    for model in warm.values():
        model.run(X, y)  # until there are as many points as there will be
    works: dict[str, Any] = {name: lambda model=model: model.run(X, y) for name, model in warm.items()}
    held = {name: model.size for name, model in warm.items()}
    asked = {name: copy.deepcopy(warm["SILK" if name == "NOGD" else name]) for name in NAMES}
    for name, m in held.items():
        works["rows", name] = lambda model=asked[name]: model.predict(X)  # rows, and one product with coefficients
        for kind in ("double", "float"):
            works[kind, name] = lambda m=m, kind=kind: rows(prototype, kind, X, np.ascontiguousarray(X[:m]))
    taken = in_turn(works, REPEATS)
    print(f"budget {size}, {d} columns")
    for name, m in held.items():
        share, gain = min(taken["rows", name] / taken[name], 1.0), taken["double", name] / taken["float", name]
        part = f"rows {share:4.0%} of {taken[name] / len(X) * 1e6:.2f} us"
        whole = 1 / (1 - share + share / gain)
        print(f"{name:>8}: {m} points, {part}; float {gain:.2f} x double, as a whole {whole:.2f}")


def rows(prototype: Any, kind: str, X: np.ndarray, points: np.ndarray) -> None:
    """All rows of X against the points, as many together as learners take."""
    out, function = np.empty((TOGETHER, len(points))), getattr(prototype, f"rows_{kind}")
    at, to, c = _pointer(points), _pointer(out), ctypes.c_double(-0.5 / SIGMA**2)
    for i in range(0, len(X), TOGETHER):
        x = X[i : i + TOGETHER]
        function(_pointer(x), len(x), at, len(points), X.shape[1], c, to)


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def errors(X: np.ndarray, y: np.ndarray, size: int) -> None:
    for name in NAMES:
        wrong: dict[str, list[float]] = {"double": [], "float": []}
        for seed in range(ORDERS):
            order = np.random.default_rng(seed).permutation(len(X))
            for kind, kernel in (("double", Gaussian(SIGMA)), ("float", Rounded(SIGMA))):
                wrong[kind].append(np.mean(learner(name, kernel, size).run(X[order], y[order]) * y[order] <= 0))
        apart = np.mean(np.subtract(wrong["float"], wrong["double"]))
        means = f"{np.mean(wrong['double']):.3%} {np.mean(wrong['float']):.3%}"
        print(f"{name:>8}: mistakes {means}, apart {apart:+.4%}, noise {np.std(wrong['double']):.3%}")


def main() -> None:
    stream, X, y = rows_of_ijcnn1(ROWS)
    wide = np.ascontiguousarray(np.hstack([X, 0.05 * np.random.default_rng(0).normal(size=(len(X), 78))]))
    print(f"{stream}, {ROWS} rows")
    with tempfile.TemporaryDirectory() as folder:
        prototype = compiled(folder)
        for size in (100, 400):
            speed(prototype, X, y, size)
            speed(prototype, wide, y, size)
    errors(X[:3000], y[:3000], 100)


if __name__ == "__main__":
    main()
