"""The methods that are compared, by name, with their settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from peers.capymoa_models import moa_forest
from peers.method import Answers, Method, Task
from peers.ours import automatic, from_catalogue, linear_ridge
from peers.river_models import adaptive_forest, adaptive_tree, nearest_neighbours
from peers.sklearn_models import nystroem_sgd, sampler_sgd
from peers.vowpal_wabbit import kernel_machine, pairs, pairs_coin

__all__ = ["AUTO", "CONTESTANTS", "Contestant"]

AUTO = "Auto"


@dataclass(frozen=True)
class Contestant:
    """One method: its library, how it is built, its settings, and whether it predicts numbers."""

    family: str
    build: Callable[[Task], Method]
    settings: str
    regression: bool = True


class NoChange(Method):
    """The last label again."""

    centred = False

    def __init__(self, task: Task) -> None:
        self.model = 0.0

    def learn(self, prepared: tuple[np.ndarray, np.ndarray]) -> Answers:
        _, y = prepared
        said = np.r_[self.model, y[:-1]]
        self.model = float(y[-1])
        return said, None


CONTESTANTS: dict[str, Contestant] = {
    AUTO: Contestant("nystream", automatic, "`Auto()`, no option"),
    "NystromPKAWV": Contestant(
        "nystream",
        partial(from_catalogue, name="nystrom-pkawv"),
        "ridge lam=.01, at most 400 stored points, sampled by leverage (KORS)",
    ),
    "FOGD": Contestant(
        "nystream",
        partial(from_catalogue, name="fogd", loss="softmax"),
        "400 features, step size eta=.3, loss softmax or squared",
    ),
    "NOLANA": Contestant(
        "nystream",
        partial(from_catalogue, name="nolana", loss="multiclass_hinge"),
        "100 landmarks, step size eta=.3, loss multi-class hinge or squared",
    ),
    "SILK": Contestant(
        "nystream",
        partial(from_catalogue, name="silk", loss="multiclass_hinge"),
        "budget 128, tau=.001, loss multi-class hinge or squared",
    ),
    "ARF": Contestant(
        "river", adaptive_forest, "defaults; for numbers, standardised columns and leaves that predict a mean"
    ),
    "HAT": Contestant(
        "river", adaptive_tree, "defaults; for numbers, standardised columns and leaves that predict a mean"
    ),
    "MOA ARF": Contestant("CapyMOA", moa_forest, "adaptive random forest of MOA, 100 trees, defaults"),
    "KNN": Contestant("river", nearest_neighbours, "standardised columns, defaults"),
    "Nystroem + SGD": Contestant("scikit-learn", nystroem_sgd, "1,000 features, blocks of 100 rows, defaults"),
    "RBFSampler + SGD": Contestant("scikit-learn", sampler_sgd, "1,000 features, blocks of 100 rows, defaults"),
    "VW -q ::": Contestant(
        "Vowpal Wabbit", pairs, "products of pairs of columns, loss logistic (`--oaa K`) or squared, defaults"
    ),
    "VW -q :: --coin": Contestant("Vowpal Wabbit", pairs_coin, "as the line above, with `--coin`"),
    "VW --ksvm": Contestant("Vowpal Wabbit", kernel_machine, "`--kernel rbf`, `--oaa K`, defaults", regression=False),
    "linear ridge": Contestant("baseline", linear_ridge, "lam=1, with a constant"),
    "no change": Contestant("baseline", NoChange, "predicts the last label"),
}
