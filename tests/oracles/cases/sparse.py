"""Cases of the linear learners on hashed, sparse rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from nystream.learners import GaussianFilter, SparseLinear
from oracles.cases.base import Case, Trial, stream, weights_for
from oracles.sparse import adagrad, gaussian_filter

KINDS = {"squared": "real", "logistic": "sign", "softmax": "class"}
RATES, PRIOR = (1.0, 3.0), 0.5


def rows_of(X: np.ndarray) -> list[list[tuple[int, float]]]:
    """What is not 0 in each row: column and value."""
    return [[(int(j), float(x[j])) for j in np.flatnonzero(x)] for x in X]


def sparse(rule: str, loss: str, pairs: bool, weighted: bool, seed: int) -> Trial:
    X, y = stream(KINDS[loss], seed)
    X = np.where(np.abs(X) < 0.3, 0.0, X)
    K = 4 if loss == "softmax" else 1
    weights = weights_for(seed) if weighted else None
    if rule == "adagrad":
        expected = adagrad(rows_of(X), y, loss, K, RATES, pairs=pairs, weights=weights)
        model: Any = SparseLinear(loss, rates=RATES, pairs=pairs)
    else:
        expected = gaussian_filter(rows_of(X), y, loss, K, PRIOR, pairs=pairs, weights=weights)
        model = GaussianFilter(loss, prior=PRIOR, pairs=pairs)
    return Trial(partial(_reserved, model, X.shape[1], K), X, y, expected if K > 1 else expected[:, 0], weights)


def _reserved(model: Any, d: int, outputs: int) -> Any:
    fresh = model.clone()
    fresh.reserve(d, outputs)
    return fresh


def cases() -> Iterator[Case]:
    for rule, loss, pairs, weighted in product(("adagrad", "filter"), KINDS, (False, True), (False, True)):
        setting = "repeats, zeros" + (", weights and zeros" if weighted else "")
        learner = "SparseLinear" if rule == "adagrad" else "GaussianFilter"
        text = "pairs" if pairs else "single"
        yield Case("first", learner, text, loss, setting, 1e-9, partial(sparse, rule, loss, pairs, weighted))


CASES = list(cases())
