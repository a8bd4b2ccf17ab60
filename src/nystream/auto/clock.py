"""What a row costs the automatic learner in seconds: a formula, and how much slower than its machine this one is."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from nystream.auto.footprint import LARGE, METRIC_TARGETS
from nystream.auto.recipe import Recipe
from nystream.solvers.awv import AWV

__all__ = ["in_time", "seconds_a_row", "slowness"]

CALL, EXPERT = 60e-6, 18e-6
"""Seconds of one `step` that do not depend on sizes: once, and for every expert."""
NEAR, FAR, CACHE = 1.6e-10, 2.2e-10, 500
"""Seconds per squared number of features to learn a row: up to CACHE features, which the core's cache holds; above."""
SHARED, SOLVED = 0.6e-10, 2e-12
"""Of the large experts instead, whose rows share a pass: to learn, and to solve for the weights of one output."""
PAIR = 3e-10
"""Seconds per landmark, or row of a window, and column or output."""
FACTOR = 4e9
"""Flops a second of factoring small matrices anew."""
METRIC = 2e10
"""Flops a second of learning a metric."""
FITTED = 2e10
"""Squared landmarks a second of fitting a row."""
REFIT = 12e-6
"""Seconds a row that refreshes take beside the metric."""
PROBES = {"python": 2.2e-6, "awv": 10e-6}
"""Seconds of the two probes on the machine where all of these were measured."""
LASTING = 0.05
"""Seconds that a probe is repeated for."""
TOLERANCE = 1.3
"""A machine that is not slower than this counts as that one, so that most machines decide alike."""
DROPPED = ("change", "rough", "big", "glob", "win1000", "std", "ag.99", "win100", "lin.95")
"""Experts in the order in which a deadline ends their lives; "ag" stays."""


def in_time(recipe: Recipe, deadline: float, d: int, outputs: int, beside: float = 0.0, times: float = 1.0) -> Recipe:
    """The recipe with fewer and smaller experts, such that one `step` takes so many seconds on average at most.

    A smaller big expert; a metric from fewer rows; fewer experts; smaller ones. Refuses what none of these can do.
    Of its `grows` those stay after which a row is learnt in time still, with what growing costs, by the rows so far.
    `beside`: seconds of the formula's machine that a row takes before the experts see it; `times`: how often a row is
    learnt on average, where at times two copies of all this live.
    """
    slow = times * slowness()
    for faster in _ever_faster(recipe):
        if slow * (beside + seconds_a_row(faster, d, outputs)) <= deadline:
            return faster.growing_while(
                lambda larger: slow * (beside + seconds_a_row(larger, d, outputs) + _growth(larger)) <= deadline
            )
    need = math.ceil(slow * (beside + seconds_a_row(faster, d, outputs)) * 1e5) / 100
    raise ValueError(f"deadline is too short for rows of {d} columns on this machine: it can be '{need:g}ms' at least")


def _ever_faster(recipe: Recipe) -> Iterator[Recipe]:
    r = recipe.resized()
    yield r
    for rough in (1300, 1000, 750, 500):
        if rough < max(recipe.rough, recipe.change):
            r = r.resized(rough=min(rough, recipe.rough), change=min(rough, recipe.change))
            yield r
    for big in (750, 560, 420, 320):
        if big < recipe.big:
            r = r.resized(big=big)
            yield r
    r = r.resized(metric=max(2, min(r.metric, 500)))
    yield r
    for name in DROPPED:
        if name in r.experts and len(r.experts) > 1:
            r = r.resized(experts=tuple(e for e in r.experts if e != name))
            yield r
    while r.landmarks > 30:
        r = r.resized(landmarks=max(30, r.landmarks * 2 // 3))
        yield r


def seconds_a_row(recipe: Recipe, d: int, outputs: int) -> float:
    """A cautious estimate for one `step` after the warm-up, refreshes spread over the rows; `run` takes less."""
    living, K, full = recipe.living, outputs, d if d <= recipe.full else 0
    windows = {"win1000": recipe.windows[0], "win100": recipe.windows[1]}
    total = CALL + EXPERT * len(living) + 1e-7 * K * len(living)
    for name in living:
        if name in windows:
            total += PAIR * windows[name] * d
        elif name == "lin.95":
            total += _learning(d + 1, K) + ((d + 1) ** 3 / 3 / 13 / FACTOR if full else 0.0)
        else:
            some = {"big": recipe.big, "ag.99": recipe.small, "rough": recipe.rough, "change": recipe.change}
            r = 1 + some.get(name, recipe.landmarks)
            total += (SHARED + SOLVED * K) * r * r + PAIR * r * K if name in LARGE else _learning(r, K)
            total += PAIR * r * d + (r**3 / 3 / 32 / FACTOR if name == "ag.99" else 0.0)
    total += PAIR * full * full * 2
    if {"ag.99", *windows} & set(living):
        n, targets = recipe.metric, min(K, METRIC_TARGETS)
        flops = 2 * (n**3 / 3 + 2 * n * n / 5 * d * targets + 2 * n * n * targets) + 2 * 9 * full**3 + 6 * n * n * d
        total += flops / METRIC / recipe.every(d, outputs) + REFIT
    return total


def _growth(recipe: Recipe) -> float:
    """Seconds that growing to this took, over the rows that it was fitted on."""
    sizes = {"big": recipe.big, "rough": recipe.rough, "change": recipe.change}
    return sum(sizes.get(name, recipe.landmarks) ** 2 for name in recipe.living) / FITTED


def _learning(r: int, K: int) -> float:
    return (NEAR if r <= CACHE + 1 else FAR) * r * r + PAIR * r * K


@cache
def slowness() -> float:
    """How many times slower this machine, as it is now, is than the one of the formula; 1 if not noticeably so.

    Measured once in a process, in a tenth of a second. What it leads to is part of the model: saved ones go on so.
    """
    a, low, high = np.ones((1, 8)), np.zeros(8), np.ones(8)
    solver = AWV(0.01, vovk=False)
    solver.start(301, 1)
    Z = np.random.default_rng(0).normal(size=(40, 301))
    solver.run(Z, Z[:, :1].copy())
    z, y = Z[0], Z[0, :1].copy()
    ratios = [
        _mean(lambda: np.minimum(np.maximum(a, low), high).reshape(-1)[:4] * 2.0) / PROBES["python"],
        _mean(lambda: solver.step(z, y)) / PROBES["awv"],
    ]
    return 1.0 if max(ratios) <= TOLERANCE else math.ceil(2 * max(ratios)) / 2


def _mean(probe: Callable[[], object]) -> float:
    """Seconds of one call, as a clock on the wall sees them: what else runs on the machine counts."""
    probe()
    calls, start = 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < LASTING:
        for _ in range(20):
            probe()
        calls += 20
    return passed / calls
