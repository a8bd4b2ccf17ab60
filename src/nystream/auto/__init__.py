"""The automatic learner, and the plain one that it has to beat."""

from nystream.auto.baseline import Baseline
from nystream.auto.learner import Auto

__all__ = ["Auto", "Baseline"]
