"""The learners that need no parameter, small enough that their warm-up ends within a stream of the laws."""

from nystream.auto.learner import Auto
from nystream.auto.recipe import Recipe
from nystream.learners.baseline import Baseline

SMALL = Recipe((1, 2, 5, 14, 40), landmarks=8, big=16, small=6, ring=20, refresh=15, window=15, metric=30)
SMALL_AUTO = Auto(recipe=SMALL, seed=3)

VARIANTS = {
    "auto": {"classes": Auto(recipe=SMALL, task="classification"), "warming up": Auto(lags=False)},
    "baseline": {f"warm-up of {rows}": Baseline(dim=30, warmup=rows) for rows in (1, 25, 70, 500)},
}
