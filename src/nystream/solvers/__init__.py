"""Linear models in feature space, learnt one example at a time."""

from nystream.solvers.aioli import AIOLI
from nystream.solvers.awv import AWV
from nystream.solvers.base import Solver
from nystream.solvers.forgetting import Forgetting
from nystream.solvers.gaf import GAF
from nystream.solvers.meter import Meter
from nystream.solvers.nested_awv import NestedAWV
from nystream.solvers.ogd import OGD
from nystream.solvers.ons import ONS
from nystream.solvers.sketched_ons import SketchedONS
from nystream.solvers.stacker import RidgeStacker, SoftmaxStacker

__all__ = [
    "AIOLI",
    "AWV",
    "Forgetting",
    "GAF",
    "Meter",
    "NestedAWV",
    "OGD",
    "ONS",
    "RidgeStacker",
    "SketchedONS",
    "SoftmaxStacker",
    "Solver",
]
