"""What a learner makes of clean rows, those without a label among them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from nystream.data.inputs import Unconverted
from nystream.learners.base import Learner
from nystream.model.labels import Labels
from nystream.runtime.types import Array

__all__ = ["learnt", "predicted"]


def predicted(learner: Learner, X: Any, ahead: int | None = None) -> Array:
    """Outputs (n, K) for rows, which may be still to be converted; `ahead` as in `Learner.predict`."""
    if not isinstance(X, Unconverted):
        return learner.predict_clean(X, ahead)
    return np.vstack([learner.predict_clean(X[part].numbers(), ahead) for part in X.parts()])


def learnt(learner: Learner, X: Any, labels: Labels, weights: Array | None) -> Array:
    """Outputs (n, K) of the learner, which learns the rows that have a label and predicts the others."""
    Y, parts = labels.Y, []
    X = X.numbers() if isinstance(X, Unconverted) and not learner.takes_parts else X
    for part, labelled in _stretches(labels.there):
        if labelled:
            run: Any = learner.run_unconverted if isinstance(X, Unconverted) else learner.run_clean
            P = run(X[part], Y[part], None if weights is None else weights[part])
        else:
            P = predicted(learner, X[part], 1)
        if not learner.d_ and learner.labels == "real":
            P = np.zeros((len(P), Y.shape[1]))  # nothing is known yet, not even how many outputs there are
        parts.append(P)
    width = max((P.shape[1] for P in parts), default=1)
    return np.vstack([_widened(P, width) for P in parts]) if parts else np.zeros((0, width))


def _stretches(there: Any) -> Iterator[tuple[slice, bool]]:
    """Runs of rows with a label and without."""
    cuts = [0, *(np.flatnonzero(there[1:] != there[:-1]) + 1).tolist(), len(there)]
    for i, j in pairwise(cuts):
        if j > i:
            yield slice(i, j), bool(there[i])


def _widened(P: Array, width: int) -> Array:
    return P if P.shape[1] == width else np.hstack([P, np.full((len(P), width - P.shape[1]), -np.inf)])
