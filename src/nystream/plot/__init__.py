"""Charts of results and of models; needs matplotlib (`pip install 'nystream[plot]'`)."""

from nystream.plot.curves import curves
from nystream.plot.explaining import importance_chart, partial_dependence
from nystream.plot.forecasts import forecast
from nystream.plot.race import race_chart
from nystream.plot.regret import regret_chart
from nystream.plot.report import report
from nystream.plot.weights import importance_over_time, weights_chart

__all__ = [
    "curves",
    "forecast",
    "importance_chart",
    "importance_over_time",
    "partial_dependence",
    "race_chart",
    "regret_chart",
    "report",
    "weights_chart",
]
