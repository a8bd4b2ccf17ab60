"""Explanations of a model by columns: importance, contributions to a row, and a short text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nystream.data.reading import read
from nystream.data.schema import Schema
from nystream.data.targets import target_columns
from nystream.explain import Importance, Reasons, contributions, permutation_importance
from nystream.explain.errors import Error, error_rate, of_probabilities, of_score, squared_error
from nystream.explain.importance import Columns
from nystream.model.labels import labels_in, labels_of
from nystream.model.recent import KEPT
from nystream.model.words import sentence
from nystream.runtime.deadline import check_time
from nystream.runtime.types import Array

if TYPE_CHECKING:
    from nystream.model.model import Model

__all__ = ["Explainer"]


class Explainer:
    """An explainer of a model's predictions, based on the rows that it keeps. Nothing is changed.

    The methods are those of `Model` with the same names, where the parameters are described.
    """

    def __init__(self, model: Model) -> None:
        self._model = model

    def importance(self, rows: Any, y: Any, repeats: int, coverage: float, seed: int) -> Importance:
        columns, Y = self._kept_rows("importance") if rows is None else self._given_rows(rows, y)
        error = self._error(columns, Y)
        return permutation_importance(
            self._answer(self._has_probabilities),
            columns,
            error.losses,
            unit=error.unit,
            constant=error.constant,
            learnt=self._model.learnt_shares(),
            repeats=repeats,
            coverage=coverage,
            seed=seed,
        )

    def explain_rows(self, rows: Any, of: Any, background: Any, evaluations: int, seed: int) -> list[Reasons]:
        model = self._model
        self._schema_of_learnt()
        beside = self._kept_rows("explain_row")[0] if background is None else model.parse(background).columns
        batch = model.parse(rows)
        model._check_missing(batch)
        columns = batch.columns
        outputs = self._explained_outputs(columns, len(batch), of)
        ask = self._answer(self._has_probabilities)
        found = []
        for i, (k, name) in enumerate(outputs):
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

    def partial_dependence(self, column: str, of: Any, points: int) -> tuple[npt.NDArray[Any], Array, Array]:
        columns, _ = self._kept_rows("importance")
        if column not in columns:
            raise ValueError(f"there is no column {column!r}; there are {', '.join(columns)}")
        values = _grid(columns[column], points)
        n, classes = len(columns[column]), self._model.classes_
        k, _ = self._output(of) if of is not None else (len(classes) - 1 if classes else 0, None)
        ask, parts = self._answer(self._has_probabilities), []
        for value in values:
            same = np.empty(n, dtype=columns[column].dtype)
            same[:] = value
            parts.append(ask({**columns, column: same})[:, k])
        each = np.column_stack(parts)
        return values, each.mean(axis=0), each

    def explain(self) -> str:
        model = self._model
        inner = model.inner
        if model.learner_ is None or model.n_seen < 2 or not model.can("importance"):
            if not inner.can("explain") and model.keep:
                self._schema_of_learnt()
            return inner.explain()
        alarms = model.alarms() if inner.can("alarms") else None
        rows = None if alarms is None else [int(alarm.row) for alarm in alarms]
        words = sentence(model.importance(), inner.recent_share(), rows)
        ids = model.schema_.ids if model.schema_ is not None else []
        words += f"\nnot learnt, because all values differ: {', '.join(ids)}" if ids else ""
        if not inner.can("explain"):
            return words
        text = inner.explain()
        for by_place, by_name in zip(inner.alarms(), alarms, strict=True) if alarms is not None else ():
            text = text.replace(str(by_place), str(by_name))
        if model.schema_ is not None and model.schema_.numeric and model.schema_.width is None:
            text = _with_names(text, model.schema_.names)
        return f"{words}\n{text}"

    # -- rows to explain with ----------------------------------------------------------------------------------------
    def _schema_of_learnt(self) -> Schema:
        """Return the schema; raise an error if the model has learnt nothing."""
        if self._model.learner_ is None or self._model.schema_ is None:
            raise ValueError("the model has learnt nothing yet, so there is nothing to explain")
        return self._model.schema_

    def _kept_rows(self, ability: str) -> tuple[Columns, Array]:
        """Return the rows that the model keeps and their labels; raise an error if it has kept none."""
        schema, recent = self._schema_of_learnt(), self._model.recent_
        if recent is None or not len(recent):
            held = self._model.inner.held_rows() if schema.numeric else None
            if held is not None:  # of a learner that was trained without the model
                return dict(zip(schema.names, held[0][-KEPT:].T, strict=True)), held[1][-KEPT:]
            way = "rows=..., y=..." if ability == "importance" else "background=..."
            raise ValueError(f"the model has kept none of the rows it has learnt; give it some ({way}), or learn more")
        return recent.columns, recent.labels

    def _given_rows(self, rows: Any, y: Any) -> tuple[Columns, Array]:
        """Return rows and labels to measure on, without the rows that have no label."""
        schema, model = self._schema_of_learnt(), self._model
        table = read(rows)
        y = labels_in(table, schema) if y is None else table.columns[y] if isinstance(y, str) else y
        batch = model.parse(table)
        if y is None and model.task != "novelty":
            raise ValueError("y is missing: importance is measured by the error on rows with labels")
        parts = None if y is None else target_columns(y, len(batch))
        labels = labels_of(parts, len(batch), schema, 1, list(model.classes_), dict(model._class_numbers()), None)
        model._check_missing(batch)
        return batch[np.flatnonzero(labels.there)].columns, labels.Y[labels.there]

    # -- the function that is explained ------------------------------------------------------------------------------
    @property
    def _has_probabilities(self) -> bool:
        return self._model.task == "classification" and self._model.inner.can("probabilities")

    def _answer(self, has_probabilities: bool) -> Any:
        """Return the function from typed columns to predictions (n, K): probabilities of classes, or outputs."""
        model, schema = self._model, self._schema_of_learnt()
        inner, classes = model.inner, len(model.classes_)

        def ask(columns: Columns) -> Array:
            check_time()
            X = schema.batch(columns).inputs
            if has_probabilities:
                return model._probabilities(X)
            P = inner.predict_clean(X)
            return P[:, : max(1, classes)] if model.task == "classification" else P

        return ask

    def _error(self, columns: Columns, Y: Array) -> Error:
        if self._model.task == "regression":
            return squared_error(Y)
        if self._model.task == "novelty":
            return of_score(self._answer(has_probabilities=False)(columns)[:, 0])
        classes = Y[:, 0].astype(np.intp)
        return of_probabilities(classes) if self._has_probabilities else error_rate(classes)

    def _output(self, of: Any) -> tuple[int, Any]:
        """Return the number of a class or a target among the outputs, and its name."""
        model, inner = self._model, self._model.inner
        if model.task == "classification":
            if of not in model.classes_:
                raise ValueError(f"of={of!r} is no class; there are {', '.join(map(str, model.classes_))}")
            return model.classes_.index(of), of
        names = self._schema_of_learnt().targets
        if inner.outputs_ == 1:
            raise ValueError(f"of={of!r} chooses a class or one of several targets; the model has one target")
        if of in names:
            return names.index(of), of
        if type(of) is int and 0 <= of < inner.outputs_:
            return of, names[of] if names else of
        raise ValueError(f"of={of!r} is no target; there are {', '.join(names) or f'0 to {inner.outputs_ - 1}'}")

    def _explained_outputs(self, columns: Columns, n: int, of: Any) -> list[tuple[int, Any]]:
        """Return for each row the number of the output that is explained, and its name."""
        if of is not None:
            return [self._output(of)] * n
        if self._model.task != "classification":
            return [self._output(0) if self._model.inner.outputs_ > 1 else (0, None)] * n
        best = self._answer(has_probabilities=False)(columns).argmax(axis=1).tolist()
        return [(k, self._model.classes_[k]) for k in best]


def _with_names(text: str, names: list[str]) -> str:
    """Return the text of a learner of numbers with the names of the columns that had missing values."""
    return re.sub(
        r"(?<=values were missing in columns )[\d, ]+(?=:)",
        lambda places: ", ".join(names[int(place)] for place in places[0].split(", ")),
        text,
    )


def _grid(values: npt.NDArray[Any], points: int) -> npt.NDArray[Any]:
    """Return values of a column to try: common words, or quantiles."""
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
