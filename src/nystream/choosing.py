"""What decides between learners: tasks, cost, memory, guarantee, abilities, and a word of advice about each.

`nystream list`, the table "Which learner?" and the pages of the algorithms read this. Written by hand is only what
cannot be asked of a learner: its cost and its guarantee, as its docstring has them, and the advice.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

from nystream.catalogue import CATALOGUE, Entry, build

__all__ = ["NOTES", "TASKS", "Note", "defaults", "of_task", "tasks", "traits"]

TASKS = ("regression", "classification", "novelty")
"""What a learner may be for: numbers, classes, rows without labels."""


@dataclass(frozen=True)
class Note:
    """Of one learner.

    cost : time for a row; memory : what is stored; guarantee : of what kind, and whether the bound is computed while
    the learner runs ("live") or is a theorem of its paper ("published"); advice : when to take it, in a few words;
    grows : whether memory grows as long as a stream keeps being hard.

    Costs are for one output; K of them, or classes, cost at most K times as much.

    Letters: d columns, r features, m stored points or atoms, t rows so far, B, l rows of a sketch, W window, K outputs.
    """

    cost: str
    memory: str
    guarantee: str
    advice: str
    grows: bool = False

    @property
    def live(self) -> bool:
        """Whether a bound is computed while the learner runs."""
        return self.guarantee.endswith("live")


NONE, LIVE, REGRET, MISTAKES = "none", "regret, live", "regret, published", "mistakes, published"
NOTES = {
    "pkawv": Note("r^2 + r d", "r^2", LIVE, "a guarantee"),
    "pkrr": Note("r^2 + r d", "r^2", LIVE, "merging, unlearning"),
    "nystrom-pkawv": Note("m^2 + m d", "m^2 + m d", LIVE, "any kernel"),
    "nystrom-pkrr": Note("m^2 + m d", "m^2 + m d", LIVE, "any kernel"),
    "kernel-awv": Note("t^2", "t^2", LIVE, "short streams", grows=True),
    "kernel-ridge": Note("t^2", "t^2", LIVE, "short streams", grows=True),
    "ons": Note("r^2 + r d", "r^2", LIVE, "curved losses"),
    "sketched-ons": Note("l r + l^3 + r d", "l r", LIVE, "many features"),
    "second-order-perceptron": Note("t^2", "t^2", MISTAKES, "separable", grows=True),
    "narow": Note("m^2 + t", "m^2 + t", MISTAKES, "noisy, short", grows=True),
    "aggregate": Note("sum of parts", "sum of parts", LIVE, "unsure of a setting"),
    "pros-n-kons": Note("m^2 + m d", "m^2 + m d", LIVE, "curved, any kernel"),
    "krls": Note("m^2 + m d", "m^2 + m d", NONE, "no noise"),
    "kons": Note("t^2", "t^2", LIVE, "reference", grows=True),
    "sketched-kons": Note("B^2 + t d", "B^2 + t d", LIVE, "reference", grows=True),
    "fogd": Note("r d", "r d", REGRET, "speed"),
    "norma": Note("m d", "m d", REGRET, "forgetting"),
    "ilk": Note("t d", "t d", REGRET, "big steps", grows=True),
    "silk": Note("m d", "m d", NONE, "drift, novelty"),
    "svmd": Note("m d", "m d", NONE, "unknown step size"),
    "nogd": Note("m d + m r", "m d + m r", REGRET, "speed, any kernel"),
    "nolana": Note("m d + m r + m^3", "m d + m r + m^2", NONE, "moving inputs"),
    "rrf": Note("r d", "r d", NONE, "useless columns"),
    "doubly-sgd": Note("t d", "t", "convergence", "reference", grows=True),
    "perceptron": Note("t d", "t d", MISTAKES, "separable", grows=True),
    "passive-aggressive": Note("t d", "t d", MISTAKES, "little noise", grows=True),
    "random-budget-perceptron": Note("m d", "m d", MISTAKES, "reference"),
    "forgetron": Note("m d", "m d", MISTAKES, "reference"),
    "projectron": Note("m d + m^2", "m d + m^2", MISTAKES, "small models"),
    "budget-pa": Note("m d + m^2", "m d + m^2", NONE, "small models"),
    "bsgd": Note("m d", "m d", REGRET, "small models"),
    "dual-sgd": Note("m d + r d", "m d + r d", "convergence", "long streams"),
    "forgetting": Note("r^3/32 + r d", "r^2", NONE, "drifting numbers"),
    "kernel-smoother": Note("W d", "W d", NONE, "few columns, drift"),
    "sparse-linear": Note("nonzeros K", "a table", NONE, "text, sparse rows"),
    "gaussian-filter": Note("nonzeros K", "a table", NONE, "text, sparse rows"),
    "mixture": Note("sum of parts", "sum of parts", LIVE, "changing regimes"),
    "auto": Note("by deadline=", "by memory=", NONE, "start here"),
    "baseline": Note("r^2 + r d", "r^2", LIVE, "a quick answer"),
}
"""By name of the catalogue."""


def tasks(entry: Entry) -> tuple[str, ...]:
    """The tasks that this learner takes, asked of it: numbers (with some loss), classes, rows without labels."""
    found = ["regression"] if _takes_numbers(entry) else []
    return (*found, "classification", *(["novelty"] if _takes_no_labels(entry) else []))


def of_task(task: str | None) -> list[Entry]:
    """The learners of a task, all of them for None."""
    if task is not None and task not in TASKS:
        raise ValueError(f"no task is called {task!r}; there are {', '.join(TASKS)}")
    return [entry for entry in CATALOGUE.values() if task is None or task in tasks(entry)]


def traits(entry: Entry) -> dict[str, bool]:
    """What can be asked of the learner itself, by the heading of its column."""
    learner = entry.example
    return {
        "merges": learner.can("merge"),
        "unlearns": learner.can("unlearn"),
        "weights": learner.weighted,
        "several targets": learner.multi_output,
        "missing values": learner.missing,
        "intervals": learner.can("predict_interval"),
        "std": learner.can("std"),
    }


def defaults(entry: Entry) -> dict[str, Any]:
    """Its parameters and their defaults, in order; `inspect.Parameter.empty` for one that must be given."""
    parameters = inspect.signature(entry.cls.__init__).parameters
    return {name: parameters[name].default for name in entry.cls._names()}


def _takes_numbers(entry: Entry) -> bool:
    for settings in ({}, {"loss": "epsilon_insensitive"}):
        try:
            build(entry.name, "regression", settings)
        except ValueError:
            continue
        return True
    return False


def _takes_no_labels(entry: Entry) -> bool:
    if "loss" not in entry.cls._names():
        return False
    try:
        return build(entry.name, settings={"loss": "novelty"}).labels == "none"
    except ValueError:
        return False
