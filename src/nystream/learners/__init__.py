"""The learners: each file is one published algorithm."""

from nystream.learners.abilities import ABILITIES, Abilities, Unable
from nystream.learners.aioli import AIOLI
from nystream.learners.base import Learner
from nystream.learners.baseline import Baseline
from nystream.learners.bsgd import BSGD
from nystream.learners.budget_pa import BudgetPA
from nystream.learners.doubly_sgd import DoublySGD
from nystream.learners.dual_sgd import DualSGD
from nystream.learners.fogd import FOGD
from nystream.learners.forgetron import Forgetron
from nystream.learners.forgetting import Forgetting
from nystream.learners.gaf import GAF
from nystream.learners.gaussian_filter import GaussianFilter
from nystream.learners.ilk import ILK, SILK
from nystream.learners.kernel_awv import KernelAAR, KernelAWV, KernelRidge
from nystream.learners.kons import KONS
from nystream.learners.krls import KRLS
from nystream.learners.narow import NAROW
from nystream.learners.nogd import NOGD
from nystream.learners.nolana import NOLANA
from nystream.learners.norma import NORMA
from nystream.learners.nystrom_pkawv import NystromPKAWV, NystromPKRR
from nystream.learners.ons import ONS
from nystream.learners.passive_aggressive import PassiveAggressive
from nystream.learners.perceptron import Perceptron, RandomBudgetPerceptron
from nystream.learners.pkawv import PKAWV, PKRR
from nystream.learners.projectron import Projectron
from nystream.learners.pros_n_kons import ProsNKons
from nystream.learners.rrf import RRF
from nystream.learners.second_order_perceptron import SecondOrderPerceptron
from nystream.learners.sketched_kons import SketchedKONS
from nystream.learners.sketched_ons import SketchedONS
from nystream.learners.smoother import KernelSmoother
from nystream.learners.sparse_linear import SparseLinear
from nystream.learners.streaming_gp import StreamingGP
from nystream.learners.svmd import SVMD

__all__ = [
    "AIOLI",
    "GAF",
    "Baseline",
    "ABILITIES",
    "Abilities",
    "Unable",
    "FOGD",
    "ONS",
    "PKAWV",
    "PKRR",
    "ILK",
    "GaussianFilter",
    "KONS",
    "NOGD",
    "NOLANA",
    "NORMA",
    "RRF",
    "SILK",
    "SVMD",
    "DoublySGD",
    "KernelAAR",
    "KernelAWV",
    "KernelRidge",
    "KernelSmoother",
    "Learner",
    "SketchedKONS",
    "KRLS",
    "NAROW",
    "NystromPKAWV",
    "NystromPKRR",
    "ProsNKons",
    "SecondOrderPerceptron",
    "SketchedONS",
    "SparseLinear",
    "StreamingGP",
    "BSGD",
    "BudgetPA",
    "DualSGD",
    "Forgetron",
    "Forgetting",
    "PassiveAggressive",
    "Perceptron",
    "Projectron",
    "RandomBudgetPerceptron",
]
