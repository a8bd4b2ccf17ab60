"""Bytes and seconds that a configuration of `Auto` takes, and the largest configuration that a budget buys."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from nystream.auto.experts import ForgettingLinear, ForgettingRidge, LaplacianRidge, LargeRidge, Ridge, WindowSmoother
from nystream.auto.recipe import CANDIDATES, LARGE, METRIC_TARGETS, Recipe
from nystream.auto.stack import Stack
from nystream.auto.views import View, sizes
from nystream.features.metric import LearnedMetric
from nystream.features.scales import LearnedScales
from nystream.scaling.ring import Ring
from nystream.solvers.awv import AWV

__all__ = [
    *("SLACK", "Need", "bytes_of", "growing", "in_memory", "in_time", "largest_bytes", "resting_bytes"),
    *("seconds_a_row", "seconds_of", "slowness", "update_bytes", "warmup_bytes"),
]

# -- budgets as people write them --------------------------------------------------------------------------------------
_BYTES = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
_SECONDS = {"": 1.0, "S": 1.0, "MS": 1e-3, "US": 1e-6}


def bytes_of(value: Any) -> float:
    """Return the number of bytes that 64_000_000 or "64MB" stands for; raise a ValueError for anything else."""
    return _quantity("memory", value, _BYTES, "'64MB' or a number of bytes")


def seconds_of(value: Any) -> float | None:
    """Return the seconds that 0.001 or "1ms" stands for; None stays None."""
    return None if value is None else _quantity("deadline", value, _SECONDS, "'1ms', a number of seconds, or None")


def _quantity(name: str, value: Any, units: dict[str, Any], wanted: str) -> float:
    found = re.fullmatch(r"\s*([0-9.eE+]+?)\s*([a-zA-Z]*)\s*", str(value))
    if not isinstance(value, bool) and found and found[2].upper() in units:
        try:
            amount = float(found[1]) * units[found[2].upper()]
        except ValueError:
            amount = 0.0
        if amount > 0 and math.isfinite(amount):
            return amount
    raise ValueError(f"{name} must be {wanted}, got {value!r}")


# -- bytes of the experts, computed from sizes alone -------------------------------------------------------------------
# d: columns; outputs: targets or, with `codes`, classes.


def fit_bytes(recipe: Recipe, d: int, outputs: int, *, codes: bool) -> float:
    """Return the bytes that a full refit needs while it fits views, and then the large experts."""
    r, K, targets = recipe, outputs + codes, min(outputs, METRIC_TARGETS)
    block = _block_bytes(r, d, outputs, K)
    rough = _rough_bytes(r, d, K)
    moments = [_big_bytes(r, d, K) + LargeRidge.fit_nbytes(_landmarks(r, "big"), K)]
    moments += [LaplacianRidge.fit_nbytes(min(_landmarks(r, name), r.warmup), K) for name in ("rough", "change")]
    scales = LearnedScales.fit_nbytes(*sizes(r.metric, d), d, targets) if rough else 0.0
    view = max(View.fit_nbytes(r.warmup, d, r.metric, targets, r.full), scales)
    return max(view, rough + block + max(moments))


def warmup_bytes(recipe: Recipe, d: int, outputs: int, *, codes: bool) -> float:
    """Return the bytes of all experts and competitors during the warm-up, and of one block of rows."""
    r, K, race = recipe, outputs + codes, "big" in recipe.living
    racers = len(CANDIDATES) if race else sum(name in CANDIDATES for name in r.living)
    ridges = racers * Ridge.nbytes_for(r.landmarks, d, K)
    moment = max(_block_bytes(r, d, outputs, K), Ridge.width_nbytes(max(_landmarks(r, "big"), r.landmarks)))
    large = _big_bytes(r, d, K) + _rough_bytes(r, d, K)
    return large + ridges + _following_bytes(r, d, K) + moment


def update_bytes(recipe: Recipe, d: int, outputs: int, *, codes: bool) -> float:
    """Return the bytes of the experts after the warm-up, while a partial refit is computed."""
    r, K = recipe, outputs + codes
    view = View.fit_nbytes(r.ring, d, r.metric, min(outputs, METRIC_TARGETS), r.full)
    return resting_bytes(r, d, outputs, codes=codes) + max(view, _block_bytes(r, d, outputs, K))


def resting_bytes(recipe: Recipe, d: int, outputs: int, *, codes: bool) -> float:
    """Return the bytes of the experts after the warm-up, between two refits."""
    r, K = recipe, outputs + codes
    ridges = sum(name in CANDIDATES for name in r.living) * Ridge.nbytes_for(r.landmarks, d, K)
    return _big_bytes(r, d, K) + _rough_bytes(r, d, K) + ridges + _following_bytes(r, d, K)


def frozen_bytes(recipe: Recipe, d: int, outputs: int, *, codes: bool) -> float:
    """Return the bytes of the experts that predict while a full refit is under way: landmarks and weights."""
    r, K = recipe, outputs + codes
    if not r.spread:
        return 0.0
    plain = sum(name in CANDIDATES for name in r.living) * r.landmarks + _landmarks(r, "big")
    rough, change = (min(_landmarks(r, name), r.warmup) for name in ("rough", "change"))
    landmarks = (plain + rough) * (d + K) + change * (d + 4 * K)  # it sees three lags of every target too
    return 8.0 * landmarks + _following_bytes(r, d, K)


def _big_bytes(r: Recipe, d: int, K: int) -> float:
    return LargeRidge.nbytes_for(_landmarks(r, "big"), d, K)


def _rough_bytes(r: Recipe, d: int, K: int) -> float:
    """Return the bytes of both Laplacian experts; the second sees three lags of every target too."""
    m, c = (min(_landmarks(r, name), r.warmup) for name in ("rough", "change"))
    return LaplacianRidge.nbytes_for(m, d, K) + (LaplacianRidge.nbytes_for(c, d + 3 * K, K) if c else 0.0)


def _following_bytes(r: Recipe, d: int, K: int) -> float:
    """Return the bytes of the experts that forget, of the window smoothers, and of two metrics."""
    each = {
        "ag.99": ForgettingRidge.nbytes_for(r.small, K),
        "lin.95": ForgettingLinear.nbytes_for(d, K, forgets=d <= r.full),
        "win1000": WindowSmoother.nbytes_for(r.window, d, K),
    }
    return 2 * LearnedMetric.nbytes_for(d, r.full) + sum(each.get(name, 0.0) for name in r.living)


def _block_bytes(r: Recipe, d: int, outputs: int, K: int) -> float:
    """Return the bytes of one block of rows: seen through views, their kernel values, and all outputs for them."""
    views = 4 + 2 * ("rough" in r.living)
    return 8.0 * r.rows_at_once(outputs) * (max(_landmarks(r, name) for name in LARGE) + views * d + 40 * K)


def _landmarks(recipe: Recipe, name: str) -> int:
    """Return the landmarks of one of the large experts; 0 if it does not exist."""
    return {"big": recipe.big, "rough": recipe.rough, "change": recipe.change}[name] * (name in recipe.living)


# -- the configuration that memory buys --------------------------------------------------------------------------------
SLACK = 1.3
"""Factor for the allocator and for small objects beside the arrays that are counted."""
FEW_CLASSES = 20
"""The message about too little memory mentions classes only if there are more than this."""
SHRINK = (
    (1.0, 1.0),
    (0.75, 1.0),
    (0.6, 1.0),
    (0.5, 1.0),
    (0.4, 1.0),
    (0.35, 1.0),
    (0.3, 0.9),
    (0.3, 0.8),
    (0.4, 0.8),
    (0.3, 0.65),
    (0.25, 0.5),
    (0.2, 0.4),
    (0.15, 0.3),
    (0.1, 0.2),
    (0.06, 0.12),
    (0.03, 0.06),
    (0.015, 0.03),
)
"""Parts of the kept rows and of the landmarks that are tried in this order; landmarks matter more."""
CANDIDATE = 0.6
"""Part of the landmarks that a candidate ensemble needs at least, beside an incumbent that warms up."""
LAPLACIAN = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.4, 0.3, 0.2, 0.1)
"""Parts of the landmarks of the Laplacian experts that are tried on the memory that the other experts leave."""
ONCE_MORE = (1.0, 0.95, 0.9)
"""Parts of these landmarks that are tried if everything is to be fitted once more on more rows."""


class Need(NamedTuple):
    """The problem that a model is for, and the bytes that it may take."""

    budget: float
    d: int
    """Columns."""
    outputs: int
    """Targets or, with `codes`, classes."""
    codes: bool = False
    more: int = 0
    """Inputs of the stackers beside the experts."""
    share: float = 1.0
    """Part of the budget that the model may take."""
    has_candidate: bool = False
    """Whether room stays free for a candidate without Laplacian experts."""

    def bytes_of(self, recipe: Recipe) -> float:
        """Return the bytes of the model at its largest."""
        return largest_bytes(recipe, self.d, self.outputs, codes=self.codes, more=self.more)

    def fits(self, recipe: Recipe) -> bool:
        """Return whether the model, and its candidate if there is to be one, stay within the share of the budget."""
        room = 0.0
        if self.has_candidate:
            second = recipe.resized(rough=0, change=0).scaled(CANDIDATE, CANDIDATE)
            room = SLACK * warmup_bytes(second, self.d, self.outputs, codes=self.codes)
        return room + self.bytes_of(recipe) <= self.share * self.budget


def in_memory(recipe: Recipe, need: Need) -> Recipe:
    """Return the largest recipe of this shape whose model stays within memory, without regard to later growth.

    Refits are spread over rows if that, too, fits beside the smallest Laplacian experts.
    """
    plain = tuple(name for name in recipe.experts if name != "lin.95") or recipe.experts
    narrow = recipe.resized(full=0, experts=plain)  # without any matrix of the columns' number squared
    for shape in (recipe, narrow):
        for rows, landmarks in SHRINK:
            smaller = shape.scaled(rows, landmarks).resized(rough=0, change=0, spread=False)
            least = need.bytes_of(smaller) / need.share
            if least > need.budget:
                continue
            for spread in (True, False) if shape.spread else (False,):
                for part in (*LAPLACIAN, 0.0):
                    large = {"rough": int(part * shape.rough), "change": int(part * shape.change)}
                    whole = smaller.resized(spread=spread, **large)
                    if need.fits(whole):
                        return whole
            return smaller
    what = f"rows of {need.d} columns"
    if need.codes and need.outputs > FEW_CLASSES:
        what += f" and {need.outputs} classes"
    raise ValueError(f"memory is too small for {what}: at least memory='{math.ceil(least / 1e6)}MB' is needed")


def growing(recipe: Recipe, need: Need) -> Recipe:
    """Return the recipe with as many later growths as memory allows.

    If memory does not allow more landmarks, everything is fitted once more with as many, or a few Laplacian ones fewer.
    """
    more = recipe.growing_while(need.fits)
    if more.grows or not recipe.grows:
        return more
    for part in ONCE_MORE:
        large = {"rough": int(part * recipe.rough), "change": int(part * recipe.change)}
        same = recipe.resized(grows=recipe.grows[:1], growth=1.0, **large)
        if need.fits(same.grown()):
            return same
    return more


def largest_bytes(recipe: Recipe, d: int, outputs: int, *, codes: bool = False, more: int = 0) -> float:
    """Return the bytes of the model at its largest, the end of the warm-up, with the temporary arrays of a refit."""
    labels, targets = 1 if codes else outputs, outputs + codes
    row = d + labels + 1  # of the buffer: inputs, labels, weight
    stack = Stack.nbytes_for(len(recipe.living) + more, outputs, codes=codes)
    full = frozen_bytes(recipe, d, outputs, codes=codes)
    full += Ring.nbytes_for(recipe.warmup + recipe.late, row + targets) + max(
        fit_bytes(recipe, d, outputs, codes=codes),
        warmup_bytes(recipe, d, outputs, codes=codes) + stack,
    )
    partial = Ring.nbytes_for(recipe.ring + recipe.late, 2 * row + targets)  # a buffer, and what is copied from it
    partial += update_bytes(recipe, d, outputs, codes=codes) + stack
    return SLACK * max(full, partial)


# -- the configuration that a deadline buys ----------------------------------------------------------------------------
@dataclass(frozen=True)
class Clock:
    """Seconds of the parts of one `step`, measured on one core of the reference machine by benchmarks/speed/auto.py."""

    call: float = 60e-6
    """Of a call, whatever the sizes are."""
    expert: float = 18e-6
    """Of each expert, whatever its size is."""
    near: float = 1.6e-10
    """Per squared number of features, to learn a row with a factor that fits into the core's cache."""
    far: float = 2.2e-10
    """The same with a larger factor."""
    cache: int = 500
    """The number of features whose factor still fits into the cache."""
    shared: float = 0.6e-10
    """Per squared number of features, to learn a row with a large ridge, whose rows share one pass."""
    solved: float = 2e-12
    """The same, to solve for the weights of one output of a large ridge."""
    pair: float = 3e-10
    """Per landmark, or row of a window, and column or output."""
    factored: float = 4e9
    """Floating-point operations a second of factoring small matrices."""
    metric: float = 2e10
    """Floating-point operations a second of learning a metric."""
    fitted: float = 2e10
    """Squared landmarks a second of fitting a row in a full refit."""
    refit: float = 12e-6
    """Of a row, for partial refits without their metric."""
    python_probe: float = 2.2e-6
    """Of the probe of the interpreter in `slowness`."""
    ridge_probe: float = 10e-6
    """Of the probe of the ridge in `slowness`."""
    probing: float = 0.05
    """For which a probe is repeated."""
    tolerance: float = 1.3
    """A machine that is less than this factor slower counts as the reference machine: most machines decide alike."""


CLOCK = Clock()
DROPPED = ("change", "rough", "big", "glob", "win1000", "ag.99", "lin.95")
"""Experts in the order in which a deadline removes them; "ag" stays."""


def in_time(recipe: Recipe, deadline: float, d: int, outputs: int, beside: float = 0.0, times: float = 1.0) -> Recipe:
    """Return the recipe with fewer and smaller experts, such that one `step` takes at most so many seconds on average.

    It tries, in this order: smaller large experts, a metric from fewer rows, fewer experts, smaller experts. It raises
    a ValueError if nothing is fast enough. Of the growths those stay after which a row is still learnt in time, with
    the cost of the growth spread over the rows so far. `beside`: seconds of the reference machine that a row takes
    before the experts see it; `times`: how often a row is learnt on average, since at times two ensembles learn.
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
    """Return a cautious estimate for one `step` after the warm-up, with partial refits spread over the rows."""
    living, K, full, c = recipe.living, outputs, d if d <= recipe.full else 0, CLOCK
    total = c.call + c.expert * len(living) + 1e-7 * K * len(living)
    for name in living:
        if name == "win1000":
            total += c.pair * recipe.window * d
        elif name == "lin.95":
            total += _learning(d + 1, K) + ((d + 1) ** 3 / 3 / 13 / c.factored if full else 0.0)
        else:
            some = {"big": recipe.big, "ag.99": recipe.small, "rough": recipe.rough, "change": recipe.change}
            r = 1 + some.get(name, recipe.landmarks)
            total += (c.shared + c.solved * K) * r * r + c.pair * r * K if name in LARGE else _learning(r, K)
            total += c.pair * r * d + (r**3 / 3 / 32 / c.factored if name == "ag.99" else 0.0)
    total += c.pair * full * full * 2
    if {"ag.99", "win1000"} & set(living):
        n, targets = recipe.metric, min(K, METRIC_TARGETS)
        flops = n**3 / 3 + 2 * n * n / 5 * d * targets + 2 * n * n * targets + 9 * full**3 + 3 * n * n * d
        total += flops / c.metric / recipe.every(d, outputs) + c.refit
    return total


def _growth(recipe: Recipe) -> float:
    """Return the seconds that a growth to these sizes took, over the rows that it was fitted on."""
    large = {"big": recipe.big, "rough": recipe.rough, "change": recipe.change}
    return sum(large.get(name, recipe.landmarks) ** 2 for name in recipe.living) / CLOCK.fitted


def _learning(r: int, K: int) -> float:
    return (CLOCK.near if r <= CLOCK.cache + 1 else CLOCK.far) * r * r + CLOCK.pair * r * K


@cache
def slowness() -> float:
    """Return how many times slower this machine is now than the reference machine; 1 if not noticeably slower.

    It is measured once in a process, in a tenth of a second. The sizes that it leads to are part of the model.
    """
    a, low, high = np.ones((1, 8)), np.zeros(8), np.ones(8)
    solver = AWV(0.01, vovk=False)
    solver.start(301, 1)
    Z = np.random.default_rng(0).normal(size=(40, 301))
    solver.run(Z, Z[:, :1].copy())
    z, y = Z[0], Z[0, :1].copy()
    ratios = [
        _mean(lambda: np.minimum(np.maximum(a, low), high).reshape(-1)[:4] * 2.0) / CLOCK.python_probe,
        _mean(lambda: solver.step(z, y)) / CLOCK.ridge_probe,
    ]
    return 1.0 if max(ratios) <= CLOCK.tolerance else math.ceil(2 * max(ratios)) / 2


def _mean(probe: Callable[[], object]) -> float:
    """Return the seconds of one call by the wall clock: other programs on the machine count."""
    probe()
    calls, start = 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < CLOCK.probing:
        for _ in range(20):
            probe()
        calls += 20
    return passed / calls
