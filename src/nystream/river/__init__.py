"""river estimators: dictionaries of named features in, one row at a time or a frame at a time, for any learner."""

from nystream.river.classifier import KernelClassifier
from nystream.river.forecaster import KernelForecaster
from nystream.river.novelty import KernelNovelty
from nystream.river.regressor import KernelRegressor

__all__ = ["KernelClassifier", "KernelForecaster", "KernelNovelty", "KernelRegressor"]
