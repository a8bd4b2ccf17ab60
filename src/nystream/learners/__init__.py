"""The learners: one published algorithm, one file."""

from nystream.learners.base import Learner
from nystream.learners.baseline import Baseline
from nystream.learners.catalogue import CATALOGUE
from nystream.learners.classifier import Classifier
from nystream.learners.fogd import FOGD
from nystream.learners.ilk import ILK, SILK
from nystream.learners.kernel_awv import KernelAAR, KernelAWV, KernelRidge
from nystream.learners.kons import KONS
from nystream.learners.nogd import NOGD
from nystream.learners.nolana import NOLANA
from nystream.learners.norma import NORMA
from nystream.learners.ons import ONS
from nystream.learners.pkawv import PKAWV, PKRR
from nystream.learners.sketched_kons import SketchedKONS
from nystream.learners.standardized import Standardized
from nystream.learners.svmd import SVMD

__all__ = [
    "CATALOGUE",
    "FOGD",
    "ONS",
    "PKAWV",
    "PKRR",
    "ILK",
    "KONS",
    "NOGD",
    "NOLANA",
    "NORMA",
    "SILK",
    "SVMD",
    "Baseline",
    "Classifier",
    "KernelAAR",
    "KernelAWV",
    "KernelRidge",
    "Learner",
    "SketchedKONS",
    "Standardized",
]
