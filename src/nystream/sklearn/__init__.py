"""Estimators for scikit-learn around any learner."""

from nystream.sklearn.classifier import OnlineKernelClassifier
from nystream.sklearn.forecaster import OnlineKernelForecaster
from nystream.sklearn.novelty import OnlineKernelNovelty
from nystream.sklearn.regressor import OnlineKernelRegressor

__all__ = ["OnlineKernelClassifier", "OnlineKernelForecaster", "OnlineKernelNovelty", "OnlineKernelRegressor"]
