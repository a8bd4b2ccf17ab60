"""The forecaster with `fit` and `predict` of scikit-learn."""

from __future__ import annotations

from typing import Any, Self

from nystream.forecast import Forecaster
from nystream.runtime.types import Array
from nystream.sklearn.base import BaseEstimator, check_is_fitted

__all__ = ["OnlineKernelForecaster"]


class OnlineKernelForecaster(BaseEstimator):  # type: ignore[misc]
    """`nystream.Forecaster` with the methods of scikit-learn: `fit`, `partial_fit`, `predict`.

    The methods differ from other estimators: the first argument of `fit` are the labels, and that of `predict` is the
    number of steps. Parameters are those of `nystream.Forecaster`.

    Attributes
    ----------
    forecaster_ : Forecaster
        The trained forecaster, with its `explain`, `score`, `alarms`, `save` and so on.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.sklearn import OnlineKernelForecaster
    >>> y = 10 + np.sin(np.arange(240) * np.pi / 12)
    >>> model = OnlineKernelForecaster(horizon=24, season=24).fit(y)
    >>> bool(np.abs(model.predict() - y[:24]).max() < 0.1)
    True
    """

    def __init__(
        self,
        horizon: int = 24,
        *,
        season: Any = None,
        learner: Any = None,
        members: Any = None,
        frequency: str | None = None,
        resample: str | None = None,
        holidays: str | None = None,
    ) -> None:
        self.horizon = horizon
        self.season = season
        self.learner = learner
        self.members = members
        self.frequency = frequency
        self.resample = resample
        self.holidays = holidays

    def fit(self, y: Any, X: Any = None, when: Any = None) -> Self:
        """Forget everything, then learn the labels in their order; X are inputs known ahead, `when` timestamps."""
        self.forecaster_ = Forecaster(**self.get_params(deep=False))
        return self.partial_fit(y, X, when)

    def partial_fit(self, y: Any, X: Any = None, when: Any = None) -> Self:
        """Learn the labels that follow."""
        if not hasattr(self, "forecaster_"):
            self.forecaster_ = Forecaster(**self.get_params(deep=False))
        self.forecaster_.run(y, X, when)
        return self

    def predict(self, steps: int | None = None, X: Any = None) -> Array:
        """Return the forecast (steps,) of the next rows. X are their inputs, if labels came with inputs."""
        check_is_fitted(self, "forecaster_")
        return self.forecaster_.forecast(steps, X)

    def predict_interval(self, coverage: float = 0.9, X: Any = None) -> tuple[Array, Array]:
        """Return the ends (steps,) of intervals that cover this share of the next labels."""
        check_is_fitted(self, "forecaster_")
        return self.forecaster_.forecast_interval(coverage, X)
