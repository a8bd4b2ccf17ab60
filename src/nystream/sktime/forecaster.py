"""The forecaster as an estimator of sktime."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from nystream.forecast import Forecaster

try:
    import pandas as pd
    from sktime.forecasting.base import BaseForecaster, ForecastingHorizon
except ImportError as error:
    raise ImportError("nystream.sktime needs sktime: pip install sktime") from error

__all__ = ["KernelForecaster"]


class KernelForecaster(BaseForecaster):  # type: ignore[misc]
    """`nystream.Forecaster` as a forecaster of sktime, with intervals, quantiles and cheap updates.

    `update` goes on learning where `fit` ended, row by row. Timestamps of the index are the calendar; an index of
    numbers has none. Columns of X are known ahead.

    Parameters
    ----------
    horizon : int or None
        The most steps ahead; None: the largest of the horizon `fh` that `fit` gets.
    season, frequency, holidays
        As in `nystream.Forecaster`.

    Examples
    --------
    >>> import pandas as pd
    >>> from nystream.sktime import KernelForecaster  # doctest: +SKIP
    >>> y = pd.Series(range(48), index=pd.date_range("2024-01-01", periods=48, freq="h"), dtype=float)
    >>> model = KernelForecaster().fit(y, fh=[1, 2, 3])  # doctest: +SKIP
    >>> model.predict_interval(coverage=0.9)  # doctest: +SKIP
    """

    _tags: ClassVar[dict[str, Any]] = {
        "y_inner_mtype": "pd.Series",
        "X_inner_mtype": "pd.DataFrame",
        "scitype:y": "univariate",
        "capability:exogenous": True,
        "requires-fh-in-fit": True,
        "X-y-must-have-same-index": False,
        "enforce_index_type": None,
        "capability:missing_values": True,
        "capability:insample": False,
        "capability:pred_int": True,
        "capability:pred_int:insample": False,
        "authors": [],
        "python_dependencies": "nystream",
    }

    def __init__(
        self, horizon: int | None = None, season: Any = None, frequency: str | None = None, holidays: str | None = None
    ) -> None:
        self.horizon = horizon
        self.season = season
        self.frequency = frequency
        self.holidays = holidays
        super().__init__()

    def _fit(self, y: Any, X: Any, fh: Any) -> KernelForecaster:
        steps = self.horizon or int(max(fh.to_relative(self.cutoff)))
        self.forecaster_ = Forecaster(
            max(steps, 1), season=self.season, frequency=self.frequency, holidays=self.holidays
        )
        self._has_inputs = X is not None
        self._learn(y, X)
        return self

    def _update(self, y: Any, X: Any = None, update_params: bool = True) -> KernelForecaster:
        if update_params:
            new = y[y.index > self._last]
            if len(new):
                self._learn(new, X)
        return self

    def _learn(self, y: Any, X: Any) -> None:
        rows = None
        if self._has_inputs:
            known = X.loc[X.index <= y.index[-1]]
            later = X.loc[X.index > y.index[-1]].iloc[: self.forecaster_.horizon]
            rows = pd.concat([known.reindex(y.index), later]).rename(columns=str)
        self.forecaster_.run(y.to_numpy(dtype=float), rows, _times(y.index))
        self._last, self._name = y.index[-1], y.name

    def _predict(self, fh: Any, X: Any) -> Any:
        steps, index = self._asked(fh)
        made = self.forecaster_.forecast(X=self._ahead(X, int(steps.max())))
        return pd.Series(made[steps - 1], index=index, name=self._name)

    def _predict_quantiles(self, fh: Any, X: Any, alpha: Any) -> Any:
        steps, index = self._asked(fh)
        levels = [float(a) for a in alpha]
        found = self.forecaster_.forecast_quantile(levels, self._ahead(X, int(steps.max())))[steps - 1]
        columns = pd.MultiIndex.from_product([self._get_varnames(), levels])
        return pd.DataFrame(found, index=index, columns=columns)

    def _asked(self, fh: Any) -> tuple[np.ndarray, Any]:
        """Return the steps ahead, and their places in the index."""
        steps = np.asarray(fh.to_relative(self.cutoff).to_numpy(), dtype=np.int64)
        if steps.min() < 1 or steps.max() > self.forecaster_.horizon:
            raise ValueError(
                f"steps must be 1 to {self.forecaster_.horizon} ahead, got {steps.tolist()}; KernelForecaster("
                "horizon=...) sets how far"
            )
        return steps, fh.to_absolute_index(self.cutoff)

    def _ahead(self, X: Any, steps: int) -> Any:
        if not self._has_inputs:
            return None
        if X is None:
            raise ValueError("the forecaster was fitted with X: pass X of the next rows")
        horizon = ForecastingHorizon(np.arange(1, steps + 1), is_relative=True)
        return X.reindex(horizon.to_absolute_index(self.cutoff)).rename(columns=str)  # rows that are not there: missing

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Return parameters for sktime's own checks."""
        return [{"season": 4}, {"horizon": 40, "season": ()}]


def _times(index: Any) -> Any:
    """Return the timestamps of an index, or None where it has numbers."""
    if isinstance(index, pd.PeriodIndex):
        index = index.to_timestamp()
    return index if isinstance(index, pd.DatetimeIndex) else None
