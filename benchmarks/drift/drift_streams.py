"""Streams with a known change, for auto_drift.py."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "accuracy"))
from auto_streams import REGRESSION, read

from nystream import streams

__all__ = ["GENERATED", "PERMUTED", "REAL", "SCALED", "SHUFFLED", "Stream", "stream"]

AT, N = 5000, 9200
"""Row of the change, and rows."""
SOON = 600
"""Rows from a change to the next."""
USER = 16000
GENERATED = (
    *("user", "abrupt", "gradual", "recurring", "shift", "shift, new places", "sign", "noise", "quieter", "small"),
    *("xor", "prior", "new class", "three classes", "none", "none, classes"),
)
SCALED = ("larger", "larger, another", "smaller", "level", "twice")
"""Generated too: labels that are wild for what was there before; and two changes 600 rows apart."""
REAL = ("elec2", "weather", "covtype2", "covtype7", "ijcnn1", "cod-rna", "usps", "mnist", "casp", "cpusmall")
PERMUTED = tuple(f"permuted {name}" for name in ("casp", "cpusmall", "covtype2", "ijcnn1", "cod-rna", "weather"))
SHUFFLED = tuple(f"shuffled {name}" for name in ("elec2", "covtype2", "weather"))


class Stream(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    regression: bool
    changes: list[int]


def stream(name: str, seed: int = 0) -> Stream:
    if name in (*GENERATED, *SCALED):
        return generated(name, seed)
    kind, _, known = name.rpartition(" ")
    X, y = read(known, 10_200 if kind == "permuted" else 12_000)
    if kind:
        order = np.random.default_rng(1).permutation(len(X))
        X, y = X[order], y[order]
    if kind != "permuted":
        return Stream(X, y, known in REGRESSION, [])
    at, X = 6000 if len(X) > 9000 else 5000, X.copy()
    X[at:] = X[at:][:, np.random.default_rng([seed, 3]).permutation(X.shape[1])]
    return Stream(X, y, known in REGRESSION, [at])


def generated(name: str, seed: int) -> Stream:
    """Friedman's function, or sums of sines of random projections of 5 normal columns, and classes made of them."""
    if name in ("user", "abrupt", "gradual"):
        n, at, drift = (USER, USER // 2, "abrupt") if name == "user" else (N, AT, name)
        return Stream(*_friedman(n, seed, drift=drift, at=at), True, [at])
    if name == "none":
        return Stream(*_friedman(N, seed), True, [])
    if name == "recurring":
        (X, a), (_, b) = _friedman(N, seed), _friedman(N, seed, drift="abrupt", at=0)
        return Stream(X, np.where(np.arange(N) // 2500 % 2 == 1, b, a), True, [2500, 5000, 7500])
    rng = np.random.default_rng([seed, 77])
    X = rng.normal(size=(N, 5))
    first, second = _sines(rng), _sines(rng)
    late, e = np.arange(N) >= AT, rng.normal(size=N)
    f, g = _summed(X, first), _summed(X, second)
    numbers = {
        "shift": (X + 4 * late[:, None], f + 0.1 * e),  # the function moves along with the inputs
        "shift, new places": (X + 4 * late[:, None], _summed(X + 4 * late[:, None], first) + 0.1 * e),
        "sign": (X, np.where(late, -f, f) + 0.1 * e),
        "noise": (X, f + np.where(late, 0.5, 0.1) * e),  # nothing to relearn
        "quieter": (X, np.where(late, g + 0.1 * e, f + e)),  # another function, and an easier one
        "small": (X, f + 0.3 * late * g + 0.3 * e),
        "larger": (X, np.where(late, 10, 1) * (f + 0.1 * e)),
        "larger, another": (X, np.where(late, 10 * g, f) + 0.1 * e),
        "smaller": (X, np.where(late, 0.1, 1) * (f + 0.1 * e)),
        "level": (X, f + 20 * late + 0.1 * e),
    }
    if name in numbers:
        return Stream(*numbers[name], True, [AT])
    if name == "twice":
        again = np.arange(N) >= AT + SOON
        y = np.where(again, _summed(X, _sines(rng)), np.where(late, g, f)) + 0.1 * e
        return Stream(X, y, True, [AT, AT + SOON])
    if name == "prior":
        return Stream(*_prior(rng, first, late), False, [AT])
    three, other = _thirds(2 * f + 0.3 * e), _thirds(2 * g + 0.3 * e)
    labels = {
        "xor": (X[:, 0] * X[:, 1] > 0) ^ late ^ (rng.random(N) < 0.02),
        "new class": np.where(late & (X[:, 0] > 0.5), 3, three),
        "three classes": np.where(late, other, three),
        "none, classes": three,
    }
    return Stream(X, labels[name].astype(float), False, [] if name == "none, classes" else [AT])


def _friedman(n: int, seed: int, **drift: object) -> tuple[np.ndarray, np.ndarray]:
    X, y = streams.friedman(n, seed=seed, **drift).load()  # type: ignore[arg-type]
    return X, np.asarray(y, dtype=float)


def _sines(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return rng.normal(size=(5, 4)) / np.sqrt(5) * 1.2, rng.uniform(0, 6, 4)


def _summed(X: np.ndarray, sines: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    return np.sin(X @ sines[0] + sines[1]).sum(axis=1)


def _thirds(s: np.ndarray) -> np.ndarray:
    return np.digitize(s, np.quantile(s, [0.33, 0.67]))


def _prior(
    rng: np.random.Generator, sines: tuple[np.ndarray, np.ndarray], late: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """One row in ten of class 1 before the change, nine in ten after it."""
    Z = rng.normal(size=(40 * N, 5))
    u = _summed(Z, sines) + 0.5 * rng.normal(size=len(Z))
    label = u > np.median(u)
    wanted = rng.random(N) < np.where(late, 0.9, 0.1)
    picked = np.where(wanted, np.flatnonzero(label)[:N], np.flatnonzero(~label)[:N])
    return Z[picked], label[picked].astype(float)
