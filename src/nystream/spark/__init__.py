"""Models on Apache Spark: exact fits of frames and streams, one model for each key, predictions as columns.

It needs the extra `spark` (``pip install 'nystream[spark]'``) and Java 17 or later. Workers need the same Python with
the same packages: set PYSPARK_PYTHON.
"""

from nystream.spark.automatic import fit_auto
from nystream.spark.checkpoints import load_keys
from nystream.spark.errors import WorkerError, clear_errors
from nystream.spark.evaluating import evaluate
from nystream.spark.fitting import fit
from nystream.spark.keyed import per_key
from nystream.spark.predicting import predict
from nystream.spark.streaming import fit_stream

__all__ = [
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
