"""Estimators for river around any learner: named features, one row or one frame at a time."""

from nystream.river.classifier import KernelClassifier
from nystream.river.forecaster import KernelForecaster
from nystream.river.novelty import KernelNovelty
from nystream.river.regressor import KernelRegressor

__all__ = ["KernelClassifier", "KernelForecaster", "KernelNovelty", "KernelRegressor"]
