"""Feature maps: finite-dimensional approximations of a kernel's feature space."""

from nystream.features.adaptive_nystrom import AdaptiveNystrom
from nystream.features.base import FeatureMap, Identity
from nystream.features.chain import Chain
from nystream.features.constant import WithConstant
from nystream.features.fastfood import Fastfood
from nystream.features.fourier import Fourier
from nystream.features.growing_taylor import GrowingTaylor
from nystream.features.kors import KORS
from nystream.features.landmarks import Landmarks
from nystream.features.metric import LearnedMetric
from nystream.features.nystrom import Nystrom
from nystream.features.scales import LearnedScales
from nystream.features.taylor import Taylor

__all__ = [
    "KORS",
    "AdaptiveNystrom",
    "Chain",
    "Fastfood",
    "FeatureMap",
    "Fourier",
    "GrowingTaylor",
    "Identity",
    "Landmarks",
    "LearnedMetric",
    "LearnedScales",
    "Nystrom",
    "Taylor",
    "WithConstant",
]
