"""scikit-learn estimators: the facade carries the task and the checks, the learner carries the algorithm."""

from nystream.sklearn.classifier import OnlineKernelClassifier
from nystream.sklearn.forecaster import OnlineKernelForecaster
from nystream.sklearn.novelty import OnlineKernelNovelty
from nystream.sklearn.regressor import OnlineKernelRegressor

__all__ = ["OnlineKernelClassifier", "OnlineKernelForecaster", "OnlineKernelNovelty", "OnlineKernelRegressor"]
