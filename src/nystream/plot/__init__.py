"""Plots of results; needs matplotlib, which comes with the extra `plot`."""

from nystream.plot.curves import curves
from nystream.plot.race import race_chart

__all__ = ["curves", "race_chart"]
