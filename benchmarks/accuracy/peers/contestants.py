"""Everybody who is compared, by name, and what they were set to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from peers.method import Answers, Method, Task
from peers.ours import automatic, from_catalogue, linear_ridge
from peers.river_models import adaptive_forest, adaptive_tree, nearest_neighbours
from peers.sklearn_models import nystroem_sgd, sampler_sgd
from peers.vowpal_wabbit import kernel_machine, pairs, pairs_coin

__all__ = ["AUTO", "CONTESTANTS", "Contestant"]

AUTO = "Auto"


@dataclass(frozen=True)
class Contestant:
    """Whose it is, how it is built and set, and whether it can do regression."""

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
        "nystream", partial(from_catalogue, name="nystrom-pkawv"), "lam .01, at most 400 atoms by KORS"
    ),
    "FOGD": Contestant(
        "nystream", partial(from_catalogue, name="fogd", loss="softmax"), "400 features, eta .3, softmax or squared"
    ),
    "NOLANA": Contestant(
        "nystream",
        partial(from_catalogue, name="nolana", loss="multiclass_hinge"),
        "100 landmarks, eta .3, multi-class hinge or squared",
    ),
    "SILK": Contestant(
        "nystream",
        partial(from_catalogue, name="silk", loss="multiclass_hinge"),
        "budget 128, tau .001, multi-class hinge or squared",
    ),
    "ARF": Contestant("river", adaptive_forest, "defaults; regression: scaler, mean leaves"),
    "HAT": Contestant("river", adaptive_tree, "defaults; regression: scaler, mean leaves"),
    "KNN": Contestant("river", nearest_neighbours, "scaler, defaults"),
    "Nystroem + SGD": Contestant("scikit-learn", nystroem_sgd, "1,000 features, blocks of 100, defaults"),
    "RBFSampler + SGD": Contestant("scikit-learn", sampler_sgd, "1,000 features, blocks of 100, defaults"),
    "VW -q ::": Contestant("Vowpal Wabbit", pairs, "logistic (`--oaa K`) or squared, defaults"),
    "VW -q :: --coin": Contestant("Vowpal Wabbit", pairs_coin, "the same with `--coin`"),
    "VW --ksvm": Contestant("Vowpal Wabbit", kernel_machine, "`--kernel rbf`, `--oaa K`, defaults", regression=False),
    "linear ridge": Contestant("baseline", linear_ridge, "lam 1, with a constant"),
    "no change": Contestant("baseline", NoChange, "the last label"),
}
