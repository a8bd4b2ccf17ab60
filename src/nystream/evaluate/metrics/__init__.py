"""Metrics over streams, cumulative or windowed, and meters read from learners."""

from nystream.evaluate.metrics.auc import AUC
from nystream.evaluate.metrics.base import Metric
from nystream.evaluate.metrics.baselines import OfLast, OfMean
from nystream.evaluate.metrics.classification import F1, Accuracy, BalancedAccuracy, Kappa, LogLoss
from nystream.evaluate.metrics.meters import (
    Bytes,
    ImportanceShares,
    Meter,
    Progress,
    Regret,
    RegretBound,
    RowsPerSecond,
    Seconds,
    Size,
    Weights,
)
from nystream.evaluate.metrics.names import METRICS, as_metric, as_metrics
from nystream.evaluate.metrics.quantiles import CRPS, Coverage, OfQuantiles, Pinball, Width, Winkler
from nystream.evaluate.metrics.regression import MAE, MSE, R2, RMSE
from nystream.evaluate.metrics.window import Windowed

__all__ = [
    "METRICS",
    "as_metric",
    "as_metrics",
    "Metric",
    "Windowed",
    "MSE",
    "RMSE",
    "MAE",
    "R2",
    "OfMean",
    "OfLast",
    "OfQuantiles",
    "CRPS",
    "Pinball",
    "Coverage",
    "Width",
    "Winkler",
    "Accuracy",
    "BalancedAccuracy",
    "LogLoss",
    "AUC",
    "F1",
    "Kappa",
    "Meter",
    "Progress",
    "Regret",
    "RegretBound",
    "Seconds",
    "RowsPerSecond",
    "Size",
    "Bytes",
    "Weights",
    "ImportanceShares",
]
