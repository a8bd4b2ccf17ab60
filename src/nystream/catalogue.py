"""Every learner by name: the command line, the documentation, the laws and the benchmarks all read this table."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nystream.auto.baseline import Baseline
from nystream.auto.learner import Auto
from nystream.auto.recipe import Recipe
from nystream.compose.aggregate import Aggregate
from nystream.compose.encoded import Encoded
from nystream.compose.mixture import Mixture
from nystream.compose.standardized import Standardized
from nystream.compose.targets import StandardizedTarget
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
from nystream.tasks import for_task

__all__ = ["CATALOGUE", "DEFAULT", "Entry", "build", "find"]

DEFAULT = "auto"
"""The learner when none is named."""
CLIP = 3.0
"""Bound on predictions of standardised targets, for learners that need one."""
DRAWN = (PKAWV, NystromPKAWV, KernelAWV)
"""Least squares that counts the row it predicts, with the label 0; ridge regression does not."""
STARTS: dict[str, dict[str, Any]] = {
    "pros-n-kons": {"warm": True},  # else it starts again with every atom
    "doubly-sgd": {"step": 20.0, "t0": 50},  # else it has hardly moved after a thousand rows
}
"""Settings by name where a learner's own defaults are not those for a stream that nobody knows."""
NUMERIC = {"number", "boolean"}
TRUE, FALSE = ("yes", "true", "on", "1"), ("no", "false", "off", "0")


@dataclass(frozen=True)
class Entry:
    """One row: the name users type, a small example that the laws are tested on, and where it was published."""

    name: str
    example: Learner
    paper: str

    @property
    def cls(self) -> type[Learner]:
        """The class of the learner."""
        return type(self.example)

    @property
    def summary(self) -> str:
        """The first sentence of its docstring."""
        return (inspect.getdoc(self.cls) or "").partition("\n")[0]


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
"""Every learner, by the name that users type."""


def find(name: str) -> Entry:
    """The entry of that name, case and dashes aside; a close match is suggested for a wrong one."""
    wanted = name.lower().replace("_", "-")
    for entry in CATALOGUE.values():
        if wanted in (entry.name, entry.cls.__name__.lower()):
            return entry
    near = difflib.get_close_matches(wanted, CATALOGUE, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ValueError(f"no learner is called {name!r}; {hint}there are {', '.join(CATALOGUE)}")


def build(
    name: str | None = None,
    task: str | None = None,
    settings: Mapping[str, Any] | None = None,
    *,
    sigma: float = 1.0,
    dim: int = 400,
    seed: int | None = 0,
    standardize: bool = True,
    kinds: Sequence[str] | None = ("number",),
) -> Learner:
    """A learner by its name in the catalogue, ready for a task: what the command line, races and servers start with.

    Parameters
    ----------
    name : str or None
        None: the automatic learner.
    task : "regression", "classification" or None
        For numbers a learner gets the squared loss unless `settings` has another one; for classes it is wrapped where
        it needs that. None: the learner as it is, of whatever labels it takes.
    settings : dict of parameters, `kernel__sigma` for those of a part; booleans may be "yes" and "no"
    sigma, dim : width of its Gaussian kernel, and number of its random features, where it has such
    seed : int or None
    standardize : bool
        With a task, inputs are scaled on the way (`Standardized`), unless the learner does that itself; so are targets
        (`StandardizedTarget`) where its steps or bounds are made for those of unit scale.
    kinds : kinds of the columns, as `Schema.kinds` has them; None: rows are sparse
        A learner of numbers gets other columns encoded (`Encoded`), and text by what the sparse experts hear in it.
        Sparse rows are not scaled; a learner of dense ones gets what the sparse experts say of them.
    """
    entry = find(name or DEFAULT)
    learner = _constructed(entry, task, dict(settings or {}), sigma, dim, seed)
    if task is None:
        return learner
    if task == "regression" and learner.labels != "real":
        learner = _of_numbers(entry, learner, dict(settings or {}))
    if task == "regression" and standardize and _takes_unit_targets(learner):
        learner = StandardizedTarget(learner, bound=learner.get_params(deep=False).get("clip"))
    learner = for_task(learner, task, 1)
    if standardize and kinds is not None and not issubclass(entry.cls, (Auto, Baseline)):
        learner = Standardized(learner)
    if kinds is None:
        return learner if learner.takes_sparse else Encoded(learner, experts=True)
    if set(kinds) <= NUMERIC or learner.takes_tables:
        return learner
    return Encoded(learner, experts="text" in kinds)


def _takes_unit_targets(learner: Learner) -> bool:
    """Whether steps or bounds are made for targets of unit scale, or predictions are drawn to 0 where a row is new."""
    return type(learner) in DRAWN or any(name in learner.get_params(deep=False) for name in ("loss", "bound"))


def _constructed(
    entry: Entry, task: str | None, settings: dict[str, Any], sigma: float, dim: int, seed: int | None
) -> Learner:
    nested = {key: value for key, value in settings.items() if "__" in key}
    given = {key: value for key, value in settings.items() if key not in nested}
    names = inspect.signature(entry.cls.__init__).parameters
    unknown = sorted({*given, *(key.partition("__")[0] for key in nested)} - set(entry.cls._names()))
    if unknown:
        raise ValueError(f"{entry.name} has no parameter {unknown[0]!r}; it has {', '.join(list(names)[1:])}")
    given = {key: _as_default(key, value, names[key].default) for key, value in given.items()}
    try:
        learner = entry.cls(**{**_defaults(entry, task, sigma, dim, seed), **given})
        return learner.set_params(**nested) if nested else learner
    except (TypeError, AttributeError) as error:  # parts that do not fit together are the settings' fault
        raise ValueError(f"{entry.name}: {error}") from error


def _defaults(entry: Entry, task: str | None, sigma: float, dim: int, seed: int | None) -> dict[str, Any]:
    """Parameters for inputs on the scale of sigma: Gaussian kernel, random Fourier features for a map."""
    names = inspect.signature(entry.cls.__init__).parameters
    found: dict[str, Any] = {}
    if "kernel" in names:
        found["kernel"] = Gaussian(sigma)
    if "features" in names and names["features"].default in (inspect.Parameter.empty, None):
        found["features"] = Fourier(Gaussian(sigma), dim, seed=seed)
    if "lam" in names and issubclass(entry.cls, LeastSquares):
        found["lam"] = 0.01  # for features of norm 1 and targets of unit scale
    if "clip" in names and task == "regression" and names["clip"].default is not None:
        found["clip"] = CLIP
    if "learners" in names:
        features = Fourier(Gaussian(sigma), dim, seed=seed)
        found["learners"] = [PKAWV(features, lam=10.0**k) for k in range(-3, 3)]
    found |= STARTS.get(entry.name, {}) if task is not None else {}
    found |= {key: value for key, value in {"seed": seed, "dim": dim, "max_atoms": dim}.items() if key in names}
    for key in entry.cls._names():  # a budget, a bound: what has no default is that of the example
        if names[key].default is inspect.Parameter.empty:
            found.setdefault(key, entry.example.get_params(deep=False)[key])
    return found


def _as_default(name: str, value: Any, default: Any) -> Any:
    """A setting that was written as text as what its parameter takes: yes and no where that is a boolean."""
    if not isinstance(default, bool) or isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text not in (*TRUE, *FALSE):
        raise ValueError(f"{name} must be yes or no, got {value!r}")
    return text in TRUE


def _of_numbers(entry: Entry, learner: Learner, settings: dict[str, Any]) -> Learner:
    """The learner with the squared loss, or the one line that says what to use instead."""
    way_out = "use auto, pkrr, kernel-ridge or fogd for numbers, or say that the target is classes"
    if "loss" in settings:
        raise ValueError(
            f"{entry.name} with loss={settings['loss']!r} learns classes, and the target is a number; {way_out}"
        )
    if "loss" in learner.get_params(deep=False):
        try:
            return learner.set_params(loss="squared")
        except (TypeError, ValueError):
            pass
    raise ValueError(f"{entry.name} learns classes, and the target is a number; {way_out}")
