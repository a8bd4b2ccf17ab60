"""Metrics and meters by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from nystream.evaluate.metrics.auc import AUC
from nystream.evaluate.metrics.base import Metric
from nystream.evaluate.metrics.baselines import OfLast, OfMean
from nystream.evaluate.metrics.classification import F1, Accuracy, BalancedAccuracy, Kappa, LogLoss
from nystream.evaluate.metrics.meters import (
    Bytes,
    ImportanceShares,
    Meter,
    Regret,
    RegretBound,
    RowsPerSecond,
    Seconds,
    Size,
    Weights,
)
from nystream.evaluate.metrics.quantiles import CRPS, Coverage, Pinball, Width, Winkler
from nystream.evaluate.metrics.regression import MAE, MSE, R2, RMSE
from nystream.evaluate.metrics.window import Windowed

__all__ = ["METRICS", "as_metric", "as_metrics"]

METRICS: dict[str, type[Metric] | type[Meter]] = {
    kind.name: kind
    for kind in (
        *(MSE, RMSE, MAE, R2, OfMean, OfLast, CRPS, Pinball, Coverage, Width, Winkler),
        *(Accuracy, BalancedAccuracy, LogLoss, AUC, F1, Kappa),
        *(Regret, RegretBound, Seconds, RowsPerSecond, Size, Bytes, Weights, ImportanceShares),
    )
}
"""Every metric and meter by the name that users type; `name@size` is the metric over the last `size` rows."""


def as_metric(metric: str | Metric | Meter) -> Metric | Meter:
    """Return a new metric of that name, or a new copy of the given one.

    Examples
    --------
    >>> as_metric("mse@1000")
    Windowed(MSE(), 1000)
    """
    if isinstance(metric, (Metric, Meter)):
        return metric.clone()
    if not isinstance(metric, str):
        raise ValueError(f"a metric is a name or a Metric, got {metric!r}")
    name, at, size = metric.partition("@")
    if name not in METRICS:
        near = difflib.get_close_matches(name, METRICS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(METRICS)}"
        raise ValueError(f"unknown metric {name!r}; {hint}")
    found = METRICS[name]()
    if not at:
        return found
    if isinstance(found, Meter):
        raise ValueError(f"{metric!r}: {name} is read from the learner and has no windowed form; write {name!r}")
    if not size.isascii() or not size.isdigit() or int(size) == 0:
        raise ValueError(f"{metric!r}: after @ comes the number of rows, as in '{name}@1000'")
    return Windowed(found, int(size))


def as_metrics(metrics: str | Metric | Meter | Iterable[str | Metric | Meter]) -> list[Metric | Meter]:
    """Return new metrics with distinct columns, from one or several names or objects."""
    several = [metrics] if isinstance(metrics, (str, Metric, Meter)) else list(metrics)
    found = [as_metric(metric) for metric in several]
    columns = [metric.column for metric in found]
    if not columns:
        raise ValueError(f"metrics is empty; name at least one of {', '.join(METRICS)}")
    for column in columns:
        if column == "n" or columns.count(column) > 1:
            raise ValueError(f"metrics has {column!r} twice" if column != "n" else "a metric cannot be called 'n'")
    return found
