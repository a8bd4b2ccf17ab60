"""The laws that every learner obeys. A new learner is tested by adding its row to the catalogue.

A law takes a `Variant` (a maker of fresh, equal learners, and the stream to try them on) and raises AssertionError
where it is broken. Which laws a variant is held to follows from what its learner declares, never from its name.
"""

from laws.cases import Rows, Variant, by_steps
from laws.registry import LAWS, Law

from laws import bounds, inputs, intervals, outputs, rounds, state, threads  # isort: skip  # each adds its laws to LAWS

__all__ = ["LAWS", "Law", "Rows", "Variant", "by_steps"]
__all__ += ["bounds", "inputs", "intervals", "outputs", "rounds", "state", "threads"]
