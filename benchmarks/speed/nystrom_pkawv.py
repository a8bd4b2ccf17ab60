"""NystromPKAWV with frozen memory, against plain NumPy, settled and growing.

Run: python benchmarks/speed/nystrom_pkawv.py. The second stream is ijcnn1, looked for in NYSTREAM_DATA (default:
../shared/data beside the repository).
"""

from __future__ import annotations

import os
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np
from _results import note
from _timing import by_rows, seconds

from nystream import streams
from nystream.kernels import Gaussian
from nystream.learners.nystrom_pkawv import NystromPKAWV

DATA = Path(os.environ.get("NYSTREAM_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
SIZES = {100: (4096, 400), 300: (3072, 200), 1000: (1024, 40)}
"""Atoms: rows timed, rows timed in NumPy."""
TARGETS = {("row by row", 300): 6, ("whole stream", 300): 15}
"""Multiples of plain NumPy that are wanted with 22 columns."""
Block = tuple[np.ndarray, np.ndarray]


def listing(model: NystromPKAWV, X: np.ndarray, y: np.ndarray, sigma: float) -> np.ndarray:
    """The algorithm on a settled dictionary, one NumPy line per formula, P = A^-1 and b from zero; lam = 1."""
    atoms = model.atoms
    R = model.atoms_.nested_.matrix
    R_inverse, P, b, out = np.linalg.inv(R), np.eye(len(R)), np.zeros(len(R)), np.empty(len(y))
    for t, x in enumerate(X):
        z = R_inverse @ np.exp(-((atoms - x) ** 2).sum(axis=1) / (2 * sigma**2))
        v = P @ z
        s = z @ v
        out[t] = v @ b / (1 + s)
        P -= np.outer(v, v) / (1 + s)
        b += y[t] * z
    return out


def synthetic(rows: int = 12_000) -> Block:
    """22 columns that are functions of 4."""
    rng = np.random.default_rng(0)
    X = np.tanh(rng.normal(size=(rows, 4)) @ rng.normal(size=(4, 22)) / 2)
    return X, np.tanh(2 * X[:, 0] * X[:, 1]) + 0.1 * rng.normal(size=rows)


def settled(name: str, size: int, X: np.ndarray, y: np.ndarray, sigma: float) -> None:
    """Times of a full dictionary, row by row and in blocks."""
    rows, few = SIZES[size]
    model = NystromPKAWV(Gaussian(sigma), mu=1e-4, max_atoms=size, seed=0)
    model.run(X[:8000], y[:8000])
    X, y = X[8000 : 8000 + rows], y[8000 : 8000 + rows]
    given = NystromPKAWV(Gaussian(sigma), dictionary=model.atoms.copy())
    np.testing.assert_allclose(given.run(X[:few], y[:few]), listing(given, X[:few], y[:few], sigma), atol=1e-6)
    base = seconds(lambda: listing(given, X[:few], y[:few], sigma), 3) / few
    step = seconds(lambda: by_rows(model.step, X, y)) / rows
    block = seconds(lambda: model.run(X, y)) / rows
    print(f"{name:>10} {model.size:>5} {'plain NumPy':>13} {1 / base:>9,.0f} {base * 1e6:>8.2f} {1.0:>8.1f}")
    for mode, each in (("row by row", step), ("whole stream", block)):
        wanted, beside = TARGETS.get((mode, size), ""), f"{step / each:.1f}" if each is block else ""
        line = f"{name:>10} {model.size:>5} {mode:>13} {1 / each:>9,.0f} {each * 1e6:>8.2f} {base / each:>8.1f}"
        print(f"{line} {wanted:>5} {beside:>6}".rstrip(), flush=True)
        note(f"NystromPKAWV, {size} atoms, {name}", mode, 1 / each, "rows/s", base / each, "plain NumPy")


def growing(name: str, X: np.ndarray, y: np.ndarray, sigma: float) -> None:
    """A dictionary that still samples: the first rows, in which it fills, and rows after them."""
    for mu in (10.0, 1.0):
        blocks, rows = (NystromPKAWV(Gaussian(sigma), mu=mu, seed=0) for _ in range(2))
        fill = seconds(lambda m=blocks: m.run(X[:4000], y[:4000]), 1)
        slow = seconds(lambda m=rows: by_rows(m.step, X[:4000], y[:4000]), 1)
        later = seconds(lambda m=blocks: m.run(X[4000:7000], y[4000:7000]), 1) / 3000
        atoms = f"{rows.size} -> {blocks.size}"
        print(
            f"{name:>10} {mu:>5g} {atoms:>13} {4000 / slow:>12,.0f} {4000 / fill:>12,.0f} {slow / fill:>6.1f} "
            f"{1 / later:>12,.0f}",
            flush=True,
        )
        note(f"NystromPKAWV, growing, mu {mu:g}, {name}", "blocks", 4000 / fill, "rows/s", slow / fill, "row by row")


def constant(X: np.ndarray, y: np.ndarray, sigma: float) -> None:
    """Cost of a block of rows early and late in a stream of a million rows."""
    model, early = NystromPKAWV(Gaussian(sigma), mu=1e-4, max_atoms=100, seed=0), 0.0
    held = 0
    while model.n_seen < 1_000_000:
        if model.n_seen == 10_000:
            early, held = seconds(lambda: model.run(X[:1000], y[:1000])), model.nbytes
        model.run(X[: 10_000 - model.n_seen % 10_000], y[: 10_000 - model.n_seen % 10_000])
    late = seconds(lambda: model.run(X[:1000], y[:1000]))
    print(
        f"100 atoms: {early * 1e3:.2f} us a row after 10,000 rounds, {late * 1e3:.2f} after {model.n_seen:,}: "
        f"{late / early:.2f} times; {held:,} and {model.nbytes:,} bytes"
    )


def main() -> None:
    sets = {"synthetic": (*synthetic(), 2.0)}
    if (DATA / "ijcnn1" / "ijcnn1.bz2").exists():
        X, y = streams.open_stream(DATA / "ijcnn1" / "ijcnn1.bz2").load()
        sets["ijcnn1"] = (np.asarray(X, dtype=float)[:12_000], np.asarray(y, dtype=float)[:12_000], 0.7)
    else:
        print(f"ijcnn1 is not in {DATA}: set NYSTREAM_DATA; only the synthetic stream is timed")
    print("settled, one thread, features included")
    print(
        f"{'stream':>10} {'atoms':>5} {'mode':>13} {'rows/s':>9} {'us/row':>8} {'x NumPy':>8} {'want':>5} {'x rows':>6}"
    )
    for name, (X, y, sigma) in sets.items():
        for size in SIZES:
            settled(name, size, X, y, sigma)
    print("growing: rows/s over the first 4,000 rows, row by row and in blocks; then of the next 3,000, in blocks")
    print(f"{'stream':>10} {'mu':>5} {'atoms':>13} {'row by row':>12} {'blocks':>12} {'times':>6} {'afterwards':>12}")
    for name, (X, y, sigma) in sets.items():
        growing(name, X, y, sigma)
    constant(*sets["synthetic"])


if __name__ == "__main__":
    main()
