"""Small streams of sparse rows for the tests of sparse learners."""

from __future__ import annotations

import inspect

import numpy as np
from scipy.sparse import random_array

DRAWN_BY = "rng" if "rng" in inspect.signature(random_array).parameters else "random_state"
"""What SciPy calls the generator; it was renamed in 1.15."""
LABELS = {"squared": "real", "logistic": "sign", "softmax": "class"}


def stream(loss, n=150, d=40, seed=0, outputs=1):
    """Rows of few columns, and labels of the loss's kind that depend on them."""
    rng = np.random.default_rng(seed)
    X = random_array((n, d), density=0.15, format="csr", data_sampler=rng.standard_normal, **{DRAWN_BY: rng})
    f = X @ rng.normal(size=d) + 0.3 * rng.normal(size=n)
    if loss == "squared":
        return X, (50 + 7 * f if outputs == 1 else np.column_stack([(k + 1) * f - k for k in range(outputs)]))
    return X, np.where(f > 0, 1.0, -1.0) if loss == "logistic" else np.digitize(f, [-1.0, 0.0, 1.0]).astype(float)


def as_lists(X):
    X = X.tocsr()
    return [
        list(zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True))
        for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]
