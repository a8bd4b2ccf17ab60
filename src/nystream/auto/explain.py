"""The automatic learner in words: which experts carry its prediction now, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nystream.auto.bank import VIEW_TITLES

if TYPE_CHECKING:
    from nystream.auto.learner import Auto

__all__ = ["explanation"]

LAGS = ("the last label", "mean of about the last 10 labels", "mean of about the last 100 labels")
"""Inputs of the stack beside the experts."""


def explanation(model: Auto) -> str:
    """Some lines of text; see `Auto.explain`."""
    if not model.d_:
        return "Auto has seen no row yet."
    bank, stack = model.bank_, model.stack_
    recipe, names = bank.recipe, bank.names
    lines = [f"{model.task} on {model.d_} columns, {model.n_seen:,} rows, {model.nbytes / 1e6:.1f} MB"]
    if model.count_ < recipe.warmup:
        soon = min(r for r in recipe.rebuilds if r > model.count_)
        lines.append(f"warming up: all is fitted anew after {soon:,} rows, for the last time after {recipe.warmup:,}")
    else:
        lines.append(f"landmarks frozen; what follows the stream is refreshed every {model._every:,} rows")
    if "big" in bank.seen_in_:
        view = VIEW_TITLES[bank.seen_in_["big"]]
        lines.append(f"inputs of the expert with the most landmarks: {view}, which did best in the warm-up")
    if len(bank.holes_):
        known = None if model.translator_ is None else model.translator_.layout_
        holes = ", ".join(str(j) if known is None else known[j] for j in bank.holes_.tolist())
        lines.append(f"values were missing in columns {holes}: they count as the mean, with an indicator")
    weights = stack.weights().mean(axis=1)
    recent = np.r_[stack.recent_[0], np.full(len(weights) - len(names), np.nan)]
    inputs = [*model.titles(), *(LAGS if model.lags else ())]
    lines.append(f"{'weight':>7} {'recent loss':>12}  of")
    for i in np.argsort(-np.abs(weights), kind="stable"):
        loss = f"{recent[i]:12.4f}" if np.isfinite(recent[i]) else " " * 12
        lines.append(f"{weights[i]:7.3f} {loss}  {inputs[i]}")
    shares = stack.member_shares_.mean(axis=0)
    members = [f"keeps {decay:g} a row, ridge {lam:g}" for decay, lam in stack.stacker_.members]
    best = int(shares.argmax())
    what = f"the stacker that {members[best]}" if best < len(members) else "plain aggregation of the experts"
    lines.append(f"the mixture gives {shares[best]:.0%} to {what}")
    return "\n".join(lines)
