"""Linear models in feature space, learnt one example at a time."""

from nystream.solvers.awv import AWV
from nystream.solvers.base import Solver
from nystream.solvers.meter import Meter
from nystream.solvers.ogd import OGD
from nystream.solvers.ons import ONS
from nystream.solvers.sketched_ons import SketchedONS

__all__ = ["AWV", "Meter", "OGD", "ONS", "SketchedONS", "Solver"]
