"""Learners made of learners: wrappers of one learner, ensembles of several."""

from nystream.compose.aggregate import Aggregate
from nystream.compose.classifier import Classifier
from nystream.compose.conformal import Conformal
from nystream.compose.encoded import Encoded
from nystream.compose.mixture import Mixture
from nystream.compose.standardized import Standardized
from nystream.compose.thresholded import Thresholded

__all__ = ["Aggregate", "Classifier", "Conformal", "Encoded", "Mixture", "Standardized", "Thresholded"]
