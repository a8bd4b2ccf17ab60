"""A model explains itself in the words of its table: importance of columns, reasons of a row, a few sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from nystream.auto.explain import metric_shares, recent_share
from nystream.auto.learner import Auto
from nystream.compose.encoded import Encoded
from nystream.data.inputs import Unconverted
from nystream.data.plain import Plain
from nystream.data.reading import read
from nystream.data.targets import columns_of
from nystream.explain import Importance, Reasons, contributions, permutation_importance
from nystream.explain.errors import Error, error_rate, of_probabilities, of_score, squared_error
from nystream.explain.importance import REPEATS, Columns
from nystream.explain.shapley import EVALUATIONS
from nystream.model.forwarded import Forwarded
from nystream.model.labels import Labels, labels_in, labels_of
from nystream.model.recent import KEPT, Recent, capacity_for
from nystream.model.words import sentence
from nystream.runtime.types import Array

__all__ = ["Explaining"]

TOLD = frozenset({"importance", "explain_row", "explain"})
"""Abilities that a model has whatever its learner: they need nothing but predictions."""


class Explaining(Forwarded):
    """A model that keeps its last rows, and tells from them what its predictions depend on. Asking changes nothing."""

    keep: int
    recent_: Recent | None = None
    """The last rows that were learnt; None where none are kept."""
    _too_wide: bool = False  # then none are

    @property
    def task(self) -> str | None:
        raise NotImplementedError

    def _columns(self, rows: Any, schema: Any) -> tuple[dict[str, Any], int, int]:
        raise NotImplementedError

    def _places(self) -> dict[Any, int]:
        raise NotImplementedError

    def _check_missing(self, X: Array) -> None:
        raise NotImplementedError

    # -- what people ask ---------------------------------------------------------------------------------------------
    def importance(
        self,
        rows: Any = None,
        y: Any = None,
        *,
        repeats: int = REPEATS,
        coverage: float = 0.9,
        seed: int = 0,
    ) -> Importance:
        """Shares of the columns, by name, in what the predictions depend on; they sum to 1. Pure, and bounded in time.

        By how much the error grows when a column's values go to other rows: `importance().columns` has these figures,
        with intervals and, of `Auto`, what its learnt metrics say. The error is the squared error (several targets:
        over their variances), of classes that of the probabilities, or the error rate where there are none; without
        labels (novelty) it is the change of the score. Of columns that say the same each is worth little, since the
        other is still there.

        Parameters
        ----------
        rows, y : rows with labels, as for `run`
            None: the last rows that were learnt. A model knows these a little too well, so that a column of mere noise
            may come out above 0, by a few hundredths of the error; rows it has not learnt are free of that.
        repeats, coverage, seed
            See `nystream.explain.permutation_importance`.
        """
        columns, Y = self._remembered("importance") if rows is None else self._given(rows, y)
        error = self._error(columns, Y)
        return permutation_importance(
            self._answer(self._probable),
            columns,
            error.losses,
            unit=error.unit,
            constant=error.constant,
            learnt=self.learnt_shares(),
            repeats=repeats,
            coverage=coverage,
            seed=seed,
        )

    def explain_row(
        self, row: Any, of: Any = None, *, background: Any = None, evaluations: int = EVALUATIONS, seed: int = 0
    ) -> Reasons:
        """What each column adds to the prediction for one row, by name, beside the mean prediction. Pure.

        The parts sum to the prediction minus the mean prediction over the background; see
        `nystream.explain.contributions`.

        Parameters
        ----------
        row : a dict, a row of numbers, or a table of one row
        of : a class, or a target of several
            None: the predicted class, the first target.
        background : rows to compare with; None: the last rows that were learnt
        evaluations, seed
            Predictions to spend, about, and the seed of the orders in which columns are tried.
        """
        rows = row[None] if isinstance(row, np.ndarray) and row.ndim == 1 and not row.dtype.names else row
        rows = [rows] if isinstance(rows, Mapping) else rows
        found = self.explain_rows(rows, of, background=background, evaluations=evaluations, seed=seed)
        if len(found) != 1:
            raise ValueError(f"explain_row takes one row, got {len(found)}; explain_rows takes several")
        return found[0]

    def explain_rows(
        self, rows: Any, of: Any = None, *, background: Any = None, evaluations: int = EVALUATIONS, seed: int = 0
    ) -> list[Reasons]:
        """`explain_row` for every row of a table."""
        if background is None:
            beside: Columns = self._remembered("explain_row")[0]
        else:
            self._check_learnt()
            beside = self._columns(background, self.schema_)[0]
        columns, n, _ = self._columns(rows, self.schema_)
        self._check_missing(self.encoder_.encode(columns, n))
        chosen = self._chosen(columns, n, of)
        ask = self._answer(self._probable)
        found = []
        for i in range(n):
            k, name = chosen[i]
            one = {column: values[i : i + 1] for column, values in columns.items()}
            phi, value, base = contributions(
                lambda rows, k=k: ask(rows)[:, k : k + 1],  # type: ignore[misc]
                one,
                beside,
                seed=seed,
                evaluations=evaluations,
            )
            found.append(Reasons(dict(zip(one, phi.tolist(), strict=True)), value, base, name))
        return found

    def partial_dependence(
        self, column: str, of: Any = None, *, points: int = 40
    ) -> tuple[npt.NDArray[Any], Array, Array]:
        """Values of a column, the mean prediction over the last rows with that value in all of them, and each row's.

        Of numbers and times, evenly spaced quantiles; of categories and text the most frequent ones, None being a
        missing one. The third are the predictions (rows, values) that the second (values,) is the mean of. Of classes
        it is the probability of the class `of`, by default the last; of several targets, the first.
        """
        columns, _ = self._remembered("importance")
        if column not in columns:
            raise ValueError(f"there is no column {column!r}; there are {', '.join(columns)}")
        values = _grid(columns[column], points)
        n = len(columns[column])
        k, _ = self._output(of) if of is not None else (len(self.classes_) - 1 if self.classes_ else 0, None)
        ask, parts = self._answer(self._probable), []
        for value in values:
            same = np.empty(n, dtype=columns[column].dtype)
            same[:] = value
            parts.append(ask({**columns, column: same})[:, k])
        each = np.column_stack(parts)
        return values, each.mean(axis=0), each

    def explain(self) -> str:
        """What the predictions depend on, in a sentence; then what the learner itself can say, a few lines of text."""
        if self.learner_ is None or self.n_seen < 2 or not self.can("importance"):
            self._check_learnt() if not self.inner.can("explain") and self.keep else None
            return self.inner.explain()
        words = sentence(
            self.importance(),
            None if self._auto is None else recent_share(self._auto),
            [int(alarm.row) for alarm in self.alarms()] if self.inner.can("alarms") else None,
        )
        ids = self.schema_.ids if self.schema_ is not None else []
        words += f"\nnot learnt, because all values differ: {', '.join(ids)}" if ids else ""
        if not self.inner.can("explain"):
            return words
        text = self.inner.explain()
        if self.inner.can("alarms"):
            for by_place, by_name in zip(self.inner.alarms(), self.alarms(), strict=True):
                text = text.replace(str(by_place), str(by_name))
        return f"{words}\n{text}"

    def can(self, ability: str) -> bool:
        """Whether the model, for this task and with its parameters, has the ability of that name."""
        return super().can(ability) or (ability in TOLD and self._keeps)

    @property
    def abilities(self) -> frozenset[str]:
        """The names of all abilities that this model has."""
        return super().abilities | (TOLD if self._keeps else frozenset())

    @property
    def _keeps(self) -> bool:
        """Whether there are rows to explain with, or will be."""
        return (self.recent_ is not None and len(self.recent_) > 0) or (self.keep > 0 and self.n_seen == 0)

    # -- the rows that are kept --------------------------------------------------------------------------------------
    def _remember(
        self, columns: Mapping[str, Any] | Array | Unconverted, labels: Labels, weights: Array | None
    ) -> None:
        """Keep the rows of a block that were learnt."""
        assert self.schema_ is not None
        there = labels.there if weights is None else labels.there & (weights > 0)
        if self.keep == 0 or not there.any() or self.schema_.width is not None:  # sparse rows have no names
            return
        if self.recent_ is None:
            kinds = {name: self.schema_.columns[name] for name in self.schema_.names}
            capacity = capacity_for(kinds, labels.Y.shape[1], self.keep)
            self._too_wide = not capacity
            if not capacity:
                return
            self.recent_ = Recent(kinds, labels.Y.shape[1], capacity)
        Y = labels.Y
        if not there.all():
            Y = Y[there]
            if isinstance(columns, Unconverted):
                columns = columns.picked(np.flatnonzero(there))
            elif isinstance(columns, np.ndarray):
                columns = columns[there]
            else:
                columns = {name: values[there] for name, values in columns.items()}
        self.recent_.extend(columns, Y)

    def _keep_one(self, x: Array, y: float, weight: float) -> None:
        """`_remember` for one row of numbers."""
        if self.recent_ is not None and weight > 0:
            self.recent_.step(x, y)
        elif self.recent_ is None and self.keep and not self._too_wide:
            self._remember(x[None], Labels(np.array([[float(y)]]), self.classes_), np.array([weight]))

    def _check_learnt(self) -> None:
        if self.learner_ is None or self.schema_ is None:
            raise ValueError("the model has learnt nothing yet, so there is nothing to explain")

    def _remembered(self, ability: str) -> tuple[Columns, Array]:
        """The rows that are kept and their labels, or a refusal."""
        self._check_learnt()
        recent, auto = self.recent_, self._auto
        if (recent is None or not len(recent)) and auto is not None and isinstance(self.encoder_, Plain):
            X, Y, _ = auto._kept()  # of a file from before models kept rows
            return dict(zip(self.encoder_.columns, X[-KEPT:].T, strict=True)), Y[-KEPT:]
        if recent is None or not len(recent):
            way = "rows=..., y=..." if ability == "importance" else "background=..."
            raise ValueError(f"the model has kept none of the rows it has learnt; give it some ({way}), or learn more")
        return recent.columns, recent.labels

    def _given(self, rows: Any, y: Any) -> tuple[Columns, Array]:
        """Rows and labels to measure on, those without a label left out."""
        self._check_learnt()
        assert self.schema_ is not None
        table = read(rows)
        y = labels_in(table, self.schema_) if y is None else table.columns[y] if isinstance(y, str) else y
        columns, n, _ = self._columns(table, self.schema_)
        if y is None and self.task != "novelty":
            raise ValueError("y is missing: importance is measured by the error on rows with labels")
        parts = None if y is None else columns_of(y, n)
        labels = labels_of(parts, n, self.schema_, 1, list(self.classes_), dict(self._places()), None)
        self._check_missing(self.encoder_.encode(columns, n))
        there = labels.there
        return {name: values[there] for name, values in columns.items()}, labels.Y[there]

    # -- the function that is explained ------------------------------------------------------------------------------
    @property
    def _probable(self) -> bool:
        return self.task == "classification" and self.inner.can("probabilities")

    def _answer(self, probable: bool) -> Any:
        """Predictions (n, K) for typed columns: probabilities of classes, if asked for, or outputs."""
        encoder, inner, classes = self.encoder_, self.inner, len(self.classes_)

        def ask(columns: Columns) -> Array:
            X = encoder.encode(columns, len(next(iter(columns.values()))))
            if probable:
                return self._probabilities(X)
            P = inner.predict_clean(X)
            return P[:, : max(1, classes)] if self.task == "classification" else P

        return ask

    def _error(self, columns: Columns, Y: Array) -> Error:
        if self.task == "regression":
            return squared_error(Y)
        if self.task == "novelty":
            return of_score(self._answer(probable=False)(columns)[:, 0])
        classes = Y[:, 0].astype(np.intp)
        return of_probabilities(classes) if self._probable else error_rate(classes)

    def _output(self, of: Any) -> tuple[int, Any]:
        """The place of a class or a target among the outputs, and its name."""
        if self.task == "classification":
            if of not in self.classes_:
                raise ValueError(f"of={of!r} is no class; there are {', '.join(map(str, self.classes_))}")
            return self.classes_.index(of), of
        names = self.schema_.targets if self.schema_ is not None else []
        if self.inner.outputs_ == 1:
            raise ValueError(f"of={of!r} chooses a class or one of several targets; the model has one target")
        if of in names:
            return names.index(of), of
        if type(of) is int and 0 <= of < self.inner.outputs_:
            return of, names[of] if names else of
        raise ValueError(f"of={of!r} is no target; there are {', '.join(names) or f'0 to {self.inner.outputs_ - 1}'}")

    def _chosen(self, columns: Columns, n: int, of: Any) -> list[tuple[int, Any]]:
        """What is explained of each row: its output and the name of that."""
        if of is not None:
            return [self._output(of)] * n
        if self.task != "classification":
            several = self.inner.outputs_ > 1
            return [self._output(0) if several else (0, None)] * n
        best = self._answer(probable=False)(columns).argmax(axis=1).tolist()
        return [(k, self.classes_[k]) for k in best]

    # -- what the learner knows of itself ------------------------------------------------------------------------------
    @property
    def _auto(self) -> Auto | None:
        """The automatic learner inside, if that is what learns."""
        inner = self.inner
        inner = inner.learner_ if isinstance(inner, Encoded) and inner.d_ else inner
        return inner if isinstance(inner, Auto) and inner.d_ else None

    def learnt_shares(self) -> dict[str, float] | None:
        """Shares of the columns, by name, in the distances that `Auto` has learnt; None where there are none (yet).

        Read off, not measured: cheap enough for a reading along the stream. Pure.
        """
        auto, inner = self._auto, self.inner
        shares = None if auto is None else metric_shares(auto)
        if shares is None:
            return None
        translator = None if auto is None else auto.translator_
        owners = self.encoder_.columns if translator is None else translator.owners
        owners = inner.owners if isinstance(inner, Encoded) else owners
        found = dict.fromkeys(self.encoder_.columns, 0.0)
        for owner, share in zip(owners, shares.tolist(), strict=True):
            if owner in found:
                found[owner] += share
        total = sum(found.values())
        return {name: share / total for name, share in found.items()} if total > 0 else None


def _grid(values: npt.NDArray[Any], points: int) -> npt.NDArray[Any]:
    """Values of a column to try."""
    if values.dtype == object:
        names, counts = np.unique([("" if v is None else "=") + (v or "") for v in values], return_counts=True)
        common = names[np.lexsort((names, -counts))][:points]
        found = np.empty(len(common), dtype=object)
        found[:] = [name[1:] if name else None for name in common.tolist()]
        return found
    missing = np.isnat(values) if values.dtype.kind == "M" else np.isnan(values)
    known = np.sort(values[~missing])
    if not len(known):
        return values[:1]
    places = np.linspace(0, len(known) - 1, points).round().astype(np.intp)
    return np.unique(known[places])
