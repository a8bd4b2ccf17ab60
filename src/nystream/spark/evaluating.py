"""How good predictions were that were made before their labels were read: for each key and in all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import functions as sql

from nystream.spark.columns import column, is_number, names_of, require

__all__ = ["evaluate"]


def evaluate(
    predictions: Any,
    target: str,
    *,
    key: str | Sequence[str] | None = None,
    prediction: str = "prediction",
    classes: bool | None = None,
) -> Any:
    """Return a frame with a row for each key and one for all rows, in which `overall` is true and the key null.

    The predictions of `per_key`, which are each made before their row is learnt, give prequential figures.

    Columns, of numbers: `rows`, `mse`, `rmse`, `mae` and `r2` (1 minus mse over the variance of the target); of
    classes: `rows`, `errors` and `error_rate`. Rows without a label are left out. A row of classes whose prediction is
    null, because no class was known yet, counts as an error; of numbers it is left out.

    Parameters
    ----------
    predictions : pyspark.sql.DataFrame
        That does not stream: of a stream, the table that its predictions were written to, or `emit="metrics"`.
    target, prediction : str
        Columns of what was true and what was predicted.
    key : str, list of str or None
    classes : bool or None
        Whether the target is one of classes; None: it is, unless both columns are numbers.
    """
    keys = () if key is None else names_of(key, "key")
    require(predictions, [*keys, target, prediction])
    if predictions.isStreaming:
        raise ValueError(
            "evaluate needs a frame that does not stream: write the predictions to a table and evaluate that, or take "
            "per_key(..., emit='metrics')"
        )
    types = [predictions.schema[name].dataType for name in (target, prediction)]
    if classes is None:
        classes = not all(is_number(kind) for kind in types) or any(kind.typeName() == "boolean" for kind in types)
    y, p = column(target), column(prediction)
    known = predictions.where(y.isNotNull() if classes else y.isNotNull() & p.isNotNull())
    if classes:
        wrong = sql.sum((~sql.coalesce(y == p, sql.lit(False))).cast("bigint"))
        figures = [wrong.alias("errors"), (wrong / sql.count(sql.lit(1))).alias("error_rate")]
    else:
        mse, spread = sql.avg((y - p) * (y - p)), sql.var_pop(y)
        figures = [
            *(mse.alias("mse"), sql.sqrt(mse).alias("rmse"), sql.avg(sql.abs(y - p)).alias("mae")),
            sql.when(spread > 0, 1 - mse / spread).alias("r2"),
        ]
    counted = [sql.count(sql.lit(1)).alias("rows"), *figures]
    if not keys:
        return known.agg(*counted).withColumn("overall", sql.lit(True))
    columns = [column(name) for name in keys]
    sets = known.groupingSets([columns, []], *columns)
    return sets.agg(*counted, (sql.grouping_id() > 0).alias("overall"))
