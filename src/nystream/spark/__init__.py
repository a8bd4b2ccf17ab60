"""Models on Apache Spark: exact fits of frames and streams, one model for each key, predictions as columns.

It needs the extra `spark` (``pip install 'nystream[spark]'``) and Java 17 or later. Workers need the same Python with
the same packages: set PYSPARK_PYTHON.
"""

import importlib as _importlib
from typing import TYPE_CHECKING
from typing import Any as _Any

if TYPE_CHECKING:
    from nystream.spark.automatic import fit_auto
    from nystream.spark.checkpoints import load_keys
    from nystream.spark.errors import WorkerError, clear_errors
    from nystream.spark.estimators import (
        OnlineKernelClassificationModel,
        OnlineKernelClassifier,
        OnlineKernelRegressionModel,
        OnlineKernelRegressor,
    )
    from nystream.spark.evaluating import evaluate
    from nystream.spark.fitting import fit
    from nystream.spark.keyed import per_key
    from nystream.spark.predicting import predict
    from nystream.spark.streaming import fit_stream

__all__ = [
    "OnlineKernelClassificationModel",
    "OnlineKernelClassifier",
    "OnlineKernelRegressionModel",
    "OnlineKernelRegressor",
    "WorkerError",
    "clear_errors",
    "evaluate",
    "fit",
    "fit_auto",
    "fit_stream",
    "load_keys",
    "per_key",
    "predict",
]

_HOMES = {
    "OnlineKernelClassificationModel": "estimators",
    "OnlineKernelClassifier": "estimators",
    "OnlineKernelRegressionModel": "estimators",
    "OnlineKernelRegressor": "estimators",
    "WorkerError": "errors",
    "clear_errors": "errors",
    "evaluate": "evaluating",
    "fit": "fitting",
    "fit_auto": "automatic",
    "fit_stream": "streaming",
    "load_keys": "checkpoints",
    "per_key": "keyed",
    "predict": "predicting",
}
"""Where the names are: a worker, which starts anew for every few tasks, imports no more than its task needs."""


if not TYPE_CHECKING:

    def __getattr__(name: str) -> _Any:
        """Import a public name on first use."""
        if name not in _HOMES:
            raise AttributeError(f"module 'nystream.spark' has no attribute {name!r}")
        found = getattr(_importlib.import_module(f"nystream.spark.{_HOMES[name]}"), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
