"""The learner's abilities, asked with rows of a table."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from nystream import persist
from nystream.auto.changes import Listener, Listeners
from nystream.data.plain import Plain
from nystream.data.schema import Schema
from nystream.learners.abilities import ABILITIES
from nystream.learners.base import Learner
from nystream.model.recent import Recent
from nystream.runtime.params import Params, checked_ahead
from nystream.runtime.types import Array

__all__ = ["Forwarded"]

OWN = frozenset(ABILITIES) - {"add_outputs"}
"""Abilities that a model hands on; outputs are added by its classes."""


class Forwarded(Params):
    """What a model hands on to its learner: rows become the learner's inputs, classes come in the model's order.

    A learner without the ability refuses it, in words that name learners that have it (`Unable`).
    """

    learner_: Learner | None
    schema_: Schema | None
    classes_: list[Any]
    counts_: list[int]
    encoder_: Any
    recent_: Recent | None
    n_unlabelled_: int
    n_misfits_: int
    _listeners: Listeners

    # -- what a model gives ------------------------------------------------------------------------------------------
    @property
    def inner(self) -> Learner:
        """The learner inside."""
        raise NotImplementedError

    @property
    def classes(self) -> list[Any]:
        """Names of the classes so far."""
        raise NotImplementedError

    def inputs(self, rows: Any) -> Array:
        """The numbers (n, d) that the learner gets for rows now."""
        raise NotImplementedError

    def _inputs(self, rows: Any) -> Any:
        """The same; many rows of other numbers are still to be converted."""
        raise NotImplementedError

    # -- what is known of it -------------------------------------------------------------------------------------------
    @property
    def n_seen(self) -> int:
        """Rows learnt."""
        return 0 if self.learner_ is None else self.learner_.n_seen

    @property
    def n_unlabelled(self) -> int:
        """Rows that `run` and `step` predicted and did not learn, because they had no label."""
        return self.n_unlabelled_

    @property
    def n_misfits(self) -> int:
        """Values of learnt rows that did not fit their columns and count as missing (on_error="missing")."""
        return self.n_misfits_

    @property
    def size(self) -> int:
        """Stored points or features of the learner."""
        return 0 if self.learner_ is None else self.learner_.size

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that the model holds."""
        kept = 0 if self.recent_ is None else self.recent_.nbytes
        return 0 if self.learner_ is None else self.learner_.nbytes + int(self.encoder_.nbytes) + kept

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, atomically; `nystream.load` goes on bit for bit."""
        persist.save(self, path)

    def to_bytes(self) -> bytes:
        """The model in the format of `save`; `nystream.from_bytes` reads it."""
        return persist.to_bytes(self)

    # -- abilities of rows -------------------------------------------------------------------------------------------
    def probabilities(self, rows: Any, ahead: int | None = None) -> Array:
        """(n, K) probabilities of the classes in the order of `classes`, rows summing to 1. `ahead` as in `predict`."""
        return self._probabilities(self.inputs(rows), checked_ahead(ahead))

    def _probabilities(self, X: Array, ahead: int | None = None) -> Array:
        P = self.inner.probabilities(X, ahead)
        k = len(self.classes)  # the learner may have room for more, or declared ones may not have reached it
        if P.shape[1] == k:
            return P
        P = P[:, :k] if P.shape[1] >= k else np.hstack([P, np.zeros((len(P), k - P.shape[1]))])
        total = P.sum(axis=1, keepdims=True)
        return np.where(total > 0, P / np.where(total > 0, total, 1.0), 1 / max(k, 1))

    def predict_interval(self, rows: Any, coverage: float = 0.9, ahead: int | None = None) -> tuple[Array, Array]:
        """Ends, shaped as predictions, of intervals that cover this share of the labels to come.

        `ahead` as in `predict`: None for some later row, 1 for the next one.
        """
        return self.inner.predict_interval(self.inputs(rows), coverage, checked_ahead(ahead))

    def predict_quantile(self, rows: Any, q: Any, ahead: int | None = None) -> Array:
        """What a share q of the labels of such rows are below, shaped as predictions; of several q one more axis.

        `ahead` as in `predict`.
        """
        return self.inner.predict_quantile(self.inputs(rows), q, checked_ahead(ahead))

    def std(self, rows: Any) -> Array:
        """Predictive standard deviations, shaped as predictions."""
        return self.inner.std(self.inputs(rows))

    def leverage(self, rows: Any) -> Array:
        """(n,) large where nothing like the row was seen."""
        return self.inner.leverage(self.inputs(rows))

    def averaged(self, rows: Any) -> Array:
        """Outputs of the mean of all hypotheses so far: (n,), or (n, K) for several."""
        return self.inner.averaged(self.inputs(rows))

    # -- abilities of what was learnt --------------------------------------------------------------------------------
    def regret(self) -> float:
        """Cumulative loss minus that of the best in hindsight."""
        return self.inner.regret()

    def regret_bound(self, norm2: float | None = None, *, changes: int = 0, against: str = "features") -> float:
        """What the regret cannot exceed; see `nystream.learners.abilities.Abilities.regret_bound`."""
        return self.inner.regret_bound(norm2, changes=changes, against=against)

    def log_det(self) -> float:
        """log det(A / lam) of the matrix that the learner keeps."""
        return self.inner.log_det()

    def effective_dimension(self) -> float:
        """How many directions the data really has at this ridge."""
        return self.inner.effective_dimension()

    def online_dimension(self) -> float:
        """Sum over rounds of s/(1 + s), s the leverage of the row when it arrived."""
        return self.inner.online_dimension()

    def weights(self) -> dict[str, float]:
        """Shares of the parts, experts say, in the next prediction, by name; they sum to 1."""
        return self.inner.weights()

    def alarms(self, *, warnings: bool = False) -> list[Any]:
        """Drift alarms, in order: row, estimated change point, cause, columns and outcome; `str` tells them in words.

        With `warnings` the list has shifts of the inputs too that the loss did not confirm (`level` is "warning").
        """
        records = self.inner.alarms(warnings=warnings)
        if not isinstance(self.encoder_, Plain):
            return records
        names = self.encoder_.columns  # the learner knows numbers by their places

        def named(columns: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(names[int(place)] if place.isdigit() else place for place in columns)

        return [alarm._replace(columns=named(alarm.columns)) for alarm in records]

    def on_alarm(self, callback: Listener, *, warnings: bool = False) -> Listener:
        """Call `callback(alarm)` at every drift alarm from now on, and at warnings too if `warnings`.

        `alarm` is a record as in `alarms()`. The callback is called when the `step` or `run` that raised the alarm has
        learnt its rows; if it raises, the exception comes out of that call, and the model has learnt the rows. It
        is not saved with the model. Returns the callback, so that this can be a decorator.
        """
        self.inner._require("alarms")
        self._listeners.add(callback, warnings=warnings, row=self.n_seen)
        return callback

    def _announce(self) -> None:
        if self.learner_ is not None:
            self._listeners.announce(self.alarms(warnings=True), self.n_seen)

    # -- asking ------------------------------------------------------------------------------------------------------
    @property
    def link(self) -> str | None:
        """What makes probabilities of scores, where these are log odds: see `nystream.learners.links`."""
        return self.inner.link

    def can(self, ability: str) -> bool:
        """Whether the learner, for this task and with its parameters, has the ability of that name."""
        return self.inner.can(ability) and ability in OWN

    @property
    def abilities(self) -> frozenset[str]:
        """The names of all abilities that this model has."""
        return self.inner.abilities & OWN
