"""Predictions of several models for the same rows: cut, joined, and how far they disagree."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from nystream._core.auto import drift as compiled
from nystream._core.auto.drift import spread_of_two
from nystream.auto.drift.mixture import LEAST
from nystream.auto.ensemble import Ensemble
from nystream.auto.rows import Learnt, Rows, part_of
from nystream.runtime.types import Array

__all__ = [
    *("LOG_LEAST", "Side", "concatenate", "join", "last_rows", "learn", "learn_in_blocks", "losses_of", "part_of_side"),
    *("rest_of", "spread_of"),
]

LOG_LEAST = math.log(LEAST)
Side: TypeAlias = tuple[Array, Array | None]
"""Predictions (n, K), and for targets the experts' disagreement."""


def spread_of(P: Array, share: Array, old: Side, young: Side) -> Array | None:
    """Return the disagreement of the experts of both models and between the models; `share` (n, G) is the
    incumbent's.
    """
    (A, a), (B, b) = old, young
    if a is None or b is None:
        return None
    return spread_of_two(P, share, A, a, B, b)


def losses_of(ensemble: Ensemble, P: Array, Y: Array) -> Array:
    """Return (n,) log losses, or squared errors; of several targets the mean in units of their variances."""
    targets = ensemble.targets_
    P, Y = np.ascontiguousarray(P), np.ascontiguousarray(Y)
    return compiled.losses_of(P, Y, None if targets is None else targets.scale_, LOG_LEAST)


def learn(ensemble: Ensemble, rows: Rows, answers: Array | None) -> tuple[Learnt, Array]:
    """Let an ensemble learn rows. Return its predictions, and the labels as they were learnt."""
    Y = ensemble.admitted(rows.Y)
    return ensemble.learn(Rows(rows.X, Y, rows.w), answers), Y


def learn_in_blocks(frozen: Ensemble, rows: Rows, answers: Array | None) -> tuple[Learnt, Array]:
    """Do the same for many rows of an ensemble that is never refitted."""
    cuts = range(0, len(rows.X), frozen.rows_at_once)
    parts = [slice(i, i + frozen.rows_at_once) for i in cuts]
    found = [learn(frozen, part_of(rows, p), None if answers is None else answers[p]) for p in parts]
    return concatenate([one for one, _ in found]), np.concatenate([Y for _, Y in found])


def concatenate(parts: list[Learnt]) -> Learnt:
    """Return consecutive parts as one."""
    return Learnt(*(_concatenated(some) for some in zip(*parts, strict=True)))  # type: ignore[arg-type]


def _concatenated(parts: tuple[Array | None, ...]) -> Array | None:
    some = [part for part in parts if part is not None]
    return np.concatenate(some) if some else None


def last_rows(side: Learnt, n: int) -> Learnt:
    """Return the last n rows, with rows of 0 before them where there are fewer."""
    missing = max(0, n - len(side.P))
    found = (None if A is None else np.pad(A[-n:], ((missing, 0), (0, 0))[: A.ndim]) for A in side)
    return Learnt(*found)  # type: ignore[arg-type]


def join(first: Side, then: Side, row: int) -> Side:
    """Return the rows of one part before `row`, and another part."""
    P = np.concatenate([first[0][:row], then[0]])
    return P, None if first[1] is None or then[1] is None else np.concatenate([first[1][:row], then[1]])


def rest_of(side: Learnt, row: int) -> Side:
    """Return the predictions from a row on."""
    return part_of_side(side, slice(row, None))


def part_of_side(side: Learnt, part: slice) -> Side:
    """Return the predictions for some rows."""
    return side.P[part], None if side.spread is None else side.spread[part]
