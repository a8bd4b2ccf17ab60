"""The datasets of the NOLANA paper, their published figures, and the scales that a prefix of a stream tells."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from nystream.datasets import load
from nystream.kernels import Gaussian, Kernel
from nystream.reproduce.experiment import Setting
from nystream.reproduce.protocol import error_rate, rmse, shuffled
from nystream.runtime.types import Array

__all__ = [
    "EPS",
    "ETA",
    "GAMMA",
    "IJCNN1",
    "PAPER",
    "SAME",
    "SHUFFLES",
    "TASKS",
    "USPS",
    "Scale",
    "Task",
    "directions",
    "gaussian",
    "prefix",
    "rank",
    "read",
    "seeds",
]

PAPER = "Si, Kumar, Li. Nonlinear Online Learning with Adaptive Nystrom Approximation. arXiv:1802.07887"
GAMMA, ETA, EPS = 0.01, 1.0, 50.0
"""Of the usps runs of the figures: all lines have the same."""
SAME = f"Gaussian kernel of gamma {GAMMA:g}, eta {ETA:g}, eps {EPS:g}, multi-class hinge"

PREFIX = 0.2
"""Share of shuffle 0 on which settings are chosen."""
SHUFFLES = (1, 2, 3, 4, 5)
"""Those that are reported: shuffle 0 served to choose."""
SAMPLE = 1000
"""Rows of the prefix whose distances among each other are looked at."""
AHEAD = 2000
"""Rows of the prefix whose distances to the first landmarks are looked at."""


@dataclass(frozen=True)
class Task:
    """A dataset of the paper.

    Attributes
    ----------
    name : str
        As in `nystream.datasets`.
    landmarks : int
        m of the paper.
    loss : str
        Of all methods but the one named ours.
    smooth : str
        The loss of our variant.
    cuts : tuple of float
        Shares of rows whose distance to the first landmarks is below the values of eps that are tried.
    published : mapping
        The paper's figures by method: accuracy in percent, or RMSE with real targets.
    rows : int or None
        Rows of shuffle 0 of which the prefix is a fifth; None: all.
    """

    name: str
    landmarks: int
    loss: str
    smooth: str
    cuts: tuple[float, ...]
    published: Mapping[str, float]
    rows: int | None = None

    @property
    def real(self) -> bool:
        """Whether targets are numbers: then the figure is the RMSE."""
        return self.loss == "squared"

    @property
    def unit(self) -> str:
        """What the figure is."""
        return "RMSE" if self.real else "accuracy, percent"

    def figure(self, P: Array, y: Array) -> float:
        """Return the accuracy in percent, or the RMSE."""
        return rmse(P, y) if self.real else 100.0 - error_rate(P, y)

    def cost(self, P: Array, y: Array) -> float:
        """Return the value that selection minimises."""
        return rmse(P, y) if self.real else error_rate(P, y)

    def reached(self, figure: float, goal: float) -> bool:
        """Return whether a figure is as good as the goal, in the digits that the paper prints."""
        return round(figure, 2) <= goal if self.real else round(figure, 2) >= goal


def _row(*figures: float) -> dict[str, float]:
    return dict(zip(("PA", "NOGD", "FOGD", "DualSGD", "RRF", "NOLANA"), figures, strict=True))


USPS = Task("usps", 100, "multiclass_hinge", "softmax", (0.1, 0.4, 0.9), _row(80.01, 90.52, 89.52, 89.30, 91.05, 92.07))
IJCNN1 = Task("ijcnn1", 100, "hinge", "logistic", (0.9, 0.97, 0.99), _row(89.84, 93.58, 94.00, 92.92, 95.43, 93.65))
TASKS = (
    Task("cpusmall", 20, "squared", "squared", (0.1, 0.4, 0.9), _row(15.83, 8.30, 7.60, 7.20, 7.77, 7.08)),
    USPS,
    IJCNN1,
    Task(
        "covtype",
        200,
        "logistic",
        "logistic",
        (0.9, 0.97, 0.99),
        _row(68.78, 68.84, 69.95, 70.66, 69.97, 71.51),
        rows=120_000,
    ),
)


@dataclass(frozen=True)
class Scale:
    """What the prefix tells: the median squared distance, eps at the cuts of the task, and the size of targets."""

    width: float
    gaps: tuple[float, ...]
    size: float


def read(task: Task, setting: Setting) -> tuple[Array, Array]:
    """Return all rows, prepared as the paper says."""
    X, y = load(task.name, prepared=True, data=setting.data)
    return np.ascontiguousarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)


def seeds(setting: Setting, count: int = len(SHUFFLES)) -> tuple[int, ...]:
    """Return the seeds of the shuffles to report; one in a quick run."""
    return SHUFFLES[: 1 if setting.quick else count]


def prefix(task: Task, X: Array, y: Array, rows: int | None = None) -> tuple[Array, Array, Scale]:
    """Return the first fifth of shuffle 0 (of its first `rows` rows), and its scales."""
    used = min(len(y), *(n for n in (task.rows, rows) if n is not None)) if task.rows or rows else len(y)
    X, y = shuffled(X, y, 0, int(PREFIX * used))
    m = min(task.landmarks, len(y) // 2)
    apart = _squares(X[:SAMPLE], X[:SAMPLE])[np.triu_indices(len(X[:SAMPLE]), 1)]
    near = _squares(X[m : m + AHEAD], X[:m]).min(axis=1)
    gaps = tuple(float(gap) for gap in np.quantile(near, task.cuts))
    size = math.sqrt(float(np.mean(y**2))) if task.real else 1.0
    return X, y, Scale(float(np.median(apart)), gaps, size)


def gaussian(gamma: float) -> Kernel:
    """Return the kernel exp(-gamma |x - z|^2)."""
    return Gaussian((2.0 * gamma) ** -0.5)


def rank(landmarks: int) -> int:
    """Return the paper's rank r, 0.8 m."""
    return 4 * landmarks // 5


def directions(landmarks: int, d: int) -> int:
    """Return how many random directions of d numbers take the memory of m landmarks and the m x r rotation."""
    return landmarks * (d + rank(landmarks)) // d


def _squares(A: Array, B: Array) -> Array:
    """Return the squared distances, (n, m)."""
    square = np.square(A).sum(axis=1)[:, None] + np.square(B).sum(axis=1) - 2.0 * A @ B.T
    return np.maximum(square, 0.0)
