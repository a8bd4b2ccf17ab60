"""Online kernel learning: nonlinear models that learn one example at a time, in bounded memory, with a regret meter."""

import importlib as _importlib
from importlib.metadata import version as _version
from typing import Any as _Any

from nystream import evaluate, features, kernels, learners, losses, metrics, solvers, streams
from nystream.evaluate import Comparison, Result, compare, prequential
from nystream.features import KORS, AdaptiveNystrom, Fastfood, Fourier, Nystrom, Taylor
from nystream.kernels import Gaussian, Kernel, Laplacian, Linear, Matern, Normalized, Polynomial
from nystream.learners import (
    BSGD,
    FOGD,
    ILK,
    KONS,
    KRLS,
    NAROW,
    NOGD,
    NOLANA,
    NORMA,
    ONS,
    PKAWV,
    PKRR,
    RRF,
    SILK,
    SVMD,
    Aggregate,
    Baseline,
    BudgetPA,
    Classifier,
    DoublySGD,
    DualSGD,
    Forgetron,
    KernelAAR,
    KernelAWV,
    KernelRidge,
    Learner,
    NystromPKAWV,
    NystromPKRR,
    PassiveAggressive,
    Perceptron,
    Pixels,
    Projectron,
    ProsNKons,
    RandomBudgetPerceptron,
    SecondOrderPerceptron,
    SketchedKONS,
    SketchedONS,
    Standardized,
)
from nystream.losses import Loss
from nystream.persist import from_bytes, load, save, to_bytes

__version__ = _version("nystream")

__all__ = [
    "evaluate",
    "features",
    "kernels",
    "learners",
    "losses",
    "metrics",
    "solvers",
    "streams",
    "compare",
    "prequential",
    "from_bytes",
    "load",
    "save",
    "to_bytes",
    "Baseline",
    "Classifier",
    "Comparison",
    "Fastfood",
    "FOGD",
    "Fourier",
    "Gaussian",
    "ILK",
    "Kernel",
    "KernelAAR",
    "KernelAWV",
    "KernelRidge",
    "KONS",
    "KORS",
    "Laplacian",
    "Learner",
    "Linear",
    "Loss",
    "Matern",
    "NORMA",
    "Normalized",
    "Nystrom",
    "NystromPKAWV",
    "NystromPKRR",
    "KRLS",
    "ProsNKons",
    "ONS",
    "PKAWV",
    "PKRR",
    "Pixels",
    "Polynomial",
    "Result",
    "SILK",
    "SketchedKONS",
    "Aggregate",
    "NAROW",
    "SecondOrderPerceptron",
    "SketchedONS",
    "Standardized",
    "SVMD",
    "Taylor",
    "BSGD",
    "BudgetPA",
    "DualSGD",
    "Forgetron",
    "PassiveAggressive",
    "Perceptron",
    "Projectron",
    "RandomBudgetPerceptron",
    "AdaptiveNystrom",
    "DoublySGD",
    "NOGD",
    "NOLANA",
    "RRF",
]


def __getattr__(name: str) -> _Any:
    """`nystream.plot` on first use: it needs matplotlib, which the base install does not bring."""
    if name == "plot":
        return _importlib.import_module("nystream.plot")
    raise AttributeError(f"module 'nystream' has no attribute {name!r}")
