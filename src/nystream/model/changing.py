"""Changes of a model other than learning rows: new classes, new columns, other names, merging, unlearning.

`Model` has a method for each function, which says what the parameters are.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nystream.compose.classifier import Classifier
from nystream.data.places import Place
from nystream.data.reading import Table, read
from nystream.data.schema import Schema
from nystream.data.targets import class_names, target_columns
from nystream.model import learning
from nystream.model.labels import labels_of
from nystream.model.score import add_scores
from nystream.model.waiting import WAITS

if TYPE_CHECKING:
    from nystream.model.model import Model

__all__ = ["add_columns_of", "declare_classes", "merge", "prepare", "rename", "unlearn", "widen"]


def declare_classes(model: Model, classes: Any) -> None:
    names = [name for name in class_names(list(classes)) if name not in model.classes]
    if names and model.schema_ is None:
        if model.schema is None:
            raise ValueError("classes are declared in the schema, or when there were rows")
        model._open(model.schema)
    if names:
        model._close_kinds()
        model.classes_ = [*model.classes_, *names]
        if model.inner.d_:
            model.inner.reserve(model.inner.d_, model._room)


def prepare(model: Model, rows: Any, weights: Any) -> None:
    if model.schema is None or model.schema.task is None or model.learner_ is not None:
        raise ValueError("only a model with a schema that says its task is prepared, before its first row")
    model._open(model.schema)
    learning.begin(model, None)
    X = model._inputs(rows)
    learner = model.inner
    if isinstance(learner, Classifier):
        model._reserve_for(X)
        for part in learner.inner_.learners:
            part.prepare(X, weights)
    else:
        learner.prepare(X, weights)


def widen(model: Model, names: Sequence[str] | Mapping[str, str]) -> None:
    schema = model.schema_
    if schema is None or model.learner_ is None:
        raise ValueError("the model has learnt nothing yet: declare all columns in its schema")
    if not len(names):
        return
    kinds = dict(names) if isinstance(names, Mapping) else dict.fromkeys(names, "number")
    if schema.width is not None:
        raise ValueError("columns of sparse rows have no names: begin a new model for wider rows")
    twice = sorted(set(kinds) & set(schema.columns))
    if twice:
        raise ValueError(f"there is a column {twice[0]!r} already")
    _widen_to(model, schema.described(columns={**schema.columns, **kinds}))
    if model.first_ is not None and isinstance(names, Mapping):
        model.first_.fixed_.update(names)


def add_columns_of(model: Model, rows: Any) -> None:
    schema = model.schema_
    if schema is None or model.learner_ is None or model.first_ is not None or schema.width is not None:
        return
    table = read(rows)
    known = {*schema.columns, *schema.targets}
    new = {name: values for name, values in table.columns.items() if name not in known}
    if not new:
        return
    found = Schema.of(Table(new, table.n, kinds={name: k for name, k in table.kinds.items() if name in new}))
    formats = {**(schema.formats or {}), **(found.formats or {})}
    wider = schema.described(columns={**schema.columns, **found.columns}, formats=formats or None)
    wider.columns_of(table, on_error=model.on_error)  # refuse rows that do not fit before anything changes
    _widen_to(model, wider)


def _widen_to(model: Model, wider: Schema) -> None:
    """Go on with a schema that has more columns, which come last."""
    schema, learner = model.schema_, model.learner_
    assert schema is not None
    assert learner is not None
    wider.check_learner(learner.takes_tables)
    if wider.numeric:
        learner.widen(len(wider.names))
    else:
        if schema.numeric:
            learner.name_columns({name: schema.columns[name] for name in schema.names})
        learner.widen_columns({name: wider.columns[name] for name in wider.names if name not in schema.columns})
    model.schema_ = wider
    if model.recent_ is not None:
        fill = np.nan if model.inner.missing else 0.0
        model.recent_ = model.recent_.changed({name: wider.columns[name] for name in wider.names}, fill)


def rename(model: Model, names: Mapping[str, str]) -> None:
    schema = model.schema_
    if schema is None or all(old == new for old, new in names.items()):
        return
    columns = {names.get(name, name): kind for name, kind in schema.columns.items()}
    if len(columns) < len(schema.columns):
        raise ValueError(f"two columns would have one name: {names}")
    if not schema.numeric:
        raise ValueError("the columns of this model are encoded by their names: they cannot be renamed")
    model.schema_ = schema.described(columns=columns)
    if model.recent_ is not None:
        kinds = {name: columns[name] for name in model.schema_.names}
        model.recent_ = model.recent_.changed(kinds, names=names)
    if model.first_ is not None:
        model.first_.rename(names)


def merge(model: Model, other: Model) -> None:
    ours, theirs = model.schema_, other.schema_
    if other.learner_ is None or theirs is None:
        return
    if model.learner_ is None or ours is None:
        taken = {name: value for name, value in other._state().items() if name not in WAITS}
        model._restore(copy.deepcopy(taken))
        return
    for what, a, b in (
        ("columns", ours.columns, theirs.columns),
        ("task", ours.task, theirs.task),
        ("classes", model.classes_, other.classes_),
    ):
        if a != b:
            raise ValueError(f"models that merge must have the same {what}; got {a} and {b}")
    model._close_kinds()
    model.learner_.merge(other.learner_)
    if model.recent_ is None:
        model.recent_ = copy.deepcopy(other.recent_)
    elif other.recent_ is not None:
        model.recent_.extend(other.recent_.columns, other.recent_.labels)
    model.score_ = add_scores(model.score_, other.score_)
    model.n_unlabelled_ += other.n_unlabelled_
    model.n_misfits_ += other.n_misfits_
    model.counts_ = [a + b for a, b in zip(model.counts_, other.counts_, strict=True)]


def unlearn(model: Model, rows: Any, y: Any, weights: Any) -> None:
    X = model.inputs(rows)
    learner, schema = model.learner_, model.schema_
    assert learner is not None
    assert schema is not None
    parts = target_columns(y, len(X))
    labels = labels_of(parts, len(X), schema, 1, model.classes_, model._class_numbers(), Place)
    if len(labels.classes) > len(model.classes_) or not labels.there.all():
        raise ValueError("every row to unlearn needs the label it was learnt with")
    model._close_kinds()
    learner.unlearn(X, labels.Y, weights)
    if model.recent_ is not None:
        model.recent_ = model.recent_.without(model.parse(rows).columns, labels.Y)
