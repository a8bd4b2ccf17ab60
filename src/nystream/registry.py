"""One record for each learner: its name, class, family, tasks, cost, memory, guarantee, advice, paper and example.

`nystream list`, the public names, the documentation, the laws, the benchmarks and the tags of model files read this
table. It imports no learner: a class is imported, and an example is built, when a record is asked for it.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

__all__ = ["DEFAULT", "FAMILIES", "LEARNERS", "TASKS", "Record", "find", "list_learners"]

TASKS = ("regression", "classification", "novelty")
"""The tasks of learners: numbers, classes, rows without labels."""
DEFAULT = "auto"
"""The learner when none is named."""

CLASSES, CLASSES_NOVELTY = TASKS[1:2], TASKS[1:]
NUMBERS_CLASSES, ALL_TASKS = TASKS[:2], TASKS
NONE, REGRET, MISTAKES = "none", "regret, published", "mistakes, published"
AGAINST_FEATURES = "regret against functions of the features, live"
AGAINST_KERNEL = "regret against functions of the kernel, live"
AGAINST_PARTS = "regret against the learners that it combines, live"

AUTOMATIC = "No settings needed"
LEAST_SQUARES = "Least squares, with a live regret"
SECOND_ORDER = "Second order"
FEATURE_DESCENT = "Gradient descent on features"
POINT_DESCENT = "Gradient descent on stored points"
PERCEPTRONS = "Perceptrons and passive-aggressive"
SPARSE = "Sparse rows, windows"
COMPOSED = "Combinations of learners"
FAMILIES = (
    AUTOMATIC,
    LEAST_SQUARES,
    SECOND_ORDER,
    FEATURE_DESCENT,
    POINT_DESCENT,
    PERCEPTRONS,
    SPARSE,
    COMPOSED,
)
"""The headings of the documentation, in order."""


@dataclass(frozen=True)
class Record:
    """One learner, with the facts that help to choose it.

    Parameters
    ----------
    name : the name that users type
    path : its module and class, below `nystream`
    family : the heading under which the documentation lists it
    tasks : the tasks that it can be built for
    cost, memory : time for a row and stored numbers, for one output; K outputs or classes cost at most K times as much,
        if no K is written.
        Letters: d columns, r features, m stored points or atoms, t rows so far, B, l rows of a sketch, W window.
    guarantee : its kind. "live": the bound is computed while the learner runs, and the text names its comparators.
        Otherwise it is a theorem of the paper.
    advice : when to take it, in at most four words
    paper : where it was published
    make : builds a small example from the package, for the tests
    settings : settings of `nystream.model.building.build` that differ from the defaults of the class, for features of
        norm 1 and targets of unit scale
    task_settings : more of them where a learner is built for a task, on a stream that nobody has seen before
    members : the learners that it combines in `build`, made from the package and a feature map
    shrinks : whether it predicts values near 0 for unusual rows, so that labels should have mean 0
    scales_inputs : whether it brings columns to one scale by itself
    parts : the classes of its own that model files contain: tag, module and class below `nystream`
    grows : whether memory grows without a limit on a hard stream
    experiments : experiments of `nystream reproduce` that it takes part in
    """

    name: str
    path: str
    family: str
    tasks: tuple[str, ...]
    cost: str
    memory: str
    guarantee: str
    advice: str
    paper: str
    make: Callable[[Any], Any]
    settings: Mapping[str, Any] = field(default_factory=dict)
    task_settings: Mapping[str, Any] = field(default_factory=dict)
    members: Callable[[Any, Any], list[Any]] | None = None
    shrinks: bool = False
    scales_inputs: bool = False
    parts: Mapping[str, str] = field(default_factory=dict)
    grows: bool = False
    experiments: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """The module of the class."""
        return f"nystream.{self.path.partition(':')[0]}"

    @property
    def class_name(self) -> str:
        """The name of the class, without importing it."""
        return self.path.partition(":")[2]

    @property
    def tag(self) -> str:
        """The tag of the class in model files."""
        folder = self.path.partition(".")[0]
        return f"{'learner' if folder == 'learners' else folder}/{self.name}"

    @property
    def tags(self) -> dict[str, str]:
        """The tags of the class and of its parts, with module and class below `nystream`."""
        return {self.tag: self.path, **self.parts}

    @property
    def is_live(self) -> bool:
        """Whether a bound is computed while the learner runs."""
        return self.guarantee.endswith("live")

    @cached_property
    def cls(self) -> Any:
        """The class of the learner."""
        return getattr(importlib.import_module(self.module), self.class_name)

    @cached_property
    def example(self) -> Any:
        """A small learner, not trained."""
        return self.make(importlib.import_module("nystream"))

    def combined(self, features: Any) -> list[Any]:
        """Return the learners that `build` combines on a feature map."""
        return [] if self.members is None else self.members(importlib.import_module("nystream"), features)

    @property
    def summary(self) -> str:
        """The first line of its docstring."""
        return (inspect.getdoc(self.cls) or "").partition("\n")[0]

    @property
    def defaults(self) -> dict[str, Any]:
        """Its parameters and their defaults, in order; `inspect.Parameter.empty` for one that must be given."""
        parameters = inspect.signature(self.cls.__init__).parameters
        return {name: parameters[name].default for name in self.cls._names()}

    @property
    def traits(self) -> dict[str, bool]:
        """What the learner can do, by the heading of its column in the table of learners."""
        learner = self.example
        return {
            "merges": learner.can("merge"),
            "unlearns": learner.can("unlearn"),
            "weights": learner.weighted,
            "several targets": learner.multi_output,
            "missing values": learner.missing,
            "intervals": learner.can("predict_interval"),
            "std": learner.can("std"),
        }


def find(name: str) -> Record:
    """Return the record of a name or class, case and dashes aside; a close match is suggested for a wrong one."""
    wanted = name.lower().replace("_", "-")
    for record in LEARNERS.values():
        if wanted in (record.name, record.class_name.lower()):
            return record
    near = difflib.get_close_matches(wanted, LEARNERS, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ValueError(f"no learner is called {name!r}; {hint}there are {', '.join(LEARNERS)}")


def list_learners(task: str | None = None) -> list[Record]:
    """Return the records of the learners for a task, of all learners for None."""
    if task is not None and task not in TASKS:
        raise ValueError(f"no task is called {task!r}; there are {', '.join(TASKS)}")
    return [record for record in LEARNERS.values() if task is None or task in record.tasks]


UNIT: dict[str, Any] = {"lam": 0.01}
"""A ridge for features of norm 1 and targets of unit scale."""


def _gaussian(ny: Any) -> Any:
    return ny.Gaussian(0.7)


def _aggregate(ny: Any) -> Any:
    return ny.Aggregate([ny.PKAWV(ny.Taylor(_gaussian(ny), degree=3), lam=10.0**k) for k in range(-2, 2)], bound=3.0)


def _ridges(ny: Any, features: Any) -> list[Any]:
    return [ny.PKAWV(features, lam=10.0**k) for k in range(-3, 3)]


def _mixture(ny: Any) -> Any:
    features = ny.Fourier(_gaussian(ny), 20, seed=0)
    return ny.Mixture([ny.Forgetting(features, decay=decay) for decay in (0.9, 1.0)], bound=3.0)


def _auto(ny: Any) -> Any:
    small = ny.auto.recipe.Recipe(
        (1, 2, 5, 14, 40), landmarks=8, big=16, small=6, ring=20, refresh=15, window=15, metric=30
    )
    return ny.Auto(recipe=small)


_CALANDRIELLO = "Calandriello, Lazaric, Valko 2017"
_CHENG = "Cheng, Vishwanathan, Schuurmans, Wang, Caelli 2006"
_JEZEQUEL = "Jezequel, Gaillard, Rudi 2019"

_RECORDS = [
    Record(
        "pkawv",
        "learners.pkawv:PKAWV",
        family=LEAST_SQUARES,
        tasks=NUMBERS_CLASSES,
        cost="r^2 + r d",
        memory="r^2",
        guarantee=AGAINST_FEATURES,
        advice="a regret guarantee",
        paper=_JEZEQUEL,
        make=lambda ny: ny.PKAWV(ny.Taylor(_gaussian(ny), degree=4), lam=0.1),
        settings=UNIT,
        shrinks=True,
        experiments=(
            "pkawv-table1",
            "pkawv-exponents",
            "pkawv-figure1",
            "pkawv-figure2",
            "pkawv-figure3",
            "pkawv-figure4",
        ),
    ),
    Record(
        "pkrr",
        "learners.pkawv:PKRR",
        family=LEAST_SQUARES,
        tasks=NUMBERS_CLASSES,
        cost="r^2 + r d",
        memory="r^2",
        guarantee=AGAINST_FEATURES,
        advice="merging, unlearning",
        paper=_JEZEQUEL,
        make=lambda ny: ny.PKRR(ny.Taylor(_gaussian(ny), degree=4), lam=0.1),
        settings=UNIT,
    ),
    Record(
        "nystrom-pkawv",
        "learners.nystrom_pkawv:NystromPKAWV",
        family=LEAST_SQUARES,
        tasks=NUMBERS_CLASSES,
        cost="m^2 + m d",
        memory="m^2 + m d",
        guarantee=AGAINST_FEATURES,
        advice="any kernel",
        paper=_JEZEQUEL,
        make=lambda ny: ny.NystromPKAWV(_gaussian(ny), lam=0.1, beta=100.0, seed=0),
        settings=UNIT,
        shrinks=True,
        experiments=("pkawv-table1", "pkawv-figure2", "pkawv-figure4"),
    ),
    Record(
        "nystrom-pkrr",
        "learners.nystrom_pkawv:NystromPKRR",
        family=LEAST_SQUARES,
        tasks=NUMBERS_CLASSES,
        cost="m^2 + m d",
        memory="m^2 + m d",
        guarantee=AGAINST_FEATURES,
        advice="any kernel",
        paper=_JEZEQUEL,
        make=lambda ny: ny.NystromPKRR(_gaussian(ny), lam=0.1, beta=100.0, seed=0),
        settings=UNIT,
    ),
    Record(
        "kernel-awv",
        "learners.kernel_awv:KernelAWV",
        family=LEAST_SQUARES,
        tasks=NUMBERS_CLASSES,
        cost="t^2",
        memory="t^2",
        guarantee=AGAINST_KERNEL,
        advice="short streams",
        paper=_JEZEQUEL + "; Gammerman, Kalnishkan, Vovk 2004",
        make=lambda ny: ny.KernelAWV(_gaussian(ny), lam=0.1),
        settings=UNIT,
        shrinks=True,
        grows=True,
        experiments=("pkawv-exponents", "pkawv-figure1", "pkawv-figure3"),
    ),
    Record(
        "kernel-ridge",
        "learners.kernel_awv:KernelRidge",
        family=LEAST_SQUARES,
        tasks=NUMBERS_CLASSES,
        cost="t^2",
        memory="t^2",
        guarantee=AGAINST_KERNEL,
        advice="short streams",
        paper="Zhdanov, Kalnishkan 2010",
        make=lambda ny: ny.KernelRidge(_gaussian(ny), lam=0.1),
        settings=UNIT,
        grows=True,
    ),
    Record(
        "ons",
        "learners.ons:ONS",
        family=SECOND_ORDER,
        tasks=ALL_TASKS,
        cost="r^2 + r d",
        memory="r^2",
        guarantee=AGAINST_FEATURES,
        advice="curved losses",
        paper="Hazan, Agarwal, Kale 2007; Luo et al. 2016",
        make=lambda ny: ny.ONS(ny.Fourier(_gaussian(ny), 40, seed=0), clip=2.0),
    ),
    Record(
        "aioli",
        "learners.aioli:AIOLI",
        family=SECOND_ORDER,
        tasks=CLASSES,
        cost="r^2 + r d",
        memory="r^2",
        guarantee=AGAINST_FEATURES,
        advice="probabilities",
        paper="Jezequel, Gaillard, Rudi 2020",
        make=lambda ny: ny.AIOLI(ny.Fourier(_gaussian(ny), 40, seed=0), lam=0.1),
        settings=UNIT,
        parts={"solver/aioli": "solvers.aioli:AIOLI"},
    ),
    Record(
        "gaf",
        "learners.gaf:GAF",
        family=SECOND_ORDER,
        tasks=CLASSES,
        cost="K^3 r^2 + r d",
        memory="K^2 r^2",
        guarantee=AGAINST_FEATURES,
        advice="few classes",
        paper="Jezequel, Gaillard, Rudi 2021",
        make=lambda ny: ny.GAF(ny.Fourier(_gaussian(ny), 40, seed=0), lam=0.1),
        settings=UNIT,
        parts={"solver/gaf": "solvers.gaf:GAF"},
    ),
    Record(
        "sketched-ons",
        "learners.sketched_ons:SketchedONS",
        family=SECOND_ORDER,
        tasks=ALL_TASKS,
        cost="l r + l^3 + r d",
        memory="l r",
        guarantee=AGAINST_FEATURES,
        advice="many features",
        paper="Luo et al. 2016",
        make=lambda ny: ny.SketchedONS(ny.Fourier(_gaussian(ny), 40, seed=0), sketch=8, clip=2.0),
    ),
    Record(
        "second-order-perceptron",
        "learners.second_order_perceptron:SecondOrderPerceptron",
        family=SECOND_ORDER,
        tasks=CLASSES,
        cost="t^2",
        memory="t^2",
        guarantee=MISTAKES,
        advice="separable classes",
        paper="Cesa-Bianchi, Conconi, Gentile 2005",
        make=lambda ny: ny.SecondOrderPerceptron(_gaussian(ny)),
        grows=True,
    ),
    Record(
        "narow",
        "learners.narow:NAROW",
        family=SECOND_ORDER,
        tasks=CLASSES,
        cost="m^2 + t",
        memory="m^2 + t",
        guarantee=MISTAKES,
        advice="short, noisy streams",
        paper="Orabona, Crammer 2010",
        make=lambda ny: ny.NAROW(_gaussian(ny)),
        grows=True,
    ),
    Record(
        "aggregate",
        "compose.aggregate:Aggregate",
        family=COMPOSED,
        tasks=NUMBERS_CLASSES,
        cost="sum of parts",
        memory="sum of parts",
        guarantee=AGAINST_PARTS,
        advice="an unknown setting",
        paper="Vovk 2001; Cesa-Bianchi, Lugosi 2006",
        make=_aggregate,
        members=_ridges,
    ),
    Record(
        "pros-n-kons",
        "learners.pros_n_kons:ProsNKons",
        family=SECOND_ORDER,
        tasks=ALL_TASKS,
        cost="m^2 + m d",
        memory="m^2 + m d",
        guarantee=AGAINST_FEATURES,
        advice="curved, any kernel",
        paper=_CALANDRIELLO + " (NIPS)",
        make=lambda ny: ny.ProsNKons(_gaussian(ny), mu=0.5, clip=2.0, seed=0),
        task_settings={"warm": True},  # else it starts again with every atom
    ),
    Record(
        "streaming-gp",
        "learners.streaming_gp:StreamingGP",
        family=LEAST_SQUARES,
        tasks=NUMBERS_CLASSES,
        cost="N (m^2 + m d)",
        memory="N m^2",
        guarantee=AGAINST_PARTS,
        advice="densities, intervals",
        paper="Snelson, Ghahramani 2006",
        make=lambda ny: ny.StreamingGP(_gaussian(ny), widths=(0.5, 1.0), lam=(0.01, 0.1), landmarks=20),
        shrinks=True,
    ),
    Record(
        "krls",
        "learners.krls:KRLS",
        family=LEAST_SQUARES,
        tasks=NUMBERS_CLASSES,
        cost="m^2 + m d",
        memory="m^2 + m d",
        guarantee=NONE,
        advice="labels without noise",
        paper="Engel, Mannor, Meir 2004",
        make=lambda ny: ny.KRLS(_gaussian(ny)),
    ),
    Record(
        "kons",
        "learners.kons:KONS",
        family=SECOND_ORDER,
        tasks=ALL_TASKS,
        cost="t^2",
        memory="t^2",
        guarantee=AGAINST_KERNEL,
        advice="reference",
        paper=_CALANDRIELLO,
        make=lambda ny: ny.KONS(_gaussian(ny), clip=2.0),
        grows=True,
        experiments=("kons-section6", "kons-regret"),
    ),
    Record(
        "sketched-kons",
        "learners.sketched_kons:SketchedKONS",
        family=SECOND_ORDER,
        tasks=ALL_TASKS,
        cost="B^2 + t d",
        memory="B^2 + t d",
        guarantee=AGAINST_KERNEL,
        advice="reference",
        paper=_CALANDRIELLO,
        make=lambda ny: ny.SketchedKONS(_gaussian(ny), clip=2.0, gamma=0.2, seed=0),
        grows=True,
        experiments=("kons-section6", "kons-regret"),
    ),
    Record(
        "fogd",
        "learners.fogd:FOGD",
        family=FEATURE_DESCENT,
        tasks=ALL_TASKS,
        cost="r d",
        memory="r d",
        guarantee=REGRET,
        advice="speed",
        paper="Lu, Hoi, Wang, Zhao, Liu 2016",
        make=lambda ny: ny.FOGD(_gaussian(ny), dim=60, seed=0),
        experiments=("nolana-table2",),
    ),
    Record(
        "norma",
        "learners.norma:NORMA",
        family=POINT_DESCENT,
        tasks=ALL_TASKS,
        cost="m d",
        memory="m d",
        guarantee=REGRET,
        advice="forgetting",
        paper="Kivinen, Smola, Williamson 2004",
        make=lambda ny: ny.NORMA(_gaussian(ny), eta=0.3, budget=40, keep="support"),
        experiments=("ilk-figure1", "ilk-figure2"),
    ),
    Record(
        "ilk",
        "learners.ilk:ILK",
        family=POINT_DESCENT,
        tasks=ALL_TASKS,
        cost="t d",
        memory="t d",
        guarantee=REGRET,
        advice="large step sizes",
        paper=_CHENG,
        make=lambda ny: ny.ILK(_gaussian(ny), tau=0.01),
        grows=True,
        experiments=("ilk-figure1", "ilk-figure2"),
    ),
    Record(
        "silk",
        "learners.ilk:SILK",
        family=POINT_DESCENT,
        tasks=ALL_TASKS,
        cost="m d",
        memory="m d",
        guarantee=NONE,
        advice="drift, novelty",
        paper=_CHENG,
        make=lambda ny: ny.SILK(_gaussian(ny), tau=0.01, budget=20),
        experiments=("ilk-figure1", "ilk-figure2", "ilk-figure3", "ilk-figure4"),
    ),
    Record(
        "svmd",
        "learners.svmd:SVMD",
        family=POINT_DESCENT,
        tasks=ALL_TASKS,
        cost="m d",
        memory="m d",
        guarantee=NONE,
        advice="unknown step size",
        paper="Vishwanathan, Schraudolph, Smola 2006",
        make=lambda ny: ny.SVMD(_gaussian(ny), budget=40),
    ),
    Record(
        "nogd",
        "learners.nogd:NOGD",
        family=FEATURE_DESCENT,
        tasks=ALL_TASKS,
        cost="m d + m r",
        memory="m d + m r",
        guarantee=REGRET,
        advice="speed, any kernel",
        paper="Lu, Hoi, Wang, Zhao, Liu 2016",
        make=lambda ny: ny.NOGD(_gaussian(ny), landmarks=20),
        experiments=("nolana-table2",),
    ),
    Record(
        "nolana",
        "learners.nolana:NOLANA",
        family=FEATURE_DESCENT,
        tasks=ALL_TASKS,
        cost="m d + m r + m^3",
        memory="m d + m r + m^2",
        guarantee=NONE,
        advice="input shift",
        paper="Si, Kumar, Li 2018",
        make=lambda ny: ny.NOLANA(_gaussian(ny), landmarks=20, eps=0.1),
        experiments=(
            *("nolana-table1", "nolana-table2"),
            *("nolana-figure1", "nolana-figure2", "nolana-figure3", "nolana-figure4"),
        ),
    ),
    Record(
        "rrf",
        "learners.rrf:RRF",
        family=FEATURE_DESCENT,
        tasks=ALL_TASKS,
        cost="r d",
        memory="r d",
        guarantee=NONE,
        advice="irrelevant columns",
        paper="Nguyen, Le, Bui, Phung 2017",
        make=lambda ny: ny.RRF(_gaussian(ny), dim=60, seed=0),
    ),
    Record(
        "doubly-sgd",
        "learners.doubly_sgd:DoublySGD",
        family=FEATURE_DESCENT,
        tasks=ALL_TASKS,
        cost="t d",
        memory="t",
        guarantee="convergence",
        advice="reference",
        paper="Dai, Xie, He, Liang, Raj, Balcan, Song 2014",
        make=lambda ny: ny.DoublySGD(_gaussian(ny), step=5.0, block=4, seed=0),
        task_settings={"step": 20.0, "t0": 50},  # else it has hardly moved after a thousand rows
        grows=True,
    ),
    Record(
        "perceptron",
        "learners.perceptron:Perceptron",
        family=PERCEPTRONS,
        tasks=CLASSES,
        cost="t d",
        memory="t d",
        guarantee=MISTAKES,
        advice="separable classes",
        paper="Rosenblatt 1958; Freund, Schapire 1999",
        make=lambda ny: ny.Perceptron(_gaussian(ny)),
        grows=True,
    ),
    Record(
        "passive-aggressive",
        "learners.passive_aggressive:PassiveAggressive",
        family=PERCEPTRONS,
        tasks=NUMBERS_CLASSES,
        cost="t d",
        memory="t d",
        guarantee=MISTAKES,
        advice="little noise",
        paper="Crammer, Dekel, Keshet, Shalev-Shwartz, Singer 2006",
        make=lambda ny: ny.PassiveAggressive(_gaussian(ny)),
        grows=True,
    ),
    Record(
        "random-budget-perceptron",
        "learners.perceptron:RandomBudgetPerceptron",
        family=PERCEPTRONS,
        tasks=CLASSES,
        cost="m d",
        memory="m d",
        guarantee=MISTAKES,
        advice="reference",
        paper="Cavallanti et al. 2007",
        make=lambda ny: ny.RandomBudgetPerceptron(_gaussian(ny), budget=10, seed=0),
    ),
    Record(
        "forgetron",
        "learners.forgetron:Forgetron",
        family=PERCEPTRONS,
        tasks=CLASSES,
        cost="m d",
        memory="m d",
        guarantee=MISTAKES,
        advice="reference",
        paper="Dekel, Shalev-Shwartz, Singer 2008",
        make=lambda ny: ny.Forgetron(_gaussian(ny), budget=10),
    ),
    Record(
        "projectron",
        "learners.projectron:Projectron",
        family=PERCEPTRONS,
        tasks=CLASSES,
        cost="m d + m^2",
        memory="m d + m^2",
        guarantee=MISTAKES,
        advice="small models",
        paper="Orabona, Keshet, Caputo 2009",
        make=lambda ny: ny.Projectron(_gaussian(ny), tol=0.3, plus=True),
    ),
    Record(
        "budget-pa",
        "learners.budget_pa:BudgetPA",
        family=PERCEPTRONS,
        tasks=CLASSES,
        cost="m d + m^2",
        memory="m d + m^2",
        guarantee=NONE,
        advice="small models",
        paper="Wang, Vucetic 2010",
        make=lambda ny: ny.BudgetPA(_gaussian(ny), budget=15, variant="P"),
    ),
    Record(
        "bsgd",
        "learners.bsgd:BSGD",
        family=POINT_DESCENT,
        tasks=ALL_TASKS,
        cost="m d",
        memory="m d",
        guarantee=REGRET,
        advice="small models",
        paper="Wang, Crammer, Vucetic 2012",
        make=lambda ny: ny.BSGD(_gaussian(ny), budget=15, lam=0.01),
    ),
    Record(
        "dual-sgd",
        "learners.dual_sgd:DualSGD",
        family=POINT_DESCENT,
        tasks=ALL_TASKS,
        cost="m d + r d",
        memory="m d + r d",
        guarantee="convergence",
        advice="long streams",
        paper="Le, Nguyen, Nguyen, Phung 2016",
        make=lambda ny: ny.DualSGD(_gaussian(ny), budget=15, dim=40, lam=0.01, evict=4, seed=0),
    ),
    Record(
        "forgetting",
        "learners.forgetting:Forgetting",
        family=LEAST_SQUARES,
        tasks=NUMBERS_CLASSES,
        cost="r^3/32 + r d",
        memory="r^2",
        guarantee=NONE,
        advice="drift, regression",
        paper="Haykin 1986; Gay 1996",
        make=lambda ny: ny.Forgetting(ny.Fourier(_gaussian(ny), 40, seed=0), decay=0.97),
    ),
    Record(
        "kernel-smoother",
        "learners.smoother:KernelSmoother",
        family=SPARSE,
        tasks=NUMBERS_CLASSES,
        cost="W d",
        memory="W d",
        guarantee=NONE,
        advice="few columns, drift",
        paper="Nadaraya 1964; Watson 1964",
        make=lambda ny: ny.KernelSmoother(window=40),
    ),
    Record(
        "sparse-linear",
        "learners.sparse_linear:SparseLinear",
        family=SPARSE,
        tasks=NUMBERS_CLASSES,
        cost="nonzeros K",
        memory="a table",
        guarantee=NONE,
        advice="text, sparse rows",
        paper="Duchi, Hazan, Singer 2011; Weinberger et al. 2009",
        make=lambda ny: ny.SparseLinear(bits=8),
    ),
    Record(
        "gaussian-filter",
        "learners.gaussian_filter:GaussianFilter",
        family=SPARSE,
        tasks=NUMBERS_CLASSES,
        cost="nonzeros K",
        memory="a table",
        guarantee=NONE,
        advice="text, sparse rows",
        paper="Chapelle, Li 2011",
        make=lambda ny: ny.GaussianFilter(bits=8),
    ),
    Record(
        "mixture",
        "compose.mixture:Mixture",
        family=COMPOSED,
        tasks=NUMBERS_CLASSES,
        cost="sum of parts",
        memory="sum of parts",
        guarantee=AGAINST_PARTS,
        advice="changing regimes",
        paper="Herbster, Warmuth 1998",
        make=_mixture,
        members=_ridges,
    ),
    Record(
        "auto",
        "auto.learner:Auto",
        family=AUTOMATIC,
        tasks=NUMBERS_CLASSES,
        cost="by deadline=",
        memory="by memory=",
        guarantee=NONE,
        advice="start here",
        paper="stacked online experts, this package",
        make=_auto,
        scales_inputs=True,
    ),
    Record(
        "baseline",
        "learners.baseline:Baseline",
        family=AUTOMATIC,
        tasks=NUMBERS_CLASSES,
        cost="r^2 + r d",
        memory="r^2",
        guarantee=AGAINST_FEATURES,
        advice="a fast first model",
        paper="ridge on random Fourier features (Rahimi, Recht 2007)",
        make=lambda ny: ny.Baseline(dim=60),
        scales_inputs=True,
        parts={"baseline/scaled-features": "learners.baseline:ScaledFeatures"},
    ),
]

LEARNERS: dict[str, Record] = {record.name: record for record in _RECORDS}
"""Every learner, by the name that users type."""
