"""What a bank of experts takes in bytes, from its recipe alone."""

from __future__ import annotations

from nystream.auto.big import Big
from nystream.auto.experts import Decaying, Linear, Ridge, Window
from nystream.auto.recipe import Recipe
from nystream.auto.rough import Rough, sizes
from nystream.auto.view import View
from nystream.features.metric import LearnedMetric
from nystream.features.scales import LearnedScales
from nystream.runtime.params import Params

__all__ = ["CANDIDATES", "LAMS", "LARGE", "METRIC_TARGETS", "Footprint"]

LAMS = (0.01, 0.1)
"""Ridges that compete in the tournament; the experts have the first."""
CANDIDATES = {
    "std": ("std", 1.0),
    "std/2": ("std", 0.5),
    "ag": ("ag", 1.0),
    "ag/2": ("ag", 0.5),
    "glob": ("glob", 0.7),
    "log+ag": ("log", 1.0),
}
"""Competitors: view and width factor. Those with a slash are the half-width siblings of others."""
LARGE = ("big", "rough", "change")
METRIC_TARGETS = 64
"""Targets that a metric is learnt from, at most."""


class Footprint(Params):
    """Bytes of a bank for rows of d columns and so many targets or, with `codes`, classes, beforehand."""

    @classmethod
    def fit_nbytes(cls, recipe: Recipe, d: int, outputs: int, *, codes: bool) -> float:
        """Bytes while a rebuild fits views, and then the large experts."""
        r, K, targets = recipe, outputs + codes, min(outputs, METRIC_TARGETS)
        block = cls._block_nbytes(r, d, outputs, K)
        rough = cls._rough_nbytes(r, d, K)
        moments = [cls._big_nbytes(r, d, K) + Big.fit_nbytes(_landmarks(r, "big"), K)]
        moments += [Rough.fit_nbytes(min(_landmarks(r, name), r.warmup), K) for name in ("rough", "change")]
        scales = LearnedScales.fit_nbytes(*sizes(r.metric, d), d, targets) if rough else 0.0
        view = max(View.fit_nbytes(r.warmup, d, r.metric, targets, r.full), scales)
        return max(view, rough + block + max(moments))

    @classmethod
    def racing_nbytes(cls, recipe: Recipe, d: int, outputs: int, *, codes: bool) -> float:
        """Bytes of all experts and competitors in the warm-up, and of what is handled at a time."""
        r, K, race = recipe, outputs + codes, "big" in recipe.living
        racers = len(CANDIDATES) if race else sum(name in CANDIDATES for name in r.living)
        ridges = racers * Ridge.nbytes_for(r.landmarks, d, K, len(LAMS) if race else 1)
        moment = max(cls._block_nbytes(r, d, outputs, K), Ridge.width_nbytes(max(_landmarks(r, "big"), r.landmarks)))
        large = cls._big_nbytes(r, d, K) + cls._rough_nbytes(r, d, K)
        return large + ridges + cls._following_nbytes(r, d, K) + moment

    @classmethod
    def refresh_nbytes(cls, recipe: Recipe, d: int, outputs: int, *, codes: bool) -> float:
        """Bytes after the warm-up, with what a refresh needs for a moment."""
        r, K = recipe, outputs + codes
        view = View.fit_nbytes(r.ring, d, r.metric, min(outputs, METRIC_TARGETS), r.full)
        return cls.held_nbytes(r, d, outputs, codes=codes) + max(view, cls._block_nbytes(r, d, outputs, K))

    @classmethod
    def held_nbytes(cls, recipe: Recipe, d: int, outputs: int, *, codes: bool) -> float:
        """Bytes after the warm-up, between refreshes."""
        r, K = recipe, outputs + codes
        ridges = sum(name in CANDIDATES for name in r.living) * Ridge.nbytes_for(r.landmarks, d, K)
        return cls._big_nbytes(r, d, K) + cls._rough_nbytes(r, d, K) + ridges + cls._following_nbytes(r, d, K)

    @classmethod
    def frozen_nbytes(cls, recipe: Recipe, d: int, outputs: int, *, codes: bool) -> float:
        """Bytes of what predicts while a rebuild is under way: landmarks, weights, and what follows the stream."""
        r, K = recipe, outputs + codes
        if not r.spread:
            return 0.0
        plain = sum(name in CANDIDATES for name in r.living) * r.landmarks + _landmarks(r, "big")
        rough, change = (min(_landmarks(r, name), r.warmup) for name in ("rough", "change"))
        landmarks = (plain + rough) * (d + K) + change * (d + 4 * K)  # which sees three lags of every target too
        return 8.0 * landmarks + cls._following_nbytes(r, d, K)

    @staticmethod
    def _big_nbytes(r: Recipe, d: int, K: int) -> float:
        return Big.nbytes_for(_landmarks(r, "big"), d, K)

    @staticmethod
    def _rough_nbytes(r: Recipe, d: int, K: int) -> float:
        """Of both experts with a rough kernel; the second sees three lags of every target too."""
        m, c = (min(_landmarks(r, name), r.warmup) for name in ("rough", "change"))
        return Rough.nbytes_for(m, d, K) + (Rough.nbytes_for(c, d + 3 * K, K) if c else 0.0)

    @staticmethod
    def _following_nbytes(r: Recipe, d: int, K: int) -> float:
        """Of what follows the stream: experts that forget, windows, and two metrics."""
        sizes = {
            "ag.99": Decaying.nbytes_for(r.small, K),
            "lin.95": Linear.nbytes_for(d, K, forgets=d <= r.full),
            "win1000": Window.nbytes_for(r.windows[0], d, K),
            "win100": Window.nbytes_for(r.windows[1], d, K),
        }
        return 2 * LearnedMetric.nbytes_for(d, r.full) + sum(sizes.get(name, 0.0) for name in r.living)

    @staticmethod
    def _block_nbytes(r: Recipe, d: int, outputs: int, K: int) -> float:
        """Of the rows that are handled at a time: seen through views, their kernel values, all outputs for them."""
        views = 4 + 2 * ("rough" in r.living)
        return 8.0 * r.rows_at_once(outputs) * (max(_landmarks(r, name) for name in LARGE) + views * d + 40 * K)


def _landmarks(recipe: Recipe, name: str) -> int:
    """Of one of the large experts; 0 where it is not there."""
    return {"big": recipe.big, "rough": recipe.rough, "change": recipe.change}[name] * (name in recipe.living)
