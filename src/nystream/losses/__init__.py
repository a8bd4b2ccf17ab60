"""Losses, their derivatives and their implicit steps."""

from nystream.losses.base import Loss
from nystream.losses.catalogue import LOSSES, as_loss
from nystream.losses.classification import Hinge, Logistic, Novelty, SquaredHinge
from nystream.losses.multiclass import MulticlassHinge, StructuredHinge
from nystream.losses.regression import Absolute, EpsilonInsensitive, Huber, Pinball, Squared
from nystream.losses.scalar import ScalarLoss
from nystream.losses.softmax import Softmax
from nystream.losses.vector import VectorLoss

__all__ = [
    "LOSSES",
    "Absolute",
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "MulticlassHinge",
    "Novelty",
    "Pinball",
    "ScalarLoss",
    "Softmax",
    "Squared",
    "SquaredHinge",
    "StructuredHinge",
    "VectorLoss",
    "as_loss",
]
