"""The evaluation of one learner: predictions, time, scores and learning."""

from __future__ import annotations

import platform
from collections import deque
from collections.abc import Callable, Sequence
from time import perf_counter, process_time
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from nystream.auto import Auto
from nystream.data.sparse_rows import SparseRows
from nystream.evaluate.metrics.base import Metric
from nystream.evaluate.metrics.meters import Meter, Progress
from nystream.evaluate.result import Column, Result
from nystream.evaluate.tabled import Tabled
from nystream.learners.base import Learner
from nystream.learners.links import LINKS
from nystream.model import Model
from nystream.runtime.threads import is_child
from nystream.runtime.types import Array, LabelKind
from nystream.runtime.version import installed_version

__all__ = ["Snapshot", "Trial"]


@runtime_checkable
class Forecaster(Protocol):
    """The protocol of evaluated learners: a `Learner` or a wrapper of one."""

    def predict(self, X: Any, ahead: int | None = None) -> Array: ...
    def step(self, x: Any, y: Any = None) -> Any: ...
    def run(self, X: Any, Y: Any = None) -> Array: ...
    def can(self, ability: str) -> bool: ...
    @property
    def labels(self) -> LabelKind: ...
    @property
    def link(self) -> str | None: ...


class Snapshot(NamedTuple):
    """The argument of a progress function: name, rows so far, seconds inside the learner, and metrics."""

    name: str
    n: int
    seconds: float
    values: dict[str, float]


class Trial:
    """A learner, its metrics, and its readings so far.

    A learner gets numbers. A `Model` gets tables and labels of any kind; rows without a label are predicted but not
    scored. Without `learn` nothing is learnt. `watch` is called with the outputs of each block.

    With `delay` = k > 0, the label of row t arrives after row t + k was predicted: each row is predicted on arrival
    (`predict`), and then the row k before it is learnt (`step`). If the learner has a parameter `delay` of 0, as `Auto`
    has, and has learnt nothing yet, the parameter is set to k.

    If raw predictions are log odds (by the learner's `link`), probabilities are computed from them. Otherwise they come
    from the learner's `probabilities(X)`, called for each row before its label; a learner with neither raises an error.
    Quantiles come from `predict_quantile`, called in the same way.

    Metrics skip rows that were predicted before the learner had learnt anything, since those predictions are constants.
    Baselines know the labels of these rows.

    If several processes run trials, seconds are processor time.
    """

    def __init__(
        self,
        name: str,
        learner: Learner | Model,
        metrics: Sequence[Metric | Meter],
        delay: int = 0,
        *,
        learn: bool = True,
        watch: Callable[[Array], None] | None = None,
    ) -> None:
        self.name = name
        self.learner = learner
        self.metrics = metrics
        self.delay = delay
        self.learn = learn
        self.watch = watch
        self.n = 0
        self.seconds = 0.0
        self._clock = perf_counter
        if is_child():
            self.seconds_of_the_processor()
        self.readings: list[dict[str, float]] = []
        self._read_at = 0
        self._first_label: int | None = None
        """Row of the first label, where the learner had learnt nothing before."""
        self._pending: deque[tuple[Any, Any]] = deque()
        if delay and learn:
            _expect(learner, delay)
        self._inner: Any = Tabled(learner) if isinstance(learner, Model) else learner
        _check(name, self._inner, metrics)
        self._takes = {metric: metric.takes for metric in metrics if isinstance(metric, Metric)}
        self._titles = {metric: metric.column for metric in self._takes}
        wanted = "probability" in self._takes.values()
        self._odds = LINKS.get(self._inner.link or "") if wanted else None
        self._ask: Callable[[Array], Array] | None = None
        if wanted and self._odds is None:
            self._ask = self._inner.probabilities
        of_quantiles = [metric for metric, takes in self._takes.items() if takes == "quantile"]
        self._levels = sorted({level for metric in of_quantiles for level in metric.levels})
        self._is_together = self._ask is None and not self._levels and not (delay and learn)
        """Whether a block of rows goes to the learner at once."""
        self._gives_labels = isinstance(self._inner, Tabled) and learn and self._inner.labels != "none"
        """Whether the learner returns labels as numbers with its predictions; scores of novelty come without."""

    def seconds_of_the_processor(self) -> None:
        """Measure processor time from now on."""
        self._clock = process_time

    @property
    def takes_numbers(self) -> bool:
        """Whether the labels are quantities to the learner, and not classes."""
        return self._inner.labels == "real"

    def feed(self, X: Any, Y: Any) -> None:
        """Process rows in order: predict, then learn at once or `delay` rows later."""
        n, has_learnt = len(X), bool(self._inner.n_seen)
        Q: Array | None = None
        D: Array | None = None
        if self._is_together and self._gives_labels:
            P, labels = self._timed(self._inner.run_scores, X, Y)
        else:
            labels = self._inner.numbers(X, Y) if isinstance(self._inner, Tabled) else Y
            if self._is_together:
                P = self._at_once(X, Y)
            else:
                P, Q, D = self._one_by_one(X, Y)
        blind = self._blind_rows(labels, n, has_learnt)
        if self._odds is not None:
            Q = self._odds(P[:, None] if P.ndim == 1 else P)
            Q[np.isnan(Q).any(axis=1)] = 1.0 / Q.shape[1]  # nothing was known there: all alike
        if Q is not None and self._inner.labels == "sign":
            Q = Q[:, 1]
        if self.watch is not None:
            self.watch(P)
        if blind:
            self._observe(labels[:blind])
            labels, P = labels[blind:], P[blind:]
            Q, D = (None if A is None else A[blind:] for A in (Q, D))
        if len(P):
            self._score(labels, P, Q, D)
        self.n += n

    def _blind_rows(self, Y: Any, n: int, has_learnt: bool) -> int:
        """Return the number of rows of a block that are predicted before the first label is learnt.

        With a delay these are the rows until that label arrives. Without learning, and without labels, all rows count.
        """
        if not self.learn or self._inner.labels == "none" or Y is None or has_learnt:
            return 0
        if self._first_label is None:
            Y = np.asarray(Y, dtype=np.float64).reshape(n, -1)
            there = np.flatnonzero(~np.isnan(Y).any(axis=1))
            self._first_label = self.n + int(there[0]) if len(there) else None
        if self._first_label is None:
            return n
        return min(n, max(0, self._first_label + self.delay + 1 - self.n))

    def _observe(self, Y: Any) -> None:
        Y = np.asarray(Y, dtype=np.float64)
        there = ~np.isnan(Y.reshape(len(Y), -1)).any(axis=1)
        for metric in self.metrics:
            if isinstance(metric, Metric):
                metric.observe(Y[there])

    def _score(self, Y: Any, P: Array, Q: Array | None, D: Array | None) -> None:
        """Update the metrics with the rows that have a label."""
        if isinstance(self._inner, Tabled):
            there = ~np.isnan(Y).any(axis=1)
            Y, P = Y[there], P[there]
            Q, D = (None if A is None else A[there] for A in (Q, D))
            if not len(Y):
                return
            if self._inner.labels == "none":  # scores are one number a row
                Y, P = Y[:, 0], P[:, 0]
        for metric, takes in self._takes.items():
            if takes == "quantile" and D is not None:
                metric.update(Y, D[..., np.searchsorted(self._levels, metric.levels)])
            else:
                metric.update(Y, P if takes == "prediction" else Q)

    def _at_once(self, X: Any, Y: Any) -> Array:
        P: Array = (
            self._timed(self._inner.run, X, Y) if self.learn else self._timed(self._inner.predict, X, self._ahead)
        )
        return P

    def finish(self) -> None:
        """Learn the rows whose labels were delayed. They are scored already."""
        while self._pending:
            self._timed(self._inner.step, *self._pending.popleft())

    def read(self) -> Snapshot:
        """Record the metrics at this row."""
        progress = Progress(self.n, self.seconds, self.learner)
        values: dict[str, float] = {}
        for metric in self.metrics:
            if isinstance(metric, Metric):
                values[self._titles[metric]] = metric.value
            else:
                values |= metric.readings(progress)
        if not self.is_read:
            self.readings.append({"n": float(self.n), **values})
            self._read_at = self.n
        return Snapshot(self.name, self.n, self.seconds, values)

    def result(self, **meta: Any) -> Result:
        """Return the readings, with what is known of their origin."""
        names = dict.fromkeys(name for reading in self.readings for name in reading)
        names = names or dict.fromkeys(["n", *(metric.column for metric in self.metrics)])
        columns: dict[str, Column] = {
            name: np.array([reading.get(name, np.nan) for reading in self.readings], dtype=np.float64) for name in names
        }
        columns["n"] = columns["n"].astype(np.int64)
        directions = {m.column: m.direction for m in self.metrics if m.direction is not None}
        seed = self.learner.get_params(deep=False).get("seed")
        origin = {"seed": seed if seed is None or isinstance(seed, int) else repr(seed), "versions": _versions()}
        facts = {"rows": self.n, "seconds": self.seconds, "delay": self.delay, **meta, **origin}
        return Result(self.name, repr(self.learner), columns, directions, facts)

    @property
    def is_read(self) -> bool:
        """Whether the last row fed has been read."""
        return self._read_at == self.n

    @property
    def _ahead(self) -> int | None:
        """Return `ahead`: 1 if the learner learns, None if it only predicts."""
        return 1 if self.learn else None

    def _timed(self, act: Callable[..., Any], *arguments: Any) -> Any:
        began = self._clock()
        answer = act(*arguments)
        self.seconds += self._clock() - began
        return answer

    def _one_by_one(self, X: Any, Y: Any) -> tuple[Array, Array | None, Array | None]:
        """Step through rows that cannot go as one block; return predictions and other answers before each label."""
        P, Q, D = [], [], []
        for i in range(len(X)):
            x, y = X[i : i + 1], None if Y is None else Y[i : i + 1]
            if self._ask is not None:
                Q.append(self._timed(self._ask, x, self._ahead) if self._inner.n_seen else self._even())
            if self._levels:
                D.append(
                    self._timed(self._inner.predict_quantile, x, self._levels, self._ahead)
                    if self._inner.n_seen
                    else None
                )
            P.append(self._delayed(x, y) if self.delay and self.learn else self._at_once(x, y))
        return _stacked(P, -np.inf), _stacked(Q, 0.0) if Q else None, self._quantiles(P, D) if D else None

    def _quantiles(self, P: list[Array], D: list[Array | None]) -> Array:
        """Stack quantiles of single rows as (n, K, Q); nan before the first label."""
        nothing = np.full((1, P[0].size, len(self._levels)), np.nan)
        return np.concatenate([nothing if d is None else d.reshape(nothing.shape) for d in D])

    def _delayed(self, x: Any, y: Any) -> Array:
        p: Array = self._timed(self._inner.predict, x, self._ahead)
        if not self._inner.n_seen:
            p = self._blank(p, y)
        self._pending.append((x, y) if isinstance(self._inner, Tabled) else _single(x, y))
        if len(self._pending) > self.delay:
            self._timed(self._inner.step, *self._pending.popleft())
        return p

    def _blank(self, p: Array, y: Any) -> Array:
        """Return the predictions of a learner that saw no label and cannot know yet how many outputs it will have."""
        if isinstance(self._inner, Tabled):
            return p
        if self._inner.labels == "class":
            return np.zeros((1, self._inner.classes or 2))
        return np.zeros(y.shape) if self._inner.labels == "real" and np.ndim(y) == 2 else p

    def _even(self) -> Array:
        """Return probabilities before any label: all alike."""
        k = self._inner.classes or 2
        return np.full((1, k), 1.0 / k)


def _expect(learner: Learner | Model, delay: int) -> None:
    """Set the parameter `delay` of a learner that uses the last labels."""
    if isinstance(learner, Model):
        if learner.learner_ is None:
            learner.learner = (Auto() if learner.learner is None else learner.learner).clone()
            _expect(learner.learner, delay)
    elif isinstance(learner, Learner) and not learner.n_seen:
        known = learner.get_params().items()
        late = {name: delay for name, value in known if name.rpartition("__")[2] == "delay" and value == 0}
        if late:
            learner.set_params(**late)


def _single(x: Any, y: Any) -> tuple[Any, Any]:
    """Return one row of a block and its label, as `step` takes them."""
    row = x if isinstance(x, SparseRows) else x[0].copy()
    return row, None if y is None else y[0] if np.ndim(y) > 1 else float(y[0])


def _stacked(parts: list[Array], missing: float) -> Array:
    """Stack predictions of single rows as one block; `missing` stands for classes that had no output yet."""
    if parts[0].ndim == 1:
        return np.concatenate(parts)
    block = np.full((len(parts), max(p.shape[1] for p in parts)), missing)
    for row, p in zip(block, parts, strict=True):
        row[: p.shape[1]] = p[0]
    return block


def _check(name: str, learner: Any, metrics: Sequence[Metric | Meter]) -> None:
    """Raise an error for a metric that does not fit this learner."""
    if isinstance(learner, type) or not isinstance(learner, Forecaster):
        raise TypeError(f"{name}: a learner has predict, step and run; got {learner!r}")
    for metric in metrics:
        if not isinstance(metric, Metric):
            continue
        if metric.takes == "quantile" and not learner.can("predict_quantile"):
            raise ValueError(
                f"{name}: {metric.column} needs quantiles, and this learner has none; Auto has, for numbers"
            )
        sure = metric.takes != "probability" or learner.link in LINKS or learner.can("probabilities")
        if not sure:
            raise ValueError(
                f"{name}: {metric.column} needs probabilities, and this learner's predictions are not log "
                f"odds; use loss='logistic' or loss='softmax', wrap the learner in Classifier, or use accuracy"
            )
        if learner.labels not in metric.labels:
            other = {"class": "accuracy", "none": "auc"}.get(learner.labels, "mse")
            raise ValueError(
                f"{metric.column} cannot be read from {name}, whose labels are of kind {learner.labels!r}; use another "
                f"metric such as {other}"
            )


def _versions() -> dict[str, str]:
    return {"nystream": installed_version(), "numpy": np.__version__, "python": platform.python_version()}
