"""Metrics over streams, cumulative or windowed, and meters read off learners."""

from nystream.metrics.auc import AUC
from nystream.metrics.base import Metric
from nystream.metrics.baselines import OfLast, OfMean
from nystream.metrics.classification import F1, Accuracy, BalancedAccuracy, Kappa, LogLoss
from nystream.metrics.meters import (
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
from nystream.metrics.names import METRICS, as_metric, as_metrics
from nystream.metrics.quantiles import CRPS, Coverage, OfQuantiles, Pinball, Width, Winkler
from nystream.metrics.regression import MAE, MSE, R2, RMSE
from nystream.metrics.window import Windowed

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
