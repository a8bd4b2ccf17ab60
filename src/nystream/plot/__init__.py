"""Plots of results; needs matplotlib, which comes with the extra `plot`."""

from nystream.plot.curves import curves
from nystream.plot.race import race_chart
from nystream.plot.regret import regret_chart
from nystream.plot.report import report
from nystream.plot.weights import weights_chart

__all__ = ["curves", "race_chart", "regret_chart", "report", "weights_chart"]
