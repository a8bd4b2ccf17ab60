"""The evaluation loop, its results, comparisons, and metrics."""

from nystream.evaluate import bounds
from nystream.evaluate.compare import compare
from nystream.evaluate.comparison import Comparison
from nystream.evaluate.prequential import prequential
from nystream.evaluate.regret import Comparator, Hindsight
from nystream.evaluate.result import Result
from nystream.evaluate.trial import Snapshot

__all__ = ["prequential", "compare", "Result", "Comparison", "Snapshot", "Hindsight", "Comparator", "bounds"]
