"""Predictions of a trained model as columns of a frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import functions as sql
from pyspark.sql.types import ArrayType, DoubleType, MapType, StringType, StructField, StructType

from nystream.data.inputs import as_levels
from nystream.learners.base import Learner
from nystream.model import Model
from nystream.persist import from_bytes, to_bytes
from nystream.runtime.params import positive
from nystream.spark.columns import column, in_utc, require
from nystream.spark.errors import Refusal, one_line
from nystream.spark.jobs import here
from nystream.spark.patterns import prediction_type, trained_model

__all__ = ["predict"]


def predict(
    df: Any,
    model: Model | Learner,
    features: Sequence[str] | None = None,
    *,
    probabilities: bool = False,
    interval: float | None = None,
    quantiles: Sequence[float] | None = None,
    prediction: str = "prediction",
) -> Any:
    """Return the frame with predictions of a trained model; columns are found by name, in any order.

    A row in which a feature is null has no prediction (null), unless the learner takes missing values.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Streaming or not, of a classic session or of Spark Connect.
    model : Model or Learner
    features : list of str
        The columns in the order in which a `Learner` was trained; a `Model` knows them.
    probabilities : bool
        Also a column `probabilities`, a map from the names of the classes to their probabilities.
    interval : float or None
        Also columns `low` and `high`, ends of intervals that cover this share of the labels to come, 0.9 say.
    quantiles : list of float or None
        Also a column `quantiles`, an array of what these shares of the labels to come are below; of one target.
    prediction : str
        The name of the new column.
    """
    trained = trained_model(model, features)
    assert trained.schema_ is not None
    names = trained.schema_.names
    require(df, names)
    abilities = [("probabilities", probabilities), ("predict_interval", interval is not None)]
    abilities.append(("predict_quantile", quantiles is not None))
    for ability, wanted in abilities:
        if wanted and not trained.can(ability):
            raise trained.inner._unable(ability)
    if interval is not None:
        positive("interval", interval, below=1.0)
    levels = None if quantiles is None else tuple(as_levels(list(quantiles)).tolist())
    kind = prediction_type(trained, df, tuple(trained.schema_.targets))
    fields = [StructField("prediction", kind)]
    if probabilities:
        fields.append(StructField("probabilities", MapType(StringType(), DoubleType())))
    if interval is not None:
        fields += [StructField("low", DoubleType()), StructField("high", DoubleType())]
    if levels is not None:
        fields.append(StructField("quantiles", ArrayType(DoubleType())))
    new = [prediction, *(field.name for field in fields[1:])]
    clash = next((name for name in new if name in df.columns), None)
    if clash is not None:
        raise ValueError(f"the frame has a column {clash!r} already; rename or drop it, or give another `prediction`")
    answering = _answering(to_bytes(trained), tuple(names), probabilities, interval, levels)
    answers = sql.pandas_udf(answering, StructType(fields))
    asked = df.withColumn("__answers", answers(sql.struct(*[in_utc(df, name) for name in names])))
    columns = [column(name) for name in df.columns]
    found = [sql.col(f"__answers.{field.name}").alias(name) for field, name in zip(fields, new, strict=True)]
    return asked.select(*columns, *found)


def _answering(
    content: bytes,
    names: tuple[str, ...],
    probabilities: bool,
    interval: float | None,
    levels: tuple[float, ...] | None,
) -> Any:
    build = here()

    def answers(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        build.check()
        model = from_bytes(content, trust=True)
        for frame in frames:
            try:
                yield _answers(model, frame.set_axis(list(names), axis=1), probabilities, interval, levels)
            except (ValueError, TypeError) as error:
                raise Refusal(one_line(error)) from None

    return answers


def _answers(
    model: Model,
    frame: pd.DataFrame,
    probabilities: bool,
    interval: float | None,
    levels: tuple[float, ...] | None,
) -> pd.DataFrame:
    whole = np.ones(len(frame), dtype=bool) if model.inner.missing else ~frame.isna().any(axis=1).to_numpy()
    rows = frame[whole]
    found: dict[str, Any] = {"prediction": _listed(model.predict(rows)) if len(rows) else []}
    if probabilities:
        classes = [str(name) for name in model.classes]
        P = model.probabilities(rows).tolist() if len(rows) else []
        found["probabilities"] = [dict(zip(classes, row, strict=True)) for row in P]
    if interval is not None:
        low, high = model.predict_interval(rows, interval) if len(rows) else ([], [])
        found["low"], found["high"] = _listed(low), _listed(high)
    if levels is not None:
        found["quantiles"] = _listed(model.predict_quantile(rows, list(levels))) if len(rows) else []
    if whole.all():
        return pd.DataFrame(found)
    columns = {name: np.full(len(frame), None, dtype=object) for name in found}
    for name, values in found.items():
        column = np.empty(len(rows), dtype=object)
        column[:] = list(values)
        columns[name][whole] = column
    return pd.DataFrame(columns)


def _listed(values: Any) -> Any:
    return list(values) if np.ndim(values) == 2 else values
