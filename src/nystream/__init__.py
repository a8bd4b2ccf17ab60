"""Online kernel learning: nonlinear models that learn one example at a time, in bounded memory, with a regret meter."""

import importlib as _importlib
from typing import TYPE_CHECKING
from typing import Any as _Any

if TYPE_CHECKING:
    from nystream import (
        auto,
        compose,
        datasets,
        encoding,
        evaluate,
        features,
        kernels,
        learners,
        losses,
        metrics,
        scaling,
        solvers,
        streams,
        video,
    )
    from nystream import catalogue as catalogue
    from nystream import choosing as choosing
    from nystream import dictionary as dictionary
    from nystream import inputs as inputs
    from nystream import model as model
    from nystream import params as params
    from nystream import persist as persist
    from nystream import plot as plot
    from nystream import schema as schema
    from nystream import seeds as seeds
    from nystream import tables as tables
    from nystream import tags as tags
    from nystream import tasks as tasks
    from nystream import types as types
    from nystream.auto import Auto, Baseline
    from nystream.catalogue import CATALOGUE
    from nystream.client import AsyncClient, Client
    from nystream.compose import Aggregate, Classifier, Encoded, Mixture, Standardized, Thresholded
    from nystream.evaluate import Comparison, Result
    from nystream.evaluate.compare import compare
    from nystream.evaluate.prequential import prequential
    from nystream.features import (
        KORS,
        AdaptiveNystrom,
        Chain,
        Fastfood,
        Fourier,
        Landmarks,
        LearnedMetric,
        Nystrom,
        Taylor,
        WithConstant,
    )
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
        BudgetPA,
        DoublySGD,
        DualSGD,
        Forgetron,
        Forgetting,
        GaussianFilter,
        KernelAAR,
        KernelAWV,
        KernelRidge,
        KernelSmoother,
        Learner,
        NystromPKAWV,
        NystromPKRR,
        PassiveAggressive,
        Perceptron,
        Projectron,
        ProsNKons,
        RandomBudgetPerceptron,
        SecondOrderPerceptron,
        SketchedKONS,
        SketchedONS,
        SparseLinear,
        Unable,
    )
    from nystream.losses import Loss
    from nystream.model import Model
    from nystream.persist import from_bytes, load, save, to_bytes
    from nystream.scaling import GlobalScale, LogScale, StandardScale
    from nystream.schema import Schema
    from nystream.video import Pixels

    __version__: str

__all__ = [
    "auto",
    "compose",
    "video",
    "CATALOGUE",
    "datasets",
    "encoding",
    "evaluate",
    "features",
    "kernels",
    "learners",
    "losses",
    "metrics",
    "scaling",
    "solvers",
    "streams",
    "compare",
    "prequential",
    "from_bytes",
    "load",
    "save",
    "to_bytes",
    "Auto",
    "Baseline",
    "Classifier",
    "Comparison",
    "Encoded",
    "Fastfood",
    "FOGD",
    "Fourier",
    "Gaussian",
    "GaussianFilter",
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
    "AsyncClient",
    "Client",
    "NAROW",
    "SecondOrderPerceptron",
    "SketchedONS",
    "SparseLinear",
    "Standardized",
    "Thresholded",
    "SVMD",
    "Taylor",
    "BSGD",
    "BudgetPA",
    "DualSGD",
    "Forgetron",
    "Forgetting",
    "KernelSmoother",
    "Mixture",
    "Model",
    "Schema",
    "PassiveAggressive",
    "Perceptron",
    "Projectron",
    "RandomBudgetPerceptron",
    "AdaptiveNystrom",
    "Chain",
    "GlobalScale",
    "Landmarks",
    "LearnedMetric",
    "LogScale",
    "StandardScale",
    "WithConstant",
    "DoublySGD",
    "NOGD",
    "NOLANA",
    "RRF",
    "Unable",
]

_HOMES = {
    "auto": "Auto Baseline",
    "catalogue": "CATALOGUE",
    "client": "AsyncClient Client",
    "compose": "Aggregate Classifier Encoded Mixture Standardized Thresholded",
    "evaluate": "Comparison Result compare prequential",
    "features": "KORS AdaptiveNystrom Chain Fastfood Fourier Landmarks LearnedMetric Nystrom Taylor WithConstant",
    "kernels": "Gaussian Kernel Laplacian Linear Matern Normalized Polynomial",
    "learners": (
        "BSGD FOGD ILK KONS KRLS NAROW NOGD NOLANA NORMA ONS PKAWV PKRR RRF SILK SVMD BudgetPA DoublySGD DualSGD "
        "Forgetron Forgetting GaussianFilter KernelAAR KernelAWV KernelRidge KernelSmoother Learner NystromPKAWV "
        "NystromPKRR PassiveAggressive Perceptron Projectron ProsNKons RandomBudgetPerceptron SecondOrderPerceptron "
        "SketchedKONS SketchedONS SparseLinear Unable"
    ),
    "losses": "Loss",
    "model": "Model",
    "persist": "from_bytes load save to_bytes",
    "scaling": "GlobalScale LogScale StandardScale",
    "schema": "Schema",
    "video": "Pixels",
}
"""Where the public names are: `import nystream` itself loads none of these modules, not even NumPy."""
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}
_MODULES = frozenset(
    {
        *("auto", "catalogue", "choosing", "compose", "datasets", "dictionary", "encoding", "evaluate", "features"),
        *("inputs", "kernels", "learners", "losses", "metrics", "model", "params", "persist", "plot", "scaling"),
        *("schema", "seeds", "solvers", "streams", "tables", "tags", "tasks", "types", "video"),
    }
)
"""Modules that need no import of their own: `nystream.kernels` does. `plot` needs matplotlib, an extra."""


if not TYPE_CHECKING:  # for which every name would be there

    def __getattr__(name: str) -> _Any:
        """A public name or a module, on first use."""
        if name in _HOME:
            found = getattr(_importlib.import_module(f"nystream.{_HOME[name]}"), name)
        elif name in _MODULES:
            found = _importlib.import_module(f"nystream.{name}")
        elif name == "__version__":
            found = _importlib.import_module("nystream.version").installed()
        else:
            raise AttributeError(f"module 'nystream' has no attribute {name!r}")
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
