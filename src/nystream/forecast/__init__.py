"""Forecasts of a series several steps ahead, with intervals, online."""

from nystream.forecast.defaults import default_members
from nystream.forecast.engine import Engine
from nystream.forecast.forecaster import Forecaster
from nystream.forecast.kernel import Kernel
from nystream.forecast.keyed import KeyedForecaster
from nystream.forecast.learner import SeriesLearner
from nystream.forecast.log_smoother import LogSmoother
from nystream.forecast.member import Member
from nystream.forecast.mixture import Mixture
from nystream.forecast.naive import Naive, SeasonalNaive
from nystream.forecast.ridge import Ridge, Ridges
from nystream.forecast.smoother import Gains, Smoother

__all__ = [
    "Engine",
    "Forecaster",
    "Gains",
    "Kernel",
    "KeyedForecaster",
    "LogSmoother",
    "Member",
    "Mixture",
    "Naive",
    "Ridge",
    "Ridges",
    "SeasonalNaive",
    "SeriesLearner",
    "Smoother",
    "default_members",
]
