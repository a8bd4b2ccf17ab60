"""sktime estimators: the forecaster with sktime's horizons, indices and updates."""

from nystream.sktime.forecaster import KernelForecaster

__all__ = ["KernelForecaster"]
