"""What a worker does for the models of the estimators: predictions, probabilities and raw predictions of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from nystream.model import Model
from nystream.persist import from_bytes
from nystream.runtime.types import Array
from nystream.spark.errors import Refusal, one_line
from nystream.spark.jobs import here

__all__ = ["answering", "chosen", "raw_predictions", "spread_over_classes"]

SMALLEST = 1e-300
"""A probability of 0 has this one's logarithm as raw prediction: it stays finite."""


def answering(
    content: bytes, names: tuple[str, ...] | None, classes: int, thresholds: list[float] | None
) -> Callable[[Iterator[pd.DataFrame]], Iterator[pd.DataFrame]]:
    """Return the function of a pandas UDF: from rows to columns of answers.

    Rows are frames of the columns `names`, or, if that is None, of one column of arrays. `classes` is how many there
    are; 0: numbers are predicted.
    """
    build = here()

    def answers(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        build.check()
        model: Model = from_bytes(content, trust=True)
        for batch in batches:
            try:
                yield _answers(model, _rows(batch, names), classes, thresholds)
            except (ValueError, TypeError) as error:
                raise Refusal(one_line(error)) from None

    return answers


def _rows(batch: pd.DataFrame, names: tuple[str, ...] | None) -> Any:
    if names is None:
        return np.stack(batch.iloc[:, 0].to_list()) if len(batch) else None
    return batch.set_axis(list(names), axis=1)


def _answers(model: Model, rows: Any, classes: int, thresholds: list[float] | None) -> pd.DataFrame:
    is_empty = rows is None or not len(rows)
    if not classes:
        return pd.DataFrame({"prediction": [] if is_empty else model.predict(rows)})
    if is_empty:
        return pd.DataFrame({"raw": [], "probability": [], "prediction": []})
    P = spread_over_classes(model, rows, classes)
    return pd.DataFrame(
        {"raw": list(raw_predictions(P)), "probability": list(P), "prediction": chosen(P, thresholds).astype(float)}
    )


def spread_over_classes(model: Model, rows: Any, classes: int) -> Array:
    """Return probabilities (n, classes) in the order of the classes' numbers; 0 of a class that no row had."""
    found = model.probabilities(rows)
    P = np.zeros((len(found), classes))
    P[:, np.array(model.classes, dtype=np.intp)] = found
    return P


def raw_predictions(P: Array) -> Array:
    """Return the logarithms of probabilities, all finite."""
    return np.log(np.maximum(P, SMALLEST))


def chosen(P: Array, thresholds: list[float] | None) -> Array:
    """Return the numbers of the classes with the largest probability, each divided by its threshold if there are any.

    As in Spark, a class with the threshold 0 is chosen wherever its probability is more than 0.
    """
    if thresholds is None:
        return P.argmax(axis=1)
    t = np.array(thresholds)
    scaled = np.divide(P, t, out=np.where(P > 0, np.inf, 0.0), where=t != 0)
    return scaled.argmax(axis=1)
