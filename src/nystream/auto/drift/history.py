"""History: predictions and losses of incumbent, candidate and mixture for the last rows, by row number."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from nystream.auto.drift.mixture import LEAST
from nystream.auto.drift.promotion import LOOK_BACK
from nystream.auto.rows import Learnt
from nystream.runtime.params import Params, at_least
from nystream.runtime.types import Array

__all__ = ["History", "Past"]

SURE_SCORE = 10.0
"""Sparse experts give a class that they did not know minus this score."""
KNOWN, USUAL = 50, 500
"""Losses before a change that say what was usual for the incumbent: at least and at most so many."""


class Past(Params):
    """Keeps the last `size` rows of `width` numbers; rows that were never stored are 0.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.auto.drift.history import Past
    >>> past = Past(3, 1)
    >>> past.put(0, np.arange(5.0)[:, None])
    >>> past.get(3, 5).ravel().tolist()
    [3.0, 4.0]
    """

    def __init__(self, size: int, width: int) -> None:
        self.size = at_least("size", size, 1)
        self.width = at_least("width", width, 0)
        self.store_ = np.zeros((size, width))

    def put(self, row: int, values: Array) -> None:
        """Store rows from this number on."""
        if len(values) == 1:
            self.store_[row % self.size] = values[0]
            return
        skip = max(0, len(values) - self.size)
        self.store_[np.arange(row + skip, row + len(values)) % self.size] = values[skip:]

    def get(self, begin: int, end: int) -> Array:
        """Return a copy of rows `begin` to `end` - 1, in order."""
        return self.store_[np.arange(begin, end) % self.size]

    def resized(self, size: int, end: int, change: Callable[[Array], Array]) -> Past:
        """Return the last rows before row `end`, at most `size` of them, changed to other numbers."""
        begin = max(0, end - min(size, self.size))
        rows = change(self.get(begin, end))
        past = Past(size, rows.shape[1])
        past.put(begin, rows)
        return past

    @property
    def nbytes(self) -> int:
        return self.store_.nbytes


class History(Params):
    """Predictions and losses of the last rows, and outputs of the sparse experts.

    Parameters
    ----------
    classes : bool
    size : int
        Rows of predictions and outputs that are kept.
    losses : int
        Rows of losses that are kept, at least.
    """

    losses_: Past
    """Losses of the incumbent, the candidate, and what was predicted."""
    incumbent_: Past
    """Predictions of the incumbent; for targets, beside them those of its experts that never forget."""
    candidate_: Past
    """The same of the candidate."""
    answers_: Past | None
    """Outputs of the sparse experts; None: there are none."""

    def __init__(self, classes: bool, size: int, losses: int) -> None:
        self.classes = classes
        self.size = at_least("size", size, 1)
        self.losses = at_least("losses", losses, 1)

    def start(self, outputs: int, answers: tuple[int, int] | None) -> None:
        """Begin for so many targets or classes, and sparse experts with outputs of this shape."""
        self.outputs_ = outputs
        self.losses_ = Past(max(self.size, self.losses), 3)
        width = outputs * (1 if self.classes else 2)
        self.incumbent_, self.candidate_ = Past(self.size, width), Past(self.size, width)
        self.answers_ = None if answers is None else Past(self.size, answers[0] * answers[1])

    # -- writing -----------------------------------------------------------------------------------------------------
    def put_incumbent(self, row: int, side: Learnt, answers: Array | None) -> None:
        """Store predictions of the incumbent, and outputs of the sparse experts, from a row on."""
        self.incumbent_.put(row, _stored(side))
        self.put_answers(row, answers)

    def put_answers(self, row: int, answers: Array | None) -> None:
        if self.answers_ is not None and answers is not None:
            self.answers_.put(row, answers.reshape(len(answers), -1))

    def put_candidate(self, row: int, side: Learnt, losses: Array | None = None) -> None:
        """Store predictions of the candidate, and its losses if the other losses of these rows are stored."""
        self.candidate_.put(row, _stored(side))
        if losses is not None:
            all_losses = self.losses_.get(row, row + len(losses))
            all_losses[:, 1] = losses
            self.losses_.put(row, all_losses)

    def promote(self) -> None:
        """Exchange the rows of candidate and incumbent."""
        self.incumbent_, self.candidate_ = self.candidate_, self.incumbent_
        self.losses_.store_[:, :2] = self.losses_.store_[:, 1::-1].copy()

    # -- reading -----------------------------------------------------------------------------------------------------
    def predictions(self, begin: int, end: int) -> tuple[Array, Array | None]:
        """Return predictions of the incumbent, and for targets those of its experts that never forget."""
        own, K = self.incumbent_.get(begin, end), self.outputs_
        return own[:, :K], None if self.classes else own[:, K:]

    def answers(self, begin: int, end: int, many: int) -> Array | None:
        """Return the outputs of so many sparse experts for rows `begin` to `end` - 1."""
        return None if self.answers_ is None else self.answers_.get(begin, end).reshape(end - begin, many, -1)

    def incumbent_losses(self, begin: int, end: int) -> Array:
        return self.losses_.get(begin, end)[:, 0]

    def compared(self, t: int) -> tuple[Array, Array, Array]:
        """Return the losses of incumbent, candidate and mixture over the last rows up to t."""
        losses = self.losses_.get(t - min(t, LOOK_BACK), t)
        return losses[:, 0], losses[:, 1], losses[:, 2]

    def usual_squares(self, labels: Array, since: int, begun: int) -> Array | None:
        """Return (K,) mean squared losses of the incumbent, which began at row `begun`, over the last rows before row
        `since`. `labels`: labels of these rows.
        """
        n = min(len(labels), since - begun, USUAL)
        if self.classes or n < KNOWN:
            return None
        P = self.incumbent_.get(since - n, since)[:, : labels.shape[1]]
        return np.asarray(((P - labels[len(labels) - n :]) ** 2).mean(axis=0))

    # -- classes -----------------------------------------------------------------------------------------------------
    def grow(self, outputs: int, size: int, end: int) -> None:
        """Add classes, and keep so many rows before row `end`."""
        new, C = outputs - self.outputs_, 1 if self.outputs_ == 2 else self.outputs_
        self.outputs_ = outputs
        self.incumbent_ = self.incumbent_.resized(size, end, lambda rows: _with_classes(rows, new))
        self.candidate_ = self.candidate_.resized(size, end, lambda rows: _with_classes(rows, new))
        if self.answers_ is not None:
            self.answers_ = self.answers_.resized(size, end, lambda rows: _with_scores(rows, C, new))

    @property
    def nbytes(self) -> int:
        parts = (self.losses_, self.incumbent_, self.candidate_, self.answers_)
        return sum(part.nbytes for part in parts if part is not None)


def _stored(side: Learnt) -> Array:
    return side.P if side.core is None else np.hstack([side.P, side.core])


def _with_classes(rows: Array, new: int) -> Array:
    """Return logarithms of probabilities with columns for new classes."""
    return np.pad(rows, ((0, 0), (0, new)), constant_values=math.log(LEAST))


def _with_scores(rows: Array, C: int, new: int) -> Array:
    """Return scores (n, experts times C), with C = 1 for two classes, with columns for new classes."""
    known = rows.reshape(len(rows), -1, C)
    known = np.concatenate([-known, known], axis=2) if C == 1 else known
    return np.pad(known, ((0, 0), (0, 0), (0, new)), constant_values=-SURE_SCORE).reshape(len(rows), -1)
