"""Auto on tables, beside other ways to give it the sparse experts: as columns alone, as members of a pool."""

from __future__ import annotations

import numpy as np

from mixed.reading import MixedTable
from nystream import Auto, Encoded
from nystream.data.batch import Batch
from nystream.learners import Learner
from nystream.learners.translator import Translator

__all__ = ["OURS"]

KEEP, RIDGE, FAR = 0.999, 30.0, 5.0
"""Of the pool: what a round keeps of its Hessians, what is added to them, residuals in deviations."""


def scores(table: MixedTable, learner: Learner, X: object = None) -> np.ndarray:
    """(n, K) predictions, or logarithms of probabilities."""
    rows = Batch(table.columns, table.kinds) if X is None else X
    if table.classes:
        learner = learner.for_classes()
        learner.reserve_for(rows, table.classes) if X is None else learner.reserve(X.shape[1], table.classes)
    return learner.run(rows, table.y).reshape(len(table), -1)


def answer(table: MixedTable, P: np.ndarray) -> np.ndarray:
    return P.argmax(axis=1).astype(float) if table.classes else P[:, 0]


def pooled(table: MixedTable, F: np.ndarray) -> np.ndarray:
    """Models F (n, M, K), logarithms of probabilities or predictions, weighed by online Newton; the first begins."""
    M = F.shape[1]
    w, H, out = np.eye(M)[0], np.zeros((M, M)), np.empty((len(F), F.shape[2]))
    mean, squares = 0.0, 0.0
    for t, f in enumerate(F):
        if table.classes:
            out[t] = w @ f
            p = np.exp(out[t] - out[t].max())
            p /= p.sum()
            gain, middle = f @ (np.eye(len(p))[int(table.y[t])] - p), f @ p
            curve = (f * p) @ f.T - np.outer(middle, middle)
        else:
            out[t] = mean + w @ (f - mean)
            scale = np.sqrt(squares / t) if t and squares > 0 else 1.0
            away = (f[:, 0] - mean) / scale
            gain, curve = away * np.clip((table.y[t] - out[t, 0]) / scale, -FAR, FAR), np.outer(away, away)
            gap = table.y[t] - mean
            mean += gap / (t + 1)
            squares += gap * (table.y[t] - mean)
        H = KEEP * H + curve
        w = w + np.linalg.solve(H + RIDGE * np.eye(M), gain)
    return out


def ordinal(table: MixedTable) -> np.ndarray:
    """Auto on ordinal codes: levels numbered as they appear, seconds for times, text dropped."""
    parts = []
    for name, kind in table.kinds.items():
        values = table.columns[name]
        if kind == "number":
            parts.append(values)
        elif kind == "category":
            codes: dict[str | None, int] = {}
            parts.append(np.array([float(codes.setdefault(v, len(codes))) for v in values]))
        elif kind == "time":
            seconds = values.astype("datetime64[s]").astype(float)
            parts.append(np.where(np.isnat(values), np.nan, seconds))
    return answer(table, scores(table, Auto(), np.column_stack(parts)))


def product(table: MixedTable) -> np.ndarray:
    """Auto as users have it: two sparse experts as columns, four as inputs of the stackers, all within its memory."""
    return answer(table, scores(table, Auto()))


def dense(table: MixedTable) -> np.ndarray:
    """Auto on the dense encoding alone."""
    return answer(table, scores(table, Encoded(Auto())))


def columns(table: MixedTable) -> np.ndarray:
    """Auto on the dense encoding and two experts' answers."""
    return answer(table, scores(table, Encoded(Auto(), experts=True)))


def columns_and_pool(table: MixedTable) -> np.ndarray:
    """The same, pooled with the two experts."""
    own = scores(table, Encoded(Auto(), experts=True))
    translator = Translator(table.classes > 0)
    translator.start(table.kinds, max(1, table.classes))
    assert translator.encoder_ is not None
    assert translator.experts_ is not None
    encoded = translator.encoder_.run(table.columns, table.y)
    said = translator.experts_.run(encoded.plain, encoded.tokens, table.y[:, None])
    names = translator.experts_.names
    F = np.stack([own, *(said[:, names.index(name)] for name in ("descent", "filter"))], axis=1)
    if table.classes:
        F -= F.max(axis=2, keepdims=True)
        F -= np.log(np.exp(F).sum(axis=2, keepdims=True))
    return answer(table, pooled(table, np.maximum(F, -30.0) if table.classes else F))


OURS = {
    "Auto": product,
    "Auto, ordinal codes": ordinal,
    "Auto, dense": dense,
    "Auto, columns": columns,
    "Auto, columns + pool": columns_and_pool,
}
