"""Online kernel learning: nonlinear models that learn one example at a time, in bounded memory, with a regret meter.

`import nystream` loads none of its modules, not even NumPy: every public name is imported on first use. The learners
are those of `nystream.registry`; `_HOMES` has the other names.
"""

import importlib as _importlib
from typing import TYPE_CHECKING
from typing import Any as _Any

if TYPE_CHECKING:
    from nystream import auto as auto
    from nystream import bandits as bandits
    from nystream import compose as compose
    from nystream import data as data
    from nystream import datasets as datasets
    from nystream import dictionary as dictionary
    from nystream import evaluate as evaluate
    from nystream import features as features
    from nystream import forecast as forecast
    from nystream import kernels as kernels
    from nystream import learners as learners
    from nystream import losses as losses
    from nystream import model as model
    from nystream import persist as persist
    from nystream import plot as plot
    from nystream import registry as registry
    from nystream import runtime as runtime
    from nystream import scaling as scaling
    from nystream import solvers as solvers
    from nystream import streams as streams
    from nystream import video as video
    from nystream.auto import *  # noqa: F403
    from nystream.bandits import BKB as BKB
    from nystream.bandits import KernelUCB as KernelUCB
    from nystream.client import AsyncClient as AsyncClient
    from nystream.client import Client as Client
    from nystream.compose import *  # noqa: F403
    from nystream.data.schema import Schema as Schema
    from nystream.evaluate import Comparison as Comparison
    from nystream.evaluate import Result as Result
    from nystream.evaluate.compare import compare as compare
    from nystream.evaluate.prequential import prequential as prequential
    from nystream.features import KORS as KORS
    from nystream.features import AdaptiveNystrom as AdaptiveNystrom
    from nystream.features import Chain as Chain
    from nystream.features import Fastfood as Fastfood
    from nystream.features import Fourier as Fourier
    from nystream.features import Landmarks as Landmarks
    from nystream.features import LearnedMetric as LearnedMetric
    from nystream.features import Nystrom as Nystrom
    from nystream.features import Taylor as Taylor
    from nystream.features import WithConstant as WithConstant
    from nystream.forecast import Forecaster as Forecaster
    from nystream.kernels import Gaussian as Gaussian
    from nystream.kernels import Kernel as Kernel
    from nystream.kernels import Laplacian as Laplacian
    from nystream.kernels import Linear as Linear
    from nystream.kernels import Matern as Matern
    from nystream.kernels import Normalized as Normalized
    from nystream.kernels import Polynomial as Polynomial
    from nystream.learners import *  # noqa: F403
    from nystream.losses import Loss as Loss
    from nystream.model import Model as Model
    from nystream.persist import from_bytes as from_bytes
    from nystream.persist import load as load
    from nystream.persist import save as save
    from nystream.persist import to_bytes as to_bytes
    from nystream.scaling import GlobalScale as GlobalScale
    from nystream.scaling import LogScale as LogScale
    from nystream.scaling import StandardScale as StandardScale
    from nystream.video import Pixels as Pixels

    __version__: str

_HOMES = {
    "bandits": "BKB KernelUCB",
    "client": "AsyncClient Client",
    "compose": "Classifier Conformal Encoded Standardized Thresholded",
    "data.schema": "Schema",
    "evaluate": "Comparison Result compare prequential",
    "features": "KORS AdaptiveNystrom Chain Fastfood Fourier Landmarks LearnedMetric Nystrom Taylor WithConstant",
    "forecast": "Forecaster",
    "kernels": "Gaussian Kernel Laplacian Linear Matern Normalized Polynomial",
    "learners": "KernelAAR Learner Unable",
    "losses": "Loss",
    "model": "Model",
    "persist": "from_bytes load save to_bytes",
    "scaling": "GlobalScale LogScale StandardScale",
    "video": "Pixels",
}
"""Module -> public names that are not records of the registry."""
_MODULES = {
    *(
        "auto",
        "bandits",
        "compose",
        "data",
        "datasets",
        "dictionary",
        "evaluate",
        "features",
        "forecast",
        "kernels",
        "learners",
    ),
    *("losses", "model", "persist", "plot", "registry", "runtime", "scaling", "solvers", "streams", "video"),
}
"""Modules that need no import of their own: `nystream.kernels` works. `plot` needs matplotlib, an extra."""


def _list_homes() -> dict[str, str]:
    """Return the module of every public name."""
    records = _importlib.import_module("nystream.registry").LEARNERS.values()
    homes = {name: f"nystream.{module}" for module, names in _HOMES.items() for name in names.split()}
    return {record.class_name: record.module for record in records} | homes


if not TYPE_CHECKING:  # for type checkers, a module with `__getattr__` would have every name

    def __getattr__(name: str) -> _Any:
        """Import a public name or a module on first use."""
        if name in _MODULES:
            found = _importlib.import_module(f"nystream.{name}")
        elif name == "__all__":
            found = sorted({*_MODULES, *_list_homes()} - {"plot"})
        elif name == "__version__":
            found = _importlib.import_module("nystream.runtime.version").installed_version()
        elif not name.startswith("_") and name in (homes := _list_homes()):
            found = getattr(_importlib.import_module(homes[name]), name)
        else:
            raise AttributeError(f"module 'nystream' has no attribute {name!r}")
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_list_homes(), "__version__"})
