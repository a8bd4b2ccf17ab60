"""The rounds of a model: rows are parsed, predicted before their labels are read, learnt, and kept."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from nystream._core.inputs import is_clean_row
from nystream.data.batch import Batch
from nystream.data.inputs import RawBlock, as_weights
from nystream.data.reading import Table, read
from nystream.data.sparse_rows import SparseRows, is_sparse
from nystream.data.targets import first_label, target_columns
from nystream.data.task import choose_task
from nystream.learners.base import Learner
from nystream.model import kinds
from nystream.model.labels import Labels, Scores, labels_in, labels_of
from nystream.model.recent import Recent, capacity_for
from nystream.model.score import add_class, add_row, add_rows
from nystream.model.tasks import algorithm, check_class
from nystream.model.weighting import weigh_rows
from nystream.runtime.types import Array

if TYPE_CHECKING:
    from nystream.model.model import Model

__all__ = ["begin", "predict_scores", "run", "step_quickly"]


def run(model: Model, rows: Any, y: Any, weights: Any) -> Scores:
    """Predict rows in order, each before its label is read, and learn those that have one; see `Model.run_scores`."""
    batch, table, y = _read(model, rows, y)
    schema, n = model.schema_, len(batch)
    assert schema is not None
    parts, w = None if y is None else target_columns(y, n), as_weights(weights, n)
    was_decided = model.task is not None
    begin(model, parts)
    if model.learner_ is None:  # still no label that says what is to be learnt
        model.n_unlabelled_ += n
        kinds.keep_first(model, table, parts, w)
        return Scores(np.full((n, 1), np.nan), np.full((n, 1), np.nan))
    labels, learnt_weights, counts = _labels(model, batch, parts, w)
    model._check_missing(batch, batch.place)
    model.learner_.name_classes(labels.classes)
    if not model.learner_.d_ and n:
        model._reserve_for(batch.inputs)
    has_learnt = model.n_seen > 0
    P = _learn(model.learner_, batch.inputs, labels, learnt_weights)
    if n:
        _keep_rows(model, batch, labels, learnt_weights)
    kinds.keep_first(model, table, parts, w)
    model.classes_, model.counts_ = labels.classes, counts
    there = labels.there
    model.n_unlabelled_ += int(n - there.sum())
    model.n_misfits_ += batch.bad_cells
    if labels.known is not None:
        P[np.arange(P.shape[1]) >= labels.known[:, None]] = -np.inf
        P[labels.known == 0] = np.nan
    elif not was_decided:
        P[: int(there.argmax())] = np.nan  # before the first label nobody knew that numbers were asked for
    blind = 0 if has_learnt or not there.any() else int(there.argmax()) + 1  # nothing was known before the first label
    model.score_ = add_rows(model.score_, Scores(P[blind:], labels.Y[blind:]), model.task)
    return Scores(P, labels.Y)


def _read(model: Model, rows: Any, y: Any) -> tuple[Batch, Any, Any]:
    """Parse rows to learn, and find their labels; the first rows may still change the kinds of columns.

    Returns the batch, the rows as they came (for the first rows, which are kept so), and the labels.
    """
    if model.schema_ is None and model.schema is not None:
        model._open(model.schema)
    if isinstance(rows, Batch) or (model.schema_ is not None and model.first_ is None and _is_apart(y)):
        return model.parse(rows), rows, y  # nothing but inputs is in these rows
    table = rows if _is_plain(rows) else read(rows)
    if isinstance(y, str):
        y = _labels_in(model, table, y)
    elif y is None:
        y = labels_in(table, model.schema_)
    if model.schema_ is None:
        model._open(kinds.first_schema(model, table, None))
    kinds.review_kinds(model, table)
    return model.parse(table), table, y


def _labels(
    model: Model, batch: Batch, parts: list[Any] | None, weights: Array | None
) -> tuple[Labels, Array | None, list[int]]:
    """Return the labels of a batch as numbers, the weights of its rows, and the number of rows of each class so far."""
    learner, schema = model.learner_, model.schema_
    assert learner is not None
    assert schema is not None
    at = None if model.mixed else batch.place  # where labels of another kind are refused
    labels = labels_of(parts, len(batch), schema, model._outputs, model.classes_, model._class_numbers(), at)
    w, counts = weigh_rows(labels.Y, labels.classes, weights, model.class_weight, model.counts_)
    if w is not None and not learner.weighted:
        raise ValueError(f"{algorithm(learner)} does not take weights; the least-squares learners do")
    if learner.classes is not None and len(labels.classes) > learner.classes:
        raise ValueError(f"there are {len(labels.classes)} classes, but {learner!r} is for {learner.classes}")
    return labels, w, counts


def _labels_in(model: Model, table: Any, target: str) -> Any:
    """Return the labels in the column that y names."""
    if not isinstance(table, Table) or target not in table.columns:
        raise ValueError(f"y={target!r} is no column of the rows; for one row with this label use step")
    schema = model.schema_ or model.schema
    if schema is None:
        model._open(kinds.first_schema(model, table, target))
    elif schema.targets != [target]:
        raise ValueError(f"y={target!r} is another target than that of the model, {schema.target!r}; begin a new one")
    return table.labels(target)


def begin(model: Model, parts: list[Any] | None) -> None:
    """Make the learner once the task is known: declared, that of the learner, or the one that the first label shows."""
    if model.learner_ is not None:
        return
    assert model.schema_ is not None
    task, label = model.task, first_label(parts[0]) if parts else None
    if task is None:
        choice = choose_task(parts) if parts else None
        if choice is None:
            return
        task = choice.task
    elif task == "classification" and model.schema_.task is None and model._given_task is None:
        check_class(model._pattern, label)
    learner = model._fresh(task)
    model.schema_ = model.schema_.described(task=task)
    model.learner_ = learner


def step_quickly(model: Model, row: Any, y: Any, weight: float) -> tuple[Any] | None:
    """Do a round of one row quickly: a dict, an array or a batch of numbers, with a label that fits.

    Returns the prediction in a tuple, or None, without a change, if the row needs the general code.
    """
    learner, schema = model.learner_, model.schema_
    if learner is None or schema is None or not learner.d_ or model.class_weight is not None:
        return None
    if model.first_ is not None and model.first_.looks_next:
        return None
    if isinstance(row, Batch):
        if model.first_ is not None or len(row) != 1 or not isinstance(row.numbers, np.ndarray):
            return None
        row = model.parse(row).matrix()[0]
    x = schema.row(row) if type(row) is dict else None
    if x is None and schema.numeric and is_clean_row(row, learner.d_):
        x = row
    if x is None:
        return None
    if schema.task == "regression":
        if type(y) is not float or y - y != 0:
            return None
        answer = learner.step(x, y, weight)
        _keep_one(model, x, y, weight)
        if learner.n_seen > 1:  # nothing was known before the first label
            model.score_ = add_row(model.score_, answer, y)
        kinds.keep_first_one(model, row, y, weight)
        return (answer,)
    k = model._class_numbers().get(y) if schema.task == "classification" and type(y) in (str, int, bool) else None
    if k is None:
        return None
    scores = learner.step(x, k, weight)
    _keep_one(model, x, k, weight)
    best = int(scores[: len(model.classes_)].argmax())
    if learner.n_seen > 1:
        model.score_ = add_class(model.score_, best, k)
    kinds.keep_first_one(model, row, y, weight)
    return (model.classes_[best],)


def _keep_rows(model: Model, batch: Batch, labels: Labels, weights: Array | None) -> None:
    """Keep the rows of a batch that were learnt, for explanations."""
    there = labels.there if weights is None else labels.there & (weights > 0)
    if model.keep == 0 or not there.any() or isinstance(batch.numbers, SparseRows):  # these have no names
        return
    if model.recent_ is None:
        capacity = capacity_for(batch.kinds, labels.Y.shape[1], model.keep)
        model._is_too_wide = not capacity
        if not capacity:
            return
        model.recent_ = Recent(batch.kinds, labels.Y.shape[1], capacity)
    if there.all():
        model.recent_.extend(batch, labels.Y)
    else:
        model.recent_.extend(batch[np.flatnonzero(there)], labels.Y[there])


def _keep_one(model: Model, x: Array, y: float, weight: float) -> None:
    """Keep one row of numbers that was learnt."""
    if model.recent_ is not None and weight > 0:
        model.recent_.step(x, y)
    elif model.recent_ is None and model.keep and not model._is_too_wide and model.schema_ is not None:
        batch = model.schema_.parse(x[None])
        _keep_rows(model, batch, Labels(np.array([[float(y)]]), model.classes_), np.array([weight]))


def _is_apart(y: Any) -> bool:
    """Return whether labels come beside the rows, and not as one of their columns."""
    return y is not None and not isinstance(y, str)


def _is_plain(rows: Any) -> bool:
    """Return whether rows have no names and no kinds to infer: numbers in a matrix, or sparse rows."""
    if isinstance(rows, np.ndarray):
        return rows.dtype.kind in "biuf"
    return is_sparse(rows) or isinstance(rows, RawBlock)


def predict_scores(learner: Learner, X: Any, ahead: int | None = None) -> Array:
    """Return outputs (n, K) for rows; large ones are converted in parts. `ahead` as in `Learner.predict`."""
    if not isinstance(X, RawBlock):
        return learner.predict_clean(X, ahead)
    return np.vstack([learner.predict_clean(X[part].numbers(), ahead) for part in X.parts()])


def _learn(learner: Learner, X: Any, labels: Labels, weights: Array | None) -> Array:
    """Learn the rows that have a label, predict the others, and return outputs (n, K) made before each label."""
    Y, parts = labels.Y, []
    X = X.numbers() if isinstance(X, RawBlock) and not learner.takes_parts else X
    for part, labelled in _stretches(labels.there):
        if labelled:
            run: Any = learner.run_unconverted if isinstance(X, RawBlock) else learner.run_clean
            P = run(X[part], Y[part], None if weights is None else weights[part])
        else:
            P = predict_scores(learner, X[part], 1)
        if not learner.d_ and learner.labels == "real":
            P = np.zeros((len(P), Y.shape[1]))  # nothing is known yet, not even how many outputs there are
        parts.append(P)
    width = max((P.shape[1] for P in parts), default=1)
    return np.vstack([_widened(P, width) for P in parts]) if parts else np.zeros((0, width))


def _stretches(there: Any) -> Iterator[tuple[slice, bool]]:
    """Give consecutive rows that all have a label, or that all have none, with which of the two."""
    cuts = [0, *(np.flatnonzero(there[1:] != there[:-1]) + 1).tolist(), len(there)]
    for i, j in pairwise(cuts):
        if j > i:
            yield slice(i, j), bool(there[i])


def _widened(P: Array, width: int) -> Array:
    return P if P.shape[1] == width else np.hstack([P, np.full((len(P), width - P.shape[1]), -np.inf)])
