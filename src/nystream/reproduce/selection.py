"""Choose settings on a prefix that is never reported, by a grid that grows where its best value is at an edge."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product

__all__ = ["Choice", "Grid", "choose"]

Grid = Mapping[str, tuple[float, ...]]
"""Values of each parameter, in increasing order."""
EXTENSIONS = 3
"""How often an axis may grow."""


@dataclass(frozen=True)
class Choice:
    """The best setting, its score, how many were tried, and the parameters whose best value is still at an edge."""

    setting: dict[str, float]
    score: float
    tried: int
    edges: tuple[str, ...]

    def text(self) -> str:
        """Return the setting as text, such as "eta 0.3, lam 0*"; a star marks an edge."""
        return ", ".join(f"{k} {v:.3g}{'*' if k in self.edges else ''}" for k, v in self.setting.items())


def choose(
    score: Callable[[dict[str, float]], float], grid: Grid, *, fixed: tuple[str, ...] = (), extensions: int = EXTENSIONS
) -> Choice:
    """Return the setting with the lowest score over the grid, which is extended while the best value is at an edge.

    An axis of positive values goes on by the ratio of its last two values; a value of 0 is a natural end. Settings that
    fail (ValueError, a score that is not finite) count as infinitely bad.

    Parameters
    ----------
    score : callable
        From a setting to a number, lower is better; it must look at a prefix only.
    grid : mapping
        Axes; all methods of one comparison should have grids of the same size.
    fixed : tuple of str
        Axes that must not grow.
    extensions : int
        How often an axis may grow.
    """
    axes = {name: tuple(values) for name, values in grid.items()}
    known: dict[tuple[float, ...], float] = {}
    for left in range(extensions, -1, -1):
        for values in product(*axes.values()):
            if values not in known:
                known[values] = _score(score, dict(zip(axes, values, strict=True)))
        best = min(known, key=lambda values: known[values])
        setting = dict(zip(axes, best, strict=True))
        following = ((name, _beyond(axes[name], value)) for name, value in setting.items() if name not in fixed)
        beyond = {name: value for name, value in following if value is not None}
        if not beyond or left == 0:
            break
        for name, value in beyond.items():
            axes[name] = tuple(sorted({*axes[name], value}))
    if not math.isfinite(known[best]):
        raise ValueError(f"no setting of {dict(grid)} gave a finite score")
    return Choice(setting, known[best], len(known), tuple(beyond))


def _score(score: Callable[[dict[str, float]], float], setting: dict[str, float]) -> float:
    try:
        value = float(score(setting))
    except ValueError:
        return math.inf
    return value if math.isfinite(value) else math.inf


def _beyond(values: tuple[float, ...], best: float) -> float | None:
    """Return the next value past the edge that is best; None inside, at 0, or with a single value."""
    positive = [v for v in values if v > 0]
    if len(positive) < 2 or best <= 0:
        return None
    if best == values[-1]:
        return best * positive[-1] / positive[-2]
    if best == values[0]:
        return best * positive[0] / positive[1]
    return None
