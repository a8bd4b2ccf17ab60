"""Running errors of a model's predictions, relative to a constant prediction."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nystream.model.labels import Scores
from nystream.runtime.types import Array

__all__ = ["Score", "add_class", "add_row", "add_rows", "add_scores", "describe"]

Score = dict[str, Any]
"""Sums over the rows after the first label that had a label. Of numbers: `rows`, and lists with one number for each
target: `squares` (of errors), `origin` (a label), `sums` and `sums2` (of labels less the origin, and of their squares).
Of classes: `rows`, `mistakes`, and `counts` of the classes."""


def add_rows(score: Score | None, scores: Scores, task: str | None) -> Score | None:
    """Return the sums with the rows of a block added. The sums are None before the first block."""
    if task not in ("regression", "classification"):
        return score
    P, Y = scores
    counted = ~(np.isnan(P).any(axis=1) | np.isnan(Y).any(axis=1))
    if not counted.any():
        return score
    P, Y = P[counted], Y[counted]
    if task == "classification":
        return _with_classes(score, P, Y[:, 0].astype(np.intp))
    if score is None:
        none = [0.0] * Y.shape[1]
        score = {"rows": 0, "squares": none, "origin": Y[0].tolist(), "sums": none, "sums2": none}
    moved = Y - score["origin"]
    parts = {"squares": (P - Y) ** 2, "sums": moved, "sums2": moved**2}
    # summed in order, so that blocks and single rows give the same bits
    sums = {name: np.vstack([score[name], part]).cumsum(axis=0)[-1].tolist() for name, part in parts.items()}
    return {**score, "rows": score["rows"] + len(Y), **sums}


def _with_classes(score: Score | None, P: Array, classes: Any) -> Score:
    score = score or {"rows": 0, "mistakes": 0, "counts": []}
    counts = np.bincount(classes, minlength=len(score["counts"]))
    counts[: len(score["counts"])] += np.array(score["counts"], dtype=counts.dtype)
    mistakes = score["mistakes"] + int((P.argmax(axis=1) != classes).sum())
    return {"rows": score["rows"] + len(P), "mistakes": mistakes, "counts": counts.tolist()}


def add_row(score: Score | None, answer: float, y: float) -> Score | None:
    """Do `add_rows` for one number, in place."""
    if score is None:
        return add_rows(None, Scores(np.array([[answer]]), np.array([[y]])), "regression")
    error, moved = answer - y, y - score["origin"][0]
    score["rows"] += 1
    score["squares"] = [score["squares"][0] + error * error]
    score["sums"] = [score["sums"][0] + moved]
    score["sums2"] = [score["sums2"][0] + moved * moved]
    return score


def add_class(score: Score | None, predicted: int, k: int) -> Score:
    """Do `add_rows` for one class."""
    if score is None:
        score = {"rows": 0, "mistakes": 0, "counts": []}
    score["counts"] += [0] * (k + 1 - len(score["counts"]))
    score["rows"] += 1
    score["mistakes"] += predicted != k
    score["counts"][k] += 1
    return score


def add_scores(a: Score | None, b: Score | None) -> Score | None:
    """Return the sums over the rows of both scores."""
    if a is None or b is None:
        return a or b
    rows = a["rows"] + b["rows"]
    if "mistakes" in a:
        counts = [x + y for x, y in zip(a["counts"], b["counts"], strict=True)]
        return {"rows": rows, "mistakes": a["mistakes"] + b["mistakes"], "counts": counts}
    moved = [there - here for here, there in zip(a["origin"], b["origin"], strict=True)]
    sums = [x + y + b["rows"] * d for x, y, d in zip(a["sums"], b["sums"], moved, strict=True)]
    more = [y2 + 2 * d * y + b["rows"] * d * d for y2, y, d in zip(b["sums2"], b["sums"], moved, strict=True)]
    sums2 = [x + y for x, y in zip(a["sums2"], more, strict=True)]
    squares = [x + y for x, y in zip(a["squares"], b["squares"], strict=True)]
    return {"rows": rows, "squares": squares, "origin": a["origin"], "sums": sums, "sums2": sums2}


def describe(score: Score | None) -> str:
    """Return the error in words, with that of a constant prediction; "" if none is known."""
    if score is None:
        return ""
    rows = score["rows"]
    if "mistakes" in score:
        share, common = score["mistakes"] / rows, 1 - max(score["counts"]) / rows
        return f"error rate {share:.3g} (always the most common class: {common:.3g})"
    squares = sum(score["squares"]) / rows
    deviations = sum(max(0.0, s2 / rows - (s / rows) ** 2) for s, s2 in zip(score["sums"], score["sums2"], strict=True))
    return f"RMSE {math.sqrt(squares):.4g} (always the mean: {math.sqrt(deviations):.4g})"
