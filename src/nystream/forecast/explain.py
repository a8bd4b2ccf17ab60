"""What a forecaster says of itself: the members that carry each step, and the parts of the next forecast."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from nystream.forecast.smoother import Smoother
from nystream.runtime.types import Array

if TYPE_CHECKING:
    from nystream.forecast.forecaster import Forecaster

__all__ = ["decompose", "explanation"]

SHOWN = 0.05
"""Members are listed from this weight on."""


def decompose(forecaster: Forecaster, X: Any = None) -> dict[str, Array]:
    """Return the parts (H,) of the forecast, which sum to it.

    "level" and "season" come from the first smoother. "calendar" is what the kernel learner adds to these two. "inputs"
    is the difference between its forecasts with X and with missing inputs. Both are multiplied by the weight of the
    kernel member and of the ridges on it. "recent errors" is the rest, which the ridges add.
    """
    engine = forecaster._engine
    smoother = next((m for m in engine.members_ if isinstance(m, Smoother)), None)
    total = forecaster.forecast(X=X)
    n = len(total)
    parts: dict[str, Array] = {}
    if smoother is not None and smoother.count_ >= smoother.cycle_:
        level, season = smoother.parts_ahead(engine.row_)
        parts = {"level": level[0, :n], "season": season[0, :n]}
    else:
        parts = {"level": np.full(n, float(engine.labels_.aged(0)[0]))}
    known = sum(parts.values())
    kernel_name = next((name for name in ("kernel", "shared kernel") if name in engine.names), None)
    if kernel_name is not None:
        weights = forecaster.weights()
        carried = np.sum([w[:n] for name, w in weights.items() if name.endswith("kernel")], axis=0)
        kernel = forecaster._member_forecast(kernel_name, X)
        if np.isfinite(kernel).all():
            blank = kernel if X is None else forecaster._member_forecast(kernel_name, X, blank=True)
            parts["calendar"] = carried * (blank - known)
            if X is not None:
                parts["inputs"] = carried * (kernel - blank)
    parts["recent errors"] = total - sum(parts.values())
    return parts


def explanation(forecaster: Forecaster) -> str:
    """Describe frequency, seasons, and the weights of the members by step, in a few lines."""
    if forecaster.engine_ is None:
        return "The forecaster has learnt nothing yet."
    lines = [f"{forecaster.n_seen:,} rows learnt, forecasts up to {forecaster.horizon} steps ahead."]
    calendar = forecaster.calendar_
    if calendar is not None:
        zone = f", time zone {calendar.zone}" if calendar.zone else ""
        last = forecaster._when(forecaster.rows_ - 1)
        lines.append(f"One row every {calendar.frequency}{zone}; the last one is {last}.")
    lines.append(_seasons(forecaster))
    weights = forecaster.weights()
    for title, steps in _groups(forecaster.horizon):
        shares = {name: float(w[steps].mean()) for name, w in weights.items()}
        listed = sorted(((s, name) for name, s in shares.items() if s >= SHOWN), reverse=True)
        lines.append(f"{title}: " + ", ".join(f"{name} {share:.0%}" for share, name in listed) + ".")
    if forecaster.inputs_ is None:
        parts = decompose(forecaster)
        lines.append("Parts of the next forecast: " + ", ".join(f"{k} {v[0]:,.4g}" for k, v in parts.items()) + ".")
    found = forecaster.score_.overall()
    if found["mae"] == found["mae"]:
        lines.append(_errors(found))
    alarms = forecaster.alarms()
    if alarms:
        count = "One alarm" if len(alarms) == 1 else f"{len(alarms)} alarms"
        lines.append(f"{count}; the last at row {alarms[-1].row:,}.")
    return "\n".join(lines)


def _errors(found: dict[str, float]) -> str:
    """Return the errors so far as a sentence."""
    parts = [
        f"{found['mae'] / found[name]:.0%} of that of the {name} forecast"
        for name in ("seasonal naive", "naive")
        if found[name] > 0
    ]
    text = f"Mean absolute error so far, over all steps: {found['mae']:,.4g}"
    text += f", {', '.join(parts)}" if parts else ""
    covered = found["coverage"]
    return text + (f"; 90% intervals covered {covered:.1%} of the labels." if covered == covered else ".")


def _seasons(forecaster: Forecaster) -> str:
    lengths = forecaster.seasons
    what = " and ".join(map(str, lengths)) + " rows" if lengths else "none"
    if forecaster.season is not None:
        return f"Seasons: {what}, as given."
    origin = "suggested by the timestamps" if forecaster.calendar_ is not None else "found in the labels"
    if forecaster.revised_:
        origin = f"changed at row {forecaster.revised_:,} after a look at the autocorrelation"
    return f"Seasons: {what}" + (f", {origin}." if lengths or forecaster.revised_ else ".")


def _groups(horizon: int) -> list[tuple[str, slice]]:
    """Split the steps into the first eighth, those up to the half, and the rest."""
    cuts = sorted({0, max(1, horizon // 8), max(1, horizon // 2), horizon})
    found = []
    for a, b in pairwise(cuts):
        found.append((f"Steps {a + 1} to {b}" if b > a + 1 else f"Step {b}", slice(a, b)))
    return found
