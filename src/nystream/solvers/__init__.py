"""Linear models in feature space, learnt one example at a time."""

from nystream.solvers.base import Solver
from nystream.solvers.ogd import OGD
from nystream.solvers.ons import ONS

__all__ = ["OGD", "ONS", "Solver"]
