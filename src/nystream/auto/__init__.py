"""The automatic learner: regression or classification on any stream with nothing to tune."""

from nystream.auto.learner import Auto

__all__ = ["Auto"]
