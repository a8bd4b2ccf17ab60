"""Auto on encoded tables: the sparse experts as columns, as members of a pool, as inputs of its stackers."""

from __future__ import annotations

import numpy as np

from mixed.reading import MixedTable
from nystream import Auto
from nystream.auto.learner import CODE_BOUNDS
from nystream.auto.stack import RATES, Stack
from nystream.encoding import Encoder, Encoding
from nystream.learners.token_experts import TokenExperts

__all__ = ["OURS"]

SURE = 10.0
"""Scores of classes beyond count as this in columns and stackers."""
KEEP, RIDGE, FAR = 0.999, 30.0, 5.0
"""Of the pool: what a round keeps of its Hessians, what is added to them, residuals in deviations."""


class Said:
    """A table encoded once, and what the sparse experts say of its rows, each before its label."""

    def __init__(self, table: MixedTable) -> None:
        self.outputs, classes = max(1, table.classes), table.classes > 0
        encoder, experts = Encoder(), TokenExperts(classes)
        encoder.start(table.kinds, self.outputs, classes=classes)
        experts.start(self.outputs)
        self.rows: Encoding = encoder.run(table.columns, table.y)
        self.scores = experts.run(self.rows, table.y[:, None])
        self.names = experts.names

    def of(self, *names: str) -> np.ndarray:
        """(n, experts, C) what these say: predictions; of two classes half the log odds, of more centred scores."""
        chosen = [
            i
            for i, name in enumerate(self.names)
            if name in names or (name.startswith("descent,") and "rates" in names)
        ]
        said = self.scores[:, chosen]
        return said if self.outputs == 1 else np.clip(said[..., 1:] if self.outputs == 2 else said, -SURE, SURE)

    def columns(self) -> np.ndarray:
        """Dense columns and two experts' answers."""
        return np.hstack([self.rows.dense, self.of("descent", "filter").reshape(len(self.scores), -1)])


class StackWithMore(Stack):
    """The stackers have inputs beside the experts and the lags."""

    def start_with(self, experts: int, outputs: int, more: int) -> None:
        super().start(experts, outputs)
        self.stacker_.start(experts + more + len(RATES) * self.lags, outputs)

    def _inputs(self, F: np.ndarray, lags: np.ndarray, shift: np.ndarray, scale: np.ndarray) -> np.ndarray:
        return super()._inputs(np.ascontiguousarray(np.concatenate([F, self.more], axis=1)), lags, shift, scale)


class AutoWithMore(Auto):
    """Auto whose stackers have more inputs: `more` (n, inputs, C) for the rows of the one run that follows."""

    def take(self, more: np.ndarray) -> None:
        self._more, self._at = more, 0

    def _start(self, d: int, outputs: int) -> None:
        super()._start(d, outputs)
        self.stack_ = StackWithMore(self._classes, self.lags)
        self.stack_.start_with(len(self.bank_.names), outputs, self._more.shape[1])

    def _rounds(self, X: np.ndarray, Y: np.ndarray, w: np.ndarray | None) -> np.ndarray:
        more = self._more[self._at : self._at + len(X)]
        self._at += len(X)
        if self.targets_ is None:
            T, (low, high) = self._coded(Y), CODE_BOUNDS
        else:
            Y = self.targets_.admitted(Y)
            T, (low, high) = self.targets_.standardised(Y), self.targets_.extended(Y)
            more = np.clip((more - self._shift) / self._scale, low[:, None], high[:, None])
        F = self._scores(self.bank_.run(X, T, w, (low, high)), low, high)
        self.stack_.more = more
        codes = np.ascontiguousarray(self._codes(T))
        P, _ = self.stack_.run(F, codes, np.ascontiguousarray(Y[:, 0]), w, self._shift, self._scale)
        return self._unscaled(P, low, high)


def automatic(table: MixedTable, X: np.ndarray, more: np.ndarray | None = None) -> np.ndarray:
    """(n, K) predictions, or logarithms of probabilities."""
    task = "classification" if table.classes else "regression"
    learner = Auto(task=task) if more is None else AutoWithMore(task=task)
    if isinstance(learner, AutoWithMore):
        learner.take(more)
    learner.reserve(X.shape[1], max(1, table.classes))
    return learner.run(X, table.y).reshape(len(table), -1)


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
    return answer(table, automatic(table, np.column_stack(parts)))


def dense(table: MixedTable) -> np.ndarray:
    """Auto on the dense encoding alone."""
    return answer(table, automatic(table, Said(table).rows.dense))


def columns(table: MixedTable) -> np.ndarray:
    """Auto on the dense encoding and two experts' answers."""
    return answer(table, automatic(table, Said(table).columns()))


def columns_and_pool(table: MixedTable) -> np.ndarray:
    """The same, pooled with the two experts."""
    said = Said(table)
    own = automatic(table, said.columns())
    F = np.stack([own, *(said.scores[:, said.names.index(name)] for name in ("descent", "filter"))], axis=1)
    if table.classes:
        F -= F.max(axis=2, keepdims=True)
        F -= np.log(np.exp(F).sum(axis=2, keepdims=True))
    return answer(table, pooled(table, np.maximum(F, -30.0) if table.classes else F))


def stacked(table: MixedTable) -> np.ndarray:
    """The experts as inputs of Auto's stackers, each rate and the filter."""
    said = Said(table)
    return answer(table, automatic(table, said.rows.dense, said.of("rates", "filter")))


def columns_and_stacked(table: MixedTable) -> np.ndarray:
    """Both: two experts as columns, four as inputs of the stackers."""
    said = Said(table)
    return answer(table, automatic(table, said.columns(), said.of("rates", "filter")))


OURS = {
    "Auto, ordinal codes": ordinal,
    "Auto, dense": dense,
    "Auto, columns": columns,
    "Auto, columns + pool": columns_and_pool,
    "Auto, stacked": stacked,
    "Auto, columns + stacked": columns_and_stacked,
}
