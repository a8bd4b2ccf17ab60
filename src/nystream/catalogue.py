"""Every learner by name: the command line, the documentation, the laws and the benchmarks all read this table."""

from __future__ import annotations

import difflib
import inspect
from dataclasses import dataclass
from typing import Any

from nystream.auto.baseline import Baseline
from nystream.auto.learner import Auto
from nystream.auto.recipe import Recipe
from nystream.compose.aggregate import Aggregate
from nystream.compose.mixture import Mixture
from nystream.features import Fourier, Taylor
from nystream.kernels import Gaussian
from nystream.learners.base import Learner
from nystream.learners.bsgd import BSGD
from nystream.learners.budget_pa import BudgetPA
from nystream.learners.doubly_sgd import DoublySGD
from nystream.learners.dual_sgd import DualSGD
from nystream.learners.families.least_squares import LeastSquares
from nystream.learners.fogd import FOGD
from nystream.learners.forgetron import Forgetron
from nystream.learners.forgetting import Forgetting
from nystream.learners.gaussian_filter import GaussianFilter
from nystream.learners.ilk import ILK, SILK
from nystream.learners.kernel_awv import KernelAWV, KernelRidge
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
from nystream.learners.svmd import SVMD

__all__ = ["CATALOGUE", "Entry", "find"]


@dataclass(frozen=True)
class Entry:
    """One row: the name users type, a small example that the laws are tested on, and where it was published."""

    name: str
    example: Learner
    paper: str

    @property
    def cls(self) -> type[Learner]:
        return type(self.example)

    @property
    def summary(self) -> str:
        return (inspect.getdoc(self.cls) or "").partition("\n")[0]

    def build(self, sigma: float, dim: int = 400, seed: int | None = 0, **params: Any) -> Learner:
        """A learner for inputs on the scale of `sigma`: Gaussian kernel, random Fourier features for a map."""
        names = inspect.signature(self.cls.__init__).parameters
        if "kernel" in names:
            params.setdefault("kernel", Gaussian(sigma))
        if "features" in names and names["features"].default in (inspect.Parameter.empty, None):
            params.setdefault("features", Fourier(Gaussian(sigma), dim, seed=seed))
        if "lam" in names and issubclass(self.cls, LeastSquares):
            params.setdefault("lam", 0.01)  # for features of norm 1 and targets of unit scale
        if "seed" in names:
            params.setdefault("seed", seed)
        if "dim" in names:
            params.setdefault("dim", dim)
        if "max_atoms" in names:
            params.setdefault("max_atoms", dim)
        if "learners" in names:
            features = Fourier(Gaussian(sigma), dim, seed=seed)
            params.setdefault("learners", [PKAWV(features, lam=10.0**k) for k in range(-3, 3)])
        for name in self.cls._names():  # a budget, a bound: what has no default is that of the example
            if names[name].default is inspect.Parameter.empty:
                params.setdefault(name, getattr(self.example, name))
        unknown = sorted(set(params) - set(names))
        if unknown:
            raise ValueError(f"{self.name} has no parameter {unknown[0]!r}; it has {', '.join(list(names)[1:])}")
        return self.cls(**params)


_G = Gaussian(0.7)
_CALANDRIELLO = "Calandriello, Lazaric, Valko 2017"
_CHENG = "Cheng, Vishwanathan, Schuurmans, Wang, Caelli 2006"
_JEZEQUEL = "Jezequel, Gaillard, Rudi 2019"

_SMALL = Recipe((1, 2, 5, 14, 40), landmarks=8, big=16, small=6, ring=20, refresh=15, windows=(15, 6), metric=30)
_FADING = [Forgetting(Fourier(_G, 20, seed=0), decay=g) for g in (0.9, 1.0)]
_GRID = [PKAWV(Taylor(_G, degree=3), lam=10.0**k) for k in range(-2, 2)]

_ROWS = [
    Entry("pkawv", PKAWV(Taylor(_G, degree=4), lam=0.1), _JEZEQUEL),
    Entry("pkrr", PKRR(Taylor(_G, degree=4), lam=0.1), _JEZEQUEL),
    Entry("nystrom-pkawv", NystromPKAWV(_G, lam=0.1, beta=100.0, seed=0), _JEZEQUEL),
    Entry("nystrom-pkrr", NystromPKRR(_G, lam=0.1, beta=100.0, seed=0), _JEZEQUEL),
    Entry("kernel-awv", KernelAWV(_G, lam=0.1), _JEZEQUEL + "; Gammerman, Kalnishkan, Vovk 2004"),
    Entry("kernel-ridge", KernelRidge(_G, lam=0.1), "Zhdanov, Kalnishkan 2010"),
    Entry("ons", ONS(Fourier(_G, 40, seed=0), clip=2.0), "Hazan, Agarwal, Kale 2007; Luo et al. 2016"),
    Entry("sketched-ons", SketchedONS(Fourier(_G, 40, seed=0), sketch=8, clip=2.0), "Luo et al. 2016"),
    Entry("second-order-perceptron", SecondOrderPerceptron(_G), "Cesa-Bianchi, Conconi, Gentile 2005"),
    Entry("narow", NAROW(_G), "Orabona, Crammer 2010"),
    Entry("aggregate", Aggregate(_GRID, bound=3.0), "Vovk 2001; Cesa-Bianchi, Lugosi 2006"),
    Entry("pros-n-kons", ProsNKons(_G, mu=0.5, clip=2.0, seed=0), _CALANDRIELLO + " (NIPS)"),
    Entry("krls", KRLS(_G), "Engel, Mannor, Meir 2004"),
    Entry("kons", KONS(_G, clip=2.0), _CALANDRIELLO),
    Entry("sketched-kons", SketchedKONS(_G, clip=2.0, gamma=0.2, seed=0), _CALANDRIELLO),
    Entry("fogd", FOGD(_G, dim=60, seed=0), "Lu, Hoi, Wang, Zhao, Liu 2016"),
    Entry("norma", NORMA(_G, eta=0.3, budget=40, keep="support"), "Kivinen, Smola, Williamson 2004"),
    Entry("ilk", ILK(_G, tau=0.01), _CHENG),
    Entry("silk", SILK(_G, tau=0.01, budget=20), _CHENG),
    Entry("svmd", SVMD(_G, budget=40), "Vishwanathan, Schraudolph, Smola 2006"),
    Entry("nogd", NOGD(_G, landmarks=20), "Lu, Hoi, Wang, Zhao, Liu 2016"),
    Entry("nolana", NOLANA(_G, landmarks=20, eps=0.1), "Si, Kumar, Li 2018"),
    Entry("rrf", RRF(_G, dim=60, seed=0), "Nguyen, Le, Bui, Phung 2017"),
    Entry("doubly-sgd", DoublySGD(_G, step=5.0, block=4, seed=0), "Dai, Xie, He, Liang, Raj, Balcan, Song 2014"),
    Entry("perceptron", Perceptron(_G), "Rosenblatt 1958; Freund, Schapire 1999"),
    Entry("passive-aggressive", PassiveAggressive(_G), "Crammer, Dekel, Keshet, Shalev-Shwartz, Singer 2006"),
    Entry("random-budget-perceptron", RandomBudgetPerceptron(_G, budget=10, seed=0), "Cavallanti et al. 2007"),
    Entry("forgetron", Forgetron(_G, budget=10), "Dekel, Shalev-Shwartz, Singer 2008"),
    Entry("projectron", Projectron(_G, tol=0.3, plus=True), "Orabona, Keshet, Caputo 2009"),
    Entry("budget-pa", BudgetPA(_G, budget=15, variant="P"), "Wang, Vucetic 2010"),
    Entry("bsgd", BSGD(_G, budget=15, lam=0.01), "Wang, Crammer, Vucetic 2012"),
    Entry("dual-sgd", DualSGD(_G, budget=15, dim=40, lam=0.01, evict=4, seed=0), "Le, Nguyen, Nguyen, Phung 2016"),
    Entry("forgetting", Forgetting(Fourier(_G, 40, seed=0), decay=0.97), "Haykin 1986; Gay 1996"),
    Entry("kernel-smoother", KernelSmoother(window=40), "Nadaraya 1964; Watson 1964"),
    Entry("sparse-linear", SparseLinear(bits=8), "Duchi, Hazan, Singer 2011; Weinberger et al. 2009"),
    Entry("gaussian-filter", GaussianFilter(bits=8), "Chapelle, Li 2011"),
    Entry("mixture", Mixture(_FADING, bound=3.0), "Herbster, Warmuth 1998"),
    Entry("auto", Auto(recipe=_SMALL), "stacked online experts, this package"),
    Entry("baseline", Baseline(dim=60), "ridge on random Fourier features (Rahimi, Recht 2007)"),
]

CATALOGUE: dict[str, Entry] = {entry.name: entry for entry in _ROWS}


def find(name: str) -> Entry:
    """The entry of that name, case and dashes aside; a close match is suggested for a wrong one."""
    wanted = name.lower().replace("_", "-")
    for entry in CATALOGUE.values():
        if wanted in (entry.name, entry.cls.__name__.lower()):
            return entry
    near = difflib.get_close_matches(wanted, CATALOGUE, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ValueError(f"no learner is called {name!r}; {hint}there are {', '.join(CATALOGUE)}")
