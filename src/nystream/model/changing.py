"""What changes a model beside the rows it learns: classes and columns told beforehand or late, merging, unlearning."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from nystream.auto.learner import Auto
from nystream.compose.classifier import Classifier
from nystream.data.places import Place
from nystream.data.reading import Table, read
from nystream.data.schema import Schema
from nystream.data.targets import class_names, columns_of
from nystream.model.explaining import Explaining
from nystream.model.first_rows import FirstRows
from nystream.model.labels import labels_of
from nystream.model.score import Score, add_scores

__all__ = ["Changing"]

M = TypeVar("M", bound="Changing")
WAITS = ("waiting_", "n_remembered_", "n_forgotten_")
"""The state of rows that wait for their labels: ids are of the model that gave them."""


class Changing(Explaining):
    """A model with its schema; how rows are learnt is the model's own."""

    schema: Schema | None
    score_: Score | None
    on_error: str
    first_: FirstRows | None = None
    """The first rows, while the kinds of columns are not final; None where a schema was given."""

    def _close_kinds(self, is_final: bool = True) -> None:
        """The kinds of all columns are final from now on."""
        if is_final:
            self.__dict__.pop("first_", None)

    def _open(self, schema: Schema) -> None:
        raise NotImplementedError

    def _begin(self, parts: list[Any] | None) -> None:
        raise NotImplementedError

    def _places(self) -> dict[Any, int]:
        raise NotImplementedError

    def declare(self, classes: Any) -> None:
        """There are these classes too, whether seen or not, in this order after those so far."""
        names = [name for name in class_names(list(classes)) if name not in self.classes]
        if names and self.schema_ is None:
            if self.schema is None:
                raise ValueError("classes are declared in the schema, or when there were rows")
            self._open(self.schema)
        if names:
            self._close_kinds()
            self.classes_ = [*self.classes_, *names]
            self._reserve(self.inner.d_)

    def prepare(self, rows: Any, weights: Any = None) -> None:
        """Let the learner see all rows of a batch before it learns them, where it makes use of that.

        For a model with a declared task, and with all its classes, before its first row.
        """
        if self.schema is None or self.schema.task is None or self.learner_ is not None:
            raise ValueError("only a model with a schema that says its task is prepared, before its first row")
        self._open(self.schema)
        self._begin(None)
        X = self._inputs(rows)
        learner = self.inner
        if isinstance(learner, Classifier):
            self._reserve_for(X)
            for part in learner.inner_.learners:
                part.prepare(X, weights)
        else:
            learner.prepare(X, weights)

    def _reserve(self, d: int) -> None:
        """Room for the classes that are known, once the learner has started."""
        if d and self.classes_:
            self.inner.reserve(d, self._room)

    def _reserve_for(self, X: Any) -> None:
        """The same for the first rows."""
        if self.classes_:
            self.inner.reserve_for(X, self._room)

    @property
    def _room(self) -> int:
        return self.inner.classes or max(2, len(self.classes_))

    def widen(self, names: Sequence[str] | Mapping[str, str]) -> None:
        """Columns that appear late, by name, or with their kinds where they are not numbers.

        They were 0 in every row so far, or missing, as the learner has it. `Auto` takes new columns of every kind.
        """
        schema = self.schema_
        if schema is None or self.learner_ is None:
            raise ValueError("the model has learnt nothing yet: declare all columns in its schema")
        if not len(names):
            return
        kinds = dict(names) if isinstance(names, Mapping) else dict.fromkeys(names, "number")
        if schema.width is not None:
            raise ValueError("columns of sparse rows have no names: begin a new model for wider rows")
        twice = sorted(set(kinds) & set(schema.columns))
        if twice:
            raise ValueError(f"there is a column {twice[0]!r} already")
        self._widen(schema.described(columns={**schema.columns, **kinds}))
        if self.first_ is not None and isinstance(names, Mapping):
            self.first_.fixed_.update(names)

    def admit(self, rows: Any) -> None:
        """Add the columns that rows have and the model does not know, with the kinds that their values tell.

        Rows that do not fit are refused before anything changes. While the first rows still tell the kinds of columns,
        `run` and `step` add columns themselves, and this does nothing.
        """
        schema = self.schema_
        if schema is None or self.learner_ is None or self.first_ is not None or schema.width is not None:
            return
        table = read(rows)
        known = {*schema.columns, *schema.targets}
        new = {name: values for name, values in table.columns.items() if name not in known}
        if not new:
            return
        found = Schema.of(Table(new, table.n, kinds={name: k for name, k in table.kinds.items() if name in new}))
        formats = {**(schema.formats or {}), **(found.formats or {})}
        wider = schema.described(columns={**schema.columns, **found.columns}, formats=formats or None)
        wider.columns_of(table, on_error=self.on_error)
        self._widen(wider)

    def _widen(self, wider: Schema) -> None:
        """Go on with a schema that has more columns, which come last."""
        schema, learner = self.schema_, self.learner_
        assert schema is not None
        assert learner is not None
        new = {name: wider.columns[name] for name in wider.names if name not in schema.columns}
        encoder: Any = wider.encoder(learner.takes_tables)
        if wider.numeric:
            learner.widen(len(encoder.columns))
        else:
            if schema.numeric:
                if not isinstance(learner, Auto):
                    raise ValueError(
                        "all columns of this model are numbers, and so must new ones be: begin a new model, or use "
                        "Auto, which takes new columns of every kind"
                    )
                learner.name_columns({name: schema.columns[name] for name in schema.names})
            learner.widen_columns(new)
        self.schema_, self.encoder_ = wider, encoder
        if self.recent_ is not None:
            fill = float("nan") if self.inner.missing else 0.0
            self.recent_ = self.recent_.changed({name: wider.columns[name] for name in wider.names}, fill)

    def _check_numeric(self, schema: Schema) -> None:
        if not schema.numeric:
            raise ValueError("the columns of this model are encoded by their names: they cannot be renamed")

    def rename(self, names: Mapping[str, str]) -> None:
        """Other names for columns, in their places."""
        schema = self.schema_
        if schema is None or all(old == new for old, new in names.items()):
            return
        columns = {names.get(name, name): kind for name, kind in schema.columns.items()}
        if len(columns) < len(schema.columns):
            raise ValueError(f"two columns would have one name: {names}")
        self._check_numeric(schema)
        self.schema_ = schema.described(columns=columns)
        self.encoder_ = self.schema_.encoder()
        if self.recent_ is not None:
            kinds = {name: columns[name] for name in self.schema_.names}
            self.recent_ = self.recent_.changed(kinds, names=names)
        if self.first_ is not None:
            self.first_.rename(names)

    def merge(self: M, other: M) -> M:
        """Become the model of both streams: equal columns, kinds and task, and classes in one order.

        Rows of the other model that wait for their labels stay with it.
        """
        ours, theirs = self.schema_, other.schema_
        if other.learner_ is None or theirs is None:
            return self
        if self.learner_ is None or ours is None:
            taken = {name: value for name, value in other._state().items() if name not in WAITS}
            self._restore(copy.deepcopy(taken))
            return self
        for what, a, b in (
            ("columns", ours.columns, theirs.columns),
            ("task", ours.task, theirs.task),
            ("classes", self.classes_, other.classes_),
        ):
            if a != b:
                raise ValueError(f"models that merge must have the same {what}; got {a} and {b}")
        self._close_kinds()
        self.learner_.merge(other.learner_)
        if self.recent_ is None:
            self.recent_ = copy.deepcopy(other.recent_)
        elif other.recent_ is not None:
            self.recent_.extend(other.recent_.columns, other.recent_.labels)
        self.score_ = add_scores(self.score_, other.score_)
        self.n_unlabelled_ += other.n_unlabelled_
        self.n_misfits_ += other.n_misfits_
        self.counts_ = [a + b for a, b in zip(self.counts_, other.counts_, strict=True)]
        return self

    def unlearn(self: M, rows: Any, y: Any, weights: Any = None) -> M:
        """Forget rows that were learnt, exactly."""
        X = self.inputs(rows)
        learner, schema = self.learner_, self.schema_
        assert learner is not None
        assert schema is not None
        labels = labels_of(columns_of(y, len(X)), len(X), schema, 1, self.classes_, self._places(), Place)
        if len(labels.classes) > len(self.classes_) or not labels.there.all():
            raise ValueError("every row to unlearn needs the label it was learnt with")
        self._close_kinds()
        learner.unlearn(X, labels.Y, weights)
        if self.recent_ is not None:
            self.recent_ = self.recent_.without(self._columns(rows, schema)[0], labels.Y)
        return self
