"""All experts of an ensemble: full refits during the warm-up, the choice among competitors, partial refits after it."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.auto.experts import Asked, answers
from nystream._core.auto.stack import lagged
from nystream.auto.experts import (
    Expert,
    ForgettingLinear,
    ForgettingRidge,
    Innovation,
    LaplacianRidge,
    LargeRidge,
    Ridge,
    WindowSmoother,
)
from nystream.auto.recipe import CANDIDATES, METRIC_TARGETS, Recipe
from nystream.auto.stack import LAGS, PACES, after, shifted
from nystream.auto.views import LaplacianView, Parts, View, taming
from nystream.runtime.incremental import Task
from nystream.runtime.params import Params
from nystream.runtime.threads import run_parallel
from nystream.runtime.types import Array
from nystream.scaling import GlobalScale, LogScale, StandardScale

__all__ = ["ExpertSet", "combined"]

VIEWS = {"std": StandardScale(), "ag": StandardScale(), "glob": GlobalScale(), "log": LogScale()}
VIEWS["lin"] = StandardScale(clip=30.0)
"""Scalings of the views; the view "now" begins as "ag" and is learnt anew at partial refits."""
SEEN_IN = {"ag": "ag", "glob": "glob", "ag.99": "now", "lin.95": "lin", "win1000": "now"}
SEEN_IN |= {"rough": "rough", "change": "change"}
FITTED_IN = ("rough", "change", "big", "ag", "glob", "ag.99", "lin.95", "win1000")
"""The order of fits: large experts first, because they need the most memory for a moment."""
NO_LAGS = np.empty((0, 0, 0))
WORTH_A_THREAD = 32
"""Rows of a block from which on the Laplacian experts learn in a thread of their own."""
UNRELATED = 1.5
"""Mean squared step of labels over their variance, from which on there is no innovation expert; it is 2 for noise."""
HELPFUL = 0.98
"""Loss of the innovation expert, at most, over that of no change and that of the Laplacian ridge without label lags."""
HALF_LIFE = 1000
"""Rows after which a loss counts half in the tournament."""
NARROWER, NARROWEST, WORSE = 0.7, 0.5, 1.1
"""Width of the large ridge: this part of the winner's, but not less than the second value; the winner's own if half of
it has so much more loss."""
TIED = 1.0 + 1e-12
"""Losses that close count as equal, and the first competitor wins: before a metric is learnt two competitors differ by
rounding alone, which depends on how the stream is cut into blocks."""
VIEW_TITLES = {"std": "standardised", "ag": "learnt metric", "glob": "one scale", "log": "logarithms, learnt metric"}
"""Views in words."""


class ExpertSet(Params):
    """Holds views and experts. Rows X may hold nan; Y (n, K) are the targets of all experts.

    Parameters
    ----------
    recipe : Recipe
    codes : bool, default False
        Whether targets are a constant 1 and then codes -1/+1 of the classes.
    delay : int, default 0
        Rows after which labels are known: label lags are so many rows older.
    """

    views_: dict[str, View]
    experts_: dict[str, Expert]
    others_: dict[str, Ridge]
    """Ridges that only compete for the view of the large ridge; empty after the warm-up."""
    losses_: dict[str, Array]
    """(K,) discounted losses of the competitors; of classes (1,), for all codes."""
    seen_in_: dict[str, str]
    """Which view each expert looks through."""
    holes_: npt.NDArray[np.int64]
    """Columns with missing values, which have an indicator."""
    lags_: Array
    """(4, K) label lags of the innovation expert; empty if there is none."""
    _asked: tuple[dict[str, Expert], tuple[tuple[Asked, int], ...], tuple[Parts, ...]] | None = None
    """The experts, and what `_in_turn` says of them."""

    def __init__(self, recipe: Recipe, codes: bool = False, delay: int = 0) -> None:
        self.recipe = recipe
        self.codes = codes
        self.delay = delay

    def start(self) -> None:
        self.views_, self.experts_, self.others_ = {}, {}, {}
        self.losses_ = {name: np.zeros(1) for name in CANDIDATES}
        self.seen_in_ = {}
        self.winner_ = "ag"
        self.holes_ = np.empty(0, dtype=np.int64)
        self.lags_ = np.empty((0, 0))

    @property
    def names(self) -> list[str]:
        """Keys of the experts, in the order of their outputs."""
        return self.recipe.living

    def titles(self, d: int) -> dict[str, str]:
        """Return readable names of the experts for rows of d columns. No two are equal."""
        titles: dict[str, str] = {}
        for name in self.names:
            title = (self.experts_.get(name) or self._new(name, d)).title
            if name in CANDIDATES:
                title += f", {VIEW_TITLES[CANDIDATES[name][0]]}"
            titles[name] = title
        return titles

    def predict(self, X: Array, outputs: int, known: Array | None = None) -> Array:
        """Return (n, E, K) outputs of the experts, 0 before the first refit. Pure. `known`: the targets known by
        now, if labels come late.
        """
        F = np.zeros((len(X), len(self.names), outputs))
        if self.experts_:
            lags = self.lags_ if known is None or not self.lags_.size else after(self.lags_, known, PACES)
            U = self._seen(X, np.broadcast_to(lags, (len(X), *lags.shape)))
            for e, name in enumerate(self.names):
                F[:, e] = self.experts_[name].predict(U[self.seen_in_[name]])
        return F

    @property
    def lasting(self) -> list[str]:
        """The experts that later rows are predicted with: those that never forget, or all if there are none."""
        names = self.names
        steady = [names[e] for e in self.recipe.steady.tolist()]
        return steady or [name for name in names if name != "change"] or names

    def predict_lasting(self, X: Array, outputs: int) -> Array:
        """Return (n, E, K) outputs of the lasting experts, 0 before the first refit. Pure."""
        names = self.lasting
        if not self.experts_ or "change" in names:
            return self.predict(X, outputs)
        A, F = self._augmented(X), np.empty((len(X), len(names), outputs))
        U = {view: self.views_[view](A) for view in {self.seen_in_[name]: None for name in names}}
        for e, name in enumerate(names):
            F[:, e] = self.experts_[name].predict(U[self.seen_in_[name]])
        return F

    def run(
        self, X: Array, Y: Array, w: Array | None, bounds: tuple[Array, Array], known: Array | None = None
    ) -> Array:
        """Return (n, E, K) outputs, each made before its row was learnt. `bounds`: the range of the targets; `known`
        (n, K): targets that become known with each row, if these are not its own.
        """
        if not self.experts_:
            return np.zeros((len(X), len(self.names), Y.shape[1]))
        past = lagged(Y if known is None else known, self.lags_, PACES) if self.lags_.size else NO_LAGS
        if known is not None:
            past = np.nan_to_num(past, nan=0.0)  # before the first is known
        if len(X) == 1 and not self.others_:
            asked, views = self._in_turn()
            A = self._augmented(X)
            return answers(asked, views, A, self._changing(A, past) if "change" in self.seen_in_ else None, Y, w)
        names, U = self.names, self._seen(X, past)
        F = np.empty((len(X), len(names), Y.shape[1]))

        def run(some: Iterable[tuple[int, str]]) -> None:
            for e, name in some:
                expert, rows = self.experts_[name], U[self.seen_in_[name]]
                F[:, e] = expert.run(rows, Y, w)
                if self.others_ and name in CANDIDATES:
                    self._count(name, F[:, e], Y, w, bounds)

        if len(X) < WORTH_A_THREAD:
            run(enumerate(names))
        else:
            rough = [(e, name) for e, name in enumerate(names) if name in ("rough", "change")]
            rest = [(e, name) for e, name in enumerate(names) if name not in ("rough", "change")]
            run_parallel([partial(run, some) for some in (rest, rough)])
        for name, other in self.others_.items():
            self._count(name, other.run(U[CANDIDATES[name][0]], Y, w), Y, w, bounds)
        return F

    def _in_turn(self) -> tuple[tuple[tuple[Asked, int], ...], tuple[Parts, ...]]:
        """Return what answers one row for each expert, with the place of its view, in the order of outputs; and the
        views.
        """
        if self._asked is None or self._asked[0] is not self.experts_:
            views = [name for name in self.views_ if name != "change"]
            places = {name: place for place, name in enumerate([*views, "change"])}
            experts = [(self.experts_[name], places[self.seen_in_[name]]) for name in self.names]
            asked = tuple((expert.asked(expert), place) for expert, place in experts)
            self._asked = self.experts_, asked, tuple(self.views_[name].parts for name in views)
        return self._asked[1:]

    def freeze(self, *, whole: bool) -> None:
        """Give up what only learning needs, until a successor takes over; see `Expert.freeze`. `whole`: give up all."""
        self.others_ = {}
        if whole:
            self.experts_, self.views_, self.seen_in_ = {}, {}, {}
        for expert in self.experts_.values():
            expert.freeze()

    def successor(self, recipe: Recipe, factor: Array | float = 1.0) -> ExpertSet:
        """Return an expert set with these sizes, to be fitted by `rebuilding`.

        Its targets are multiplied by `factor` (K,), and so are the losses of the competitors so far.
        """
        fresh = ExpertSet(recipe, self.codes, self.delay)
        fresh.start()
        fresh.losses_ = {name: losses * np.square(factor) for name, losses in self.losses_.items()}
        return fresh

    def rebuilding(self, X: Array, Y: Array, w: Array | None, rng: np.random.Generator, last: bool) -> Task[None]:
        """Fit everything from all rows so far, a piece at a time; `last`: the warm-up is over."""
        r, names = self.recipe, self.names
        self.holes_ = np.flatnonzero(np.isnan(X).any(axis=0)).astype(np.int64)
        A = self._augmented(X)
        labels = self._metric_targets(Y) if 10 * len(A) >= r.metric and len(A) > 2 else None
        seed = int(rng.integers(2**32))
        self.winner_, factor = self._winner()
        seen = {**SEEN_IN, "big": CANDIDATES[self.winner_][0]}
        self.seen_in_ = {name: seen[name] for name in names}
        race = {} if last or "big" not in names else CANDIDATES
        wanted = {*self.seen_in_.values(), *(view for view, _ in race.values())}
        self.experts_, self.others_, self.views_ = {}, {}, {}  # before new ones take memory
        past = self._lagged(Y) if "change" in names else None
        options: dict[str, Any] = {"rows": r.metric, "seed": seed, "tame": (yield from taming(A, w))}
        for name in (name for name in VIEWS if name in wanted or (name == "ag" and "now" in wanted)):
            view, learnt = View(VIEWS[name].clone()), labels if name in ("ag", "log") else None
            yield from view.fitting(A, learnt, w, full=r.full, **options)
            self.views_[name] = view
        if "now" in wanted:
            self.views_["now"] = copy.deepcopy(self.views_["ag"])
        for name in set(self.views_) - wanted:
            del self.views_[name]
        if "rough" in wanted:
            rough = LaplacianView(StandardScale())
            yield from rough.fitting(A, labels, w, **options)
            self.views_["rough"] = rough
        del options
        largest_first = sorted(names, key=lambda name: FITTED_IN.index(name))
        experts = {name: self._new(name, A.shape[1], factor) for name in largest_first}
        for name, expert in experts.items():
            if isinstance(expert, Innovation):
                assert past is not None
                moved = np.hstack([past, A])
                yield from self._fitting_changes(expert, moved, Y, w, rng, None if labels is None else seed)
            else:
                yield from expert.fitting(self.views_[self.seen_in_[name]], A, Y, w, rng)
        others = {name: self._ridge(name) for name in race if name not in names}
        for name, other in others.items():
            yield from other.fitting(self.views_[CANDIDATES[name][0]], A, Y, w, rng)
        self.experts_, self.others_ = experts, others

    def _lagged(self, Y: Array) -> Array:
        """Return (n, 4 K) label lags before each of all rows so far, 0 before the first, and the lags after them."""
        self.lags_ = np.full((LAGS, Y.shape[1]), np.nan)
        known = np.ascontiguousarray(shifted(Y, self.delay) if self.delay else Y)
        return np.nan_to_num(lagged(known, self.lags_, PACES).reshape(len(Y), -1), nan=0.0)

    def _fitting_changes(
        self, expert: Innovation, X: Array, Y: Array, w: Array | None, rng: np.random.Generator, seed: int | None
    ) -> Task[None]:
        """Fit the innovation expert to rows X that begin with the label lags. It forecasts no change unless held-out
        rows show that it helps.
        """
        expert.rest()
        moves = Y - X[:, : Y.shape[1]]
        moved = float(np.average((moves**2).mean(axis=1), weights=w))
        spread = float(np.average(((Y - np.average(Y, axis=0, weights=w)) ** 2).mean(axis=1), weights=w))
        if seed is None or moved > UNRELATED * spread:  # too few rows, or labels do not follow each other
            return
        rough, view = self.views_.get("rough"), LaplacianView(StandardScale())
        yield from view.fitting(X, moves, w, rows=self.recipe.metric, seed=seed)
        others = [moved, *([rough.loss] if isinstance(rough, LaplacianView) else [])]
        if view.loss < HELPFUL * min(others):
            self.views_["change"] = view
            yield from expert.fitting(view, X, Y, w, rng)

    def _new(self, name: str, columns: int, factor: float = 1.0) -> Expert:
        """Return a new expert; `factor` is for the width of the large ridge."""
        r = self.recipe
        if name in CANDIDATES:
            return self._ridge(name)
        if name == "big":
            return LargeRidge(r.big, factor)
        if name == "rough":
            return LaplacianRidge(r.rough)
        if name == "change":
            return Innovation(r.change, self.lags_.shape[1])
        if name == "ag.99":
            return ForgettingRidge(r.small)
        if name == "lin.95":
            return ForgettingLinear(0.95 if columns <= r.full else 1.0)
        if name == "win1000":
            return WindowSmoother(r.window)
        raise ValueError(f"no expert is called {name!r}")

    def _ridge(self, name: str) -> Ridge:
        return Ridge(self.recipe.landmarks, CANDIDATES[name][1])

    @property
    def followers(self) -> list[str]:
        """The experts that follow the stream and are fitted at partial refits."""
        return [name for name, view in self.seen_in_.items() if view == "now"]

    def following(self) -> ExpertSet:
        """Return successors of the followers, to be fitted by `refreshing`."""
        followers = self.followers
        fresh = ExpertSet(self.recipe.resized(experts=followers), self.codes, self.delay)
        fresh.start()
        fresh.seen_in_, fresh.holes_ = dict.fromkeys(followers, "now"), self.holes_
        return fresh

    def refreshing(self, X: Array, Y: Array, w: Array | None, rng: np.random.Generator) -> Task[None]:
        """Fit scales, metric, forgetting experts and windows from the last rows, a piece at a time."""
        A, r, now = self._augmented(X), self.recipe, View(VIEWS["ag"].clone())
        seed, labels = int(rng.integers(2**32)), self._metric_targets(Y)
        yield from now.fitting(A, labels, w, rows=r.metric, full=r.full, seed=seed)
        experts = {name: self._new(name, A.shape[1]) for name in self.seen_in_}
        for expert in experts.values():
            yield from expert.fitting(now, A, Y, w, rng)
        self.views_, self.experts_ = {"now": now}, experts

    def adopt(self, fresh: ExpertSet) -> None:
        """Replace the views and experts of these names."""
        self.views_, self.experts_ = {**self.views_, **fresh.views_}, {**self.experts_, **fresh.experts_}

    def widen(self, d: int) -> None:
        """Accept rows with d columns, the new ones 0 so far; indicators come before the columns."""
        self._asked = None
        for name, view in self.views_.items():
            view.widen(d + len(self.holes_) + self.lags_.size * (name == "change"))
        for name, expert in (*self.experts_.items(), *self.others_.items()):
            expert.widen(d + len(self.holes_) + self.lags_.size * (name == "change"))

    def add_outputs(self, combination: Array) -> None:
        for expert in (*self.experts_.values(), *self.others_.values()):
            expert.add_outputs(combination)

    @property
    def size(self) -> int:
        """The number of landmarks and window rows."""
        return sum(len(e.points_) for e in self.experts_.values() if isinstance(e, Ridge)) + sum(
            e.smoother_.size for e in self.experts_.values() if isinstance(e, WindowSmoother)
        )

    @property
    def nbytes(self) -> int:
        experts = sum(expert.nbytes for expert in (*self.experts_.values(), *self.others_.values()))
        return self.holes_.nbytes + sum(view.nbytes for view in self.views_.values()) + experts

    def _metric_targets(self, Y: Array) -> Array:
        """Return the targets that a metric is learnt from: without the constant, and one code of two classes."""
        if self.codes:
            Y = Y[:, 2:] if Y.shape[1] == 3 else Y[:, 1:]
        return combined(Y)

    def _augmented(self, X: Array) -> Array:
        """Put indicators of missing values, 0 or 1, before the columns."""
        if not len(self.holes_):
            return X
        return np.hstack([np.isnan(X[:, self.holes_]).astype(np.float64), X])

    def _seen(self, X: Array, past: Array) -> dict[str, Array]:
        """Return the rows in all views; `past` (n, 3, K) are the label lags before each of them."""
        A = self._augmented(X)
        U = {name: view(A) for name, view in self.views_.items() if name != "change"}
        if "change" in self.seen_in_:
            U["change"] = self._changing(A, past)
        return U

    def _changing(self, A: Array, past: Array) -> Array:
        """Return the rows as `Innovation` takes them."""
        if "change" not in self.views_:
            return past[:, 0]
        return np.hstack([past[:, 0], self.views_["change"](np.hstack([past.reshape(len(A), -1), A]))])

    def _count(self, name: str, F: Array, Y: Array, w: Array | None, bounds: tuple[Array, Array]) -> None:
        keep = 0.5 ** (1 / HALF_LIFE)
        ages = keep ** np.arange(len(Y) - 1.0, -1.0, -1.0)
        v = ages if w is None else ages * w
        miss = (np.clip(F, *bounds) - Y) ** 2
        lost = v @ (miss.mean(axis=1, keepdims=True) if self.codes else miss)
        self.losses_[name] = keep ** len(Y) * self.losses_[name] + lost

    def _winner(self) -> tuple[str, float]:
        """Return the competitor with the least loss, and the width factor of the large ridge."""
        best = {name: float(losses.mean()) for name, losses in self.losses_.items()}
        if not any(best.values()):
            return "ag", 1.0
        least = min(best.values())
        winner = next(name for name in best if best[name] <= TIED * least)
        factor, sibling = CANDIDATES[winner][1], f"{winner}/2"
        if sibling in best and best[sibling] > WORSE * best[winner]:
            return winner, factor
        return winner, max(NARROWER * factor, NARROWEST)


def combined(Y: Array) -> Array:
    """Replace many targets by fixed random combinations: sums of gradient products are the same on average."""
    if Y.shape[1] <= METRIC_TARGETS:
        return Y
    return Y @ np.random.default_rng(Y.shape[1]).choice([-1.0, 1.0], size=(Y.shape[1], METRIC_TARGETS))
