"""Learners of every kind that the facades tell apart, small and fast, and two streams to learn."""

from __future__ import annotations

import numpy as np

import nystream


def fourier(dim=60, sigma=1.5):
    return nystream.features.Fourier(nystream.Gaussian(sigma), dim, seed=0)


REGRESSORS = {
    "default": lambda: None,
    "PKRR": lambda: nystream.PKRR(fourier(), lam=0.1),
    "PKAWV": lambda: nystream.PKAWV(fourier(), lam=0.1),
    "KernelRidge": lambda: nystream.KernelRidge(nystream.Gaussian(1.5), lam=0.1),
    "FOGD": lambda: nystream.FOGD(nystream.Gaussian(1.5), dim=60, loss="squared", seed=0),
}
LEAST_SQUARES = {
    "Baseline": lambda: nystream.Baseline(),
    "PKRR": REGRESSORS["PKRR"],
    "PKAWV": REGRESSORS["PKAWV"],
    "KernelRidge": REGRESSORS["KernelRidge"],
    "KernelAWV": lambda: nystream.KernelAWV(nystream.Gaussian(1.5), lam=0.1),
}
CLASSIFIERS = {
    "default": lambda: None,
    **LEAST_SQUARES,
    "one versus rest, squared": REGRESSORS["FOGD"],
    "one versus rest, absolute": lambda: nystream.FOGD(nystream.Gaussian(1.5), dim=60, loss="absolute", seed=0),
    "one versus rest, hinge": lambda: nystream.FOGD(nystream.Gaussian(1.5), dim=60, loss="hinge", seed=0),
    "one versus rest, logistic": lambda: nystream.FOGD(nystream.Gaussian(1.5), dim=60, loss="logistic", seed=0),
    "native, softmax": lambda: nystream.FOGD(nystream.Gaussian(1.5), dim=60, loss="softmax", seed=0),
    "native, hinge": lambda: nystream.FOGD(nystream.Gaussian(1.5), dim=60, loss="multiclass_hinge", seed=0),
}


def regression(n=120, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n)


def blobs(n=150, labels=("ash", "birch", "cedar"), seed=0, d=2):
    """Labels around the corners of a polygon, the first rows without the last of them."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(len(labels), size=n)
    numbers[: n // 3] = rng.integers(len(labels) - 1, size=n // 3)
    angle = 2 * np.pi * numbers / len(labels)
    X = 1.5 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.5 * rng.normal(size=(n, 2))
    return np.hstack([X, rng.normal(size=(n, d - 2))]), np.array(labels)[numbers]
