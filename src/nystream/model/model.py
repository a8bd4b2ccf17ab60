"""The model: any kind of rows and labels, by name, for a learner of numbers."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np

from nystream._core.inputs import is_clean_row
from nystream.auto.changes import Listeners
from nystream.auto.learner import Auto
from nystream.data.inputs import ROWS_TO_CONVERT, Unconverted, as_weights
from nystream.data.items import blocks_of_items, is_iterator
from nystream.data.places import Place
from nystream.data.plain import Plain
from nystream.data.reading import Table, read
from nystream.data.schema import Schema
from nystream.data.sparse_rows import SparseRows, is_sparse
from nystream.data.targets import Places, columns_of, first_label
from nystream.data.task import TASKS, choose_task
from nystream.learners.base import Learner
from nystream.model.changing import WAITS, Changing
from nystream.model.first_rows import ROWS as FIRST
from nystream.model.first_rows import FirstRows
from nystream.model.labels import Scores, answers, labels_in, labels_of, nothing
from nystream.model.recent import KEPT
from nystream.model.rounds import learnt, predicted
from nystream.model.score import Score, add_class, add_row, add_rows, described
from nystream.model.tasks import algorithm, check_class, check_sparse, for_task
from nystream.model.waiting import WAITING, plain_answer, plain_row, rows_of
from nystream.model.weighting import ClassWeight, checked_weight, weighted
from nystream.runtime.cards import card
from nystream.runtime.params import at_least, checked_ahead, one_of
from nystream.runtime.types import Array

__all__ = ["Model"]

NAMED = 12
"""Columns, targets and classes that a description names."""


class Model(Changing):
    """A learner with the names and kinds of its columns, its target, its task and its classes.

    Rows are a pandas or polars frame, an Arrow table or record batch, a list of dicts, one dict, a structured array, a
    matrix of numbers, or a sparse one (scipy), whose columns have no names. Columns are found by name, in any order: a
    missing one is missing values, one that the schema does not know is reported once. Labels are numbers or names of
    classes; a row without one (None, nan, "") is predicted and not learnt. A class that has not appeared yet cannot be
    predicted: the very first prediction is None.

    Without a schema, the first rows tell the columns and their kinds. Both may still change during the first 1,000 rows
    (fewer where rows are wide): a column `zip` that was "12345" becomes a category when "AB1" comes, and a column that
    appears late is learnt from then on. The model then learns its first rows again, so that it is exactly the model
    that would have known the kinds from the start. See `nystream.model.first_rows`.

    `predict` and all abilities that take rows change nothing, so that several threads may ask at once.

    Parameters
    ----------
    learner : Learner or None
        The pattern; it is cloned, never trained itself. None: `Auto()`, which needs no parameter.
    schema : Schema or None
        None: told from the first rows. The kinds of a given schema never change.
    task : "regression", "classification", "novelty" or None
        None: that of the schema or the learner. Where these do not say it, the labels of the first call with labels do:
        strings and booleans are classes, floats are quantities, and whole numbers are classes only if they are 0..K-1
        or 1..K, at most 20 distinct ones (`nystream.data.task.choose_task`). One whole number by itself, as the first
        label of `step`, is a quantity: say task="classification" where it is a class.
    on_error : "raise" or "missing"
        What becomes of a value that does not fit its column: an error that names it, or a missing value, which is
        counted in `n_misfits`.
    class_weight : None, "balanced" or dict of class to weight
        Weights of rows by their class, for learners that take weights; see `nystream.model.weighting`.
    mixed : bool
        Whether names and numbers may be classes side by side. False: a label of another kind than the classes so far is
        refused, since that is most often another target.
    keep : int
        Of the last rows, which explanations need and which are saved with the model; 0: none are.
    waiting : int
        Rows that may wait for their labels at the same time (`remember`). One more, and the oldest is forgotten:
        `n_forgotten` counts these, and the first one is reported by a warning.

    Examples
    --------
    >>> from nystream import Model
    >>> model = Model()
    >>> model.step({"temp": 21.5, "open": True}, "busy") is None
    True
    >>> model.run([{"open": False, "temp": 3.0}, {"temp": 20.0, "open": True}], ["quiet", None]).tolist()
    ['busy', 'busy']
    >>> model.classes, model.n_seen, model.n_unlabelled, model.schema_.columns
    (['busy', 'quiet'], 2, 1, {'temp': 'number', 'open': 'boolean'})
    """

    learner_: Learner | None = None
    """The trained learner; None before the first label."""
    schema_: Schema | None = None
    """The schema, told from the first rows if none was given; its task is None until a label told it."""
    encoder_: Any = None
    classes_: list[Any]
    counts_: list[int]
    """Rows of each class, where class weights need them."""
    notes_: dict[str, Any]
    """What those who hold the model keep with it, in its file too; the model itself does not read it."""
    n_unlabelled_: int = 0
    n_misfits_: int = 0
    waiting_: dict[int, list[Any]] | None = None
    """Rows that wait for their labels, by id, each with its prediction; the oldest first. None: none ever did."""
    score_: Score | None = None
    """How good the predictions of `run` and `step` were; see `nystream.model.score`."""
    n_remembered_: int = 0
    n_forgotten_: int = 0

    def __init__(
        self,
        learner: Learner | None = None,
        schema: Schema | None = None,
        task: str | None = None,
        *,
        on_error: str = "raise",
        class_weight: ClassWeight = None,
        mixed: bool = False,
        keep: int = KEPT,
        waiting: int = WAITING,
    ) -> None:
        if learner is not None and not isinstance(learner, Learner):
            raise TypeError(f"learner must be a nystream learner or None, got {learner!r}")
        if schema is not None and not isinstance(schema, Schema):
            raise TypeError(f"schema must be a nystream.Schema or None, got {schema!r}")
        self.learner = learner
        self.schema = schema
        self._given_task = None if task is None else one_of("task", task, TASKS)
        if schema is not None and None not in (task, schema.task) and task != schema.task:
            raise ValueError(
                f"task={task!r} contradicts the schema, whose task is {schema.task!r}; leave out one of them"
            )
        self.on_error = one_of("on_error", on_error, ("raise", "missing"))
        self.class_weight = checked_weight(class_weight)
        self.mixed = mixed
        self.keep = at_least("keep", keep, 0)
        self.waiting = at_least("waiting", waiting, 0)
        # Names of unknown columns, None for forgotten rows. No part of the model: reporting leaves no trace in it.
        self._reported: set[str | None] = set()
        self._listeners = Listeners()
        self._numbers: dict[Any, int] = {}  # places of the classes, made again when there are more

    @classmethod
    def around(cls, learner: Learner, schema: Schema | None = None, classes: list[Any] | None = None) -> Model:
        """A model of a learner that is trained already, of the classes in the order of their numbers."""
        kind = {"real": "regression", "none": "novelty"}.get(learner.labels, "classification")
        if kind == "classification" and (learner.labels != "class" or classes is None):
            raise ValueError(f"{learner!r} learnt classes: give their names in the order of their numbers")
        if schema is None:
            schema = Schema([str(j) for j in range(learner.d_ or 1)])
        if learner.d_ not in (0, len(schema.names)):
            raise ValueError(f"the learner has {learner.d_} columns, the schema {len(schema.names)}")
        model = cls(learner.clone(), schema)
        model._open(schema.described(task=kind))
        model.learner_, model.classes_ = learner, list(classes or [])
        return model

    # -- what it says of itself --------------------------------------------------------------------------------------
    @property
    def task(self) -> str | None:
        """ "regression", "classification", "novelty", or None while no label has told."""
        schema = self.schema_ or self.schema
        if schema is not None and schema.task is not None:
            return schema.task
        if self._given_task is not None:
            return self._given_task
        return {"sign": "classification", "class": "classification", "none": "novelty"}.get(self._pattern.labels)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name. `task` is the parameter, not the task that labels told."""
        return {**super().get_params(deep), "task": self._given_task}

    @property
    def classes(self) -> list[Any]:
        """Names of the classes so far, in order of appearance, those that the schema declares before all others."""
        if self.schema_ is not None:
            return list(self.classes_)
        return list(self.schema.classes or []) if self.schema is not None else []

    @property
    def target(self) -> Any:
        """Name or names of what is predicted, or None."""
        schema = self.schema_ or self.schema
        return None if schema is None else schema.target

    def answers(self, P: Array) -> Any:
        """Outputs of `run_scores` or `scores` as predictions: numbers, or names of classes."""
        return answers(P, self.task, self.classes)

    def __repr__(self) -> str:
        """The constructor call; of a trained model what it is and how good it was so far."""
        if self.learner_ is None or self.schema_ is None:
            return super().__repr__()
        facts = dict(self._facts())
        parts = [
            facts["rows learnt"] + " rows",
            facts["columns"].partition(":")[0],
            facts["task"],
            facts.get("error", ""),
        ]
        return f"<Model {self.learner_!r}: {', '.join(part for part in parts if part)}>"

    def _repr_html_(self) -> str:
        """A card for notebooks."""
        return card("Model", repr(self.learner_ or self._pattern), self._facts())

    def _facts(self) -> list[tuple[str, str]]:
        """What people want to know first, by name."""
        schema = self.schema_ or self.schema
        if schema is None or self.learner_ is None:
            return [("rows learnt", "none yet")]
        found = [("rows learnt", f"{self.n_seen:,}")]
        if schema.width is not None:
            found.append(("columns", f"{schema.width:,} sparse columns"))
        else:
            names = schema.names
            kinds = ", ".join(f"{name} ({schema.columns[name]})" for name in names[:NAMED])
            more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
            found.append(("columns", f"{len(names):,} column{'s' if len(names) > 1 else ''}: {kinds}{more}"))
        of = "" if not schema.targets else f" of {', '.join(map(repr, schema.targets[:NAMED]))}"
        found.append(("task", f"{self.task}{of}"))
        if self.task == "classification":
            listed = ", ".join(map(str, self.classes_[:NAMED])) + (", ..." if len(self.classes_) > NAMED else "")
            found.append(("classes", f"{len(self.classes_):,}: {listed}"))
        if self.score_ is not None:
            found.append(("error", described(self.score_)))
        if self.waiting_:
            found.append(("waiting for labels", f"{len(self.waiting_):,}"))
        return [*found, ("memory", f"{self.nbytes / 1e6:.3g} MB")]

    # -- predicting and learning -------------------------------------------------------------------------------------
    def predict(self, rows: Any, ahead: int | None = None) -> Any:
        """Predictions: numbers (n,), (n, K) of several targets, or names of classes. Changes nothing.

        ahead=None: each row is some later row. ahead=1: each row is the next one, right after the last label that was
        learnt, and the prediction is what `step` would return.

        Columns of the model that no row has are named in a warning, once; what a single dict leaves out is missing
        without one. Rows with none of the model's columns are refused.
        None stands for "none known": no class has appeared yet, or no label that could tell the task. Where the task is
        declared, numbers are 0 before the first row.
        """
        ahead = checked_ahead(ahead)
        if self.learner_ is None:
            schema = self.schema_ or self.schema
            sparse = is_sparse(rows)
            n = rows.shape[0] if sparse else read(rows).n if schema is None else self._columns(rows, schema)[1]
            return nothing(n, schema, self.task)
        X = self._inputs(rows, named=True)
        return answers(self._scores(X, ahead), self.task, self.classes_)

    def run(self, rows: Any, y: Any = None, weights: Any = None) -> Any:
        """Predictions for the rows in order, each made before its label is read; and learn those that have one.

        rows : as above, or an iterator of dicts, of rows of numbers, or of pairs (row, label), read in blocks.
        y : labels of the rows, or the name of a column of them; None: the schema's target, where rows have it.
        """
        if is_iterator(rows):
            return self._run_items(rows, y, weights)
        P = self.run_scores(rows, y, weights).P
        return (
            nothing(len(P), self.schema_, self.task) if self.learner_ is None else answers(P, self.task, self.classes_)
        )

    def _run_items(self, items: Any, y: Any, weights: Any) -> Any:
        """`run` on rows that come one by one."""
        if (y is not None and not isinstance(y, str)) or weights is not None:
            raise ValueError("rows of an iterator bring their labels: give pairs (row, label), and no y or weights")
        found = []
        for rows, labels in blocks_of_items(items, ROWS_TO_CONVERT):
            if labels is not None and y is not None:
                raise ValueError("labels come twice: in the pairs (row, label), and as y")
            found.append(self.run(rows, y if labels is None else labels))
        if not found:
            return nothing(0, self.schema_, self.task)
        if self.task == "regression":  # before the first label nothing was predicted
            found = [np.asarray(part, dtype=np.float64) for part in found]
        return np.concatenate(found)

    def step(self, row: Any, y: Any = None, weight: float = 1.0) -> Any:
        """`run` on one row: a number, (K,) of several targets, or the name of a class."""
        quick = self._quick_step(row, y, weight)
        if quick is not None:
            if self._listeners:
                self._announce()
            return quick[0]
        rows = row[None] if isinstance(row, np.ndarray) and row.ndim == 1 and not row.dtype.names else row
        rows = [rows] if isinstance(rows, dict) else rows
        answer = self.run(rows, None if y is None else [y], None if weight == 1.0 else [weight])[0]
        return float(answer) if isinstance(answer, np.floating) else answer

    def remember(self, row: Any) -> int:
        """Predict one row whose label comes later, keep both, and return an id for `label`.

        The row is a dict of names to values, or numbers (d,). `remembered` has the prediction. Rows that wait are saved
        with the model. At most `waiting` of them are kept: one more, and the oldest is forgotten.

        Examples
        --------
        >>> from nystream import Model
        >>> model = Model()
        >>> _ = model.run([{"x": 1.0}, {"x": 2.0}, {"x": 3.0}], [10.0, 20.0, 30.0])
        >>> first, second = model.remember({"x": 2.0}), model.remember({"x": 4.0})
        >>> predicted = model.remembered[second]
        >>> model.label(second, 40.0) == predicted  # labels come in any order; the row is learnt now
        True
        >>> model.n_seen, list(model.remembered) == [first]
        (4, True)
        """
        if not self.waiting:
            raise ValueError("this model was made with waiting=0: no row waits for its label")
        kept = plain_row(row)
        answer = plain_answer(self.predict(rows_of(kept))[0])
        waiting = {} if self.waiting_ is None else self.waiting_
        while len(waiting) >= self.waiting:
            del waiting[next(iter(waiting))]
            self.n_forgotten_ += 1
            self._report_forgotten()
        id = self.n_remembered_
        waiting[id] = [kept, answer]
        self.waiting_, self.n_remembered_ = waiting, id + 1
        return id

    def label(self, id: int, y: Any, weight: float = 1.0) -> Any:
        """Learn a remembered row with its label, and return what was predicted when it was remembered.

        Errors that are counted with the returned prediction are those of predictions made before any later label was
        read. A label that will never come is None: the row waits no more and is not learnt. ValueError where no row
        with this id waits.
        """
        waiting = {} if self.waiting_ is None else self.waiting_
        if isinstance(id, bool) or not isinstance(id, (int, np.integer)) or id not in waiting:
            raise ValueError(f"no row with id {id!r} waits for a label: {self._why_not_waiting(id)}")
        row, answer = waiting[id]
        self.run(rows_of(row), [y], None if weight == 1.0 else [weight])
        del waiting[id]
        return np.array(answer) if isinstance(answer, list) else answer

    @property
    def remembered(self) -> dict[int, Any]:
        """The predictions of the rows that wait for their labels, by id; the oldest first."""
        return {id: answer for id, (_, answer) in (self.waiting_ or {}).items()}

    @property
    def n_forgotten(self) -> int:
        """Rows that were remembered and had to give way to later ones before their label came."""
        return self.n_forgotten_

    def _why_not_waiting(self, id: Any) -> str:
        if isinstance(id, bool) or not isinstance(id, (int, np.integer)):
            return "ids are whole numbers, as `remember` returns them"
        if not 0 <= id < self.n_remembered_:
            return "this model never gave that id"
        if not self.n_forgotten_:
            return "it has been labelled already"
        return (
            f"it has been labelled already, or it was one of {self.n_forgotten_:,} that were forgotten because more "
            f"than {self.waiting:,} rows waited; Model(waiting=...) sets that limit"
        )

    def _report_forgotten(self) -> None:
        if None not in self._reported:
            self._reported.add(None)
            warnings.warn(
                f"{self.waiting:,} rows wait for their labels, as many as may: from now on each new one makes the "
                "model forget the oldest. n_forgotten counts them; Model(waiting=...) sets the limit",
                UserWarning,
                stacklevel=3,
            )

    def run_scores(self, rows: Any, y: Any = None, weights: Any = None) -> Scores:
        """`run` with outputs and labels as numbers: what metrics compare."""
        fresh = None if self.learner_ is not None and self.first_ is None else dict(self.__dict__)
        try:
            scores = self._run(rows, y, weights)
        except BaseException:
            if fresh is not None:  # back to what there was before the first row, or before kinds changed
                self.__dict__.clear()
                self.__dict__.update(fresh)
            raise
        if self._listeners:
            self._announce()
        return scores

    def scores(self, rows: Any, ahead: int | None = None) -> Array:
        """Outputs (n, K) of the learner; of classes one for each so far. Changes nothing. `ahead` as in `predict`."""
        return self._scores(self._inputs(rows), checked_ahead(ahead))

    def _scores(self, X: Any, ahead: int | None) -> Array:
        P = predicted(self.inner, X, ahead)
        return P[:, : max(1, len(self.classes_))] if self.task == "classification" else P

    def inputs(self, rows: Any) -> Array:
        """The numbers (n, d) that the learner gets for rows now. Changes nothing."""
        X = self._inputs(rows)
        return X.numbers() if isinstance(X, Unconverted) else X

    def _inputs(self, rows: Any, named: bool = False) -> Any:
        """The learner's inputs for rows; `named`: columns that no row has are reported."""
        if self.schema_ is None or self.learner_ is None:
            raise ValueError("the model has learnt nothing yet; run it on rows with labels first")
        X = self._matrix(rows, self.schema_)
        if X is None:
            table = read(rows)
            if named:
                self._report_missing(table, quiet=isinstance(rows, dict))
            X = self.schema_.unconverted(table)
        if X is None:
            is_open = self.first_ is not None and self._pattern.missing  # kinds may still change
            on_error = "missing" if is_open else self.on_error
            columns, n, _ = self.schema_.columns_of(table, on_error=on_error, report=self._report)
            X = self.encoder_.encode(columns, n)
        self._check_missing(X)
        return X

    @staticmethod
    def _matrix(rows: Any, schema: Schema) -> Any:
        """Rows that need no look at their columns, clean or still to be converted; else None."""
        X = schema.as_numbers(rows)
        return X if isinstance(X, Unconverted) else schema.matrix(X)

    def _run(self, rows: Any, y: Any, weights: Any) -> Scores:
        schema, apart = self.schema_ or self.schema, y is not None and not isinstance(y, str)
        quick = schema is not None and apart and self.first_ is None  # first rows are kept as they came
        rows = schema.as_numbers(rows) if quick and schema is not None else rows
        plain = is_sparse(rows) or isinstance(rows, Unconverted)
        plain = plain or (isinstance(rows, np.ndarray) and rows.dtype.kind in "biuf")
        if self.schema_ is not None and quick:
            plain = plain or self.schema_.matrix(rows) is not None  # a dict without doubt, whose label is apart
        table = rows if plain else read(rows)
        if isinstance(y, str):
            y = self._named(table, y)
        elif y is None:
            y = labels_in(table, self.schema_ or self.schema)
        if self.schema_ is None:
            self._open(self.schema or self._first_schema(table, None))
        assert self.schema_ is not None
        self._review_kinds(table)
        X = self._matrix(table, self.schema_)
        columns, n, misfits = ({}, len(X), 0) if X is not None else self._columns(table, self.schema_)
        parts, w = None if y is None else columns_of(y, n), as_weights(weights, n)
        decided = self.task is not None
        self._begin(parts)
        if self.learner_ is None:  # still no label that says what is to be learnt
            self.n_unlabelled_ += n
            self._keep_first(table, parts, w)
            return Scores(np.full((n, 1), np.nan), np.full((n, 1), np.nan))
        at = table.place if isinstance(table, Table) else Place
        known = None if self.mixed else at  # where labels of another kind are refused
        labels = labels_of(parts, n, self.schema_, self._outputs, self.classes_, self._places(), known)
        given = w
        w, counts = weighted(labels.Y, labels.classes, given, self.class_weight, self.counts_)
        if w is not None and not self.learner_.weighted:
            raise ValueError(f"{algorithm(self.learner_)} does not take weights; the least-squares learners do")
        X = X if X is not None else self.encoder_.run(columns, n, labels.Y, w)
        self._check_missing(X, at)
        there = labels.there
        if self.learner_.classes is not None and len(labels.classes) > self.learner_.classes:
            raise ValueError(
                f"there are {len(labels.classes)} classes, but {self.learner_!r} is for {self.learner_.classes}"
            )
        self.learner_.name_classes(labels.classes)
        if not self.learner_.d_ and n:
            self._reserve_for(X)
        P = learnt(self.learner_, X, labels, w)
        self._remember(columns or X, labels, w) if n else None
        self._keep_first(table, parts, given)
        self.classes_, self.counts_ = labels.classes, counts
        self.n_unlabelled_ += int(n - there.sum())
        self.n_misfits_ += misfits
        if labels.known is not None:
            P[np.arange(P.shape[1]) >= labels.known[:, None]] = -np.inf
            P[labels.known == 0] = np.nan
        elif not decided:
            P[: int(there.argmax())] = np.nan  # before the first label nobody knew that numbers were asked for
        scores = Scores(P, labels.Y)
        self.score_ = add_rows(self.score_, scores, self.task)
        return scores

    # -- the parts of a round ----------------------------------------------------------------------------------------
    def _named(self, table: Any, target: str) -> Any:
        """Labels from the column that y names."""
        if not isinstance(table, Table) or target not in table.columns:
            raise ValueError(f"y={target!r} is no column of the rows; for one row with this label use step")
        schema = self.schema_ or self.schema
        if schema is None:
            self._open(self._first_schema(table, target))
        elif schema.targets != [target]:
            raise ValueError(
                f"y={target!r} is another target than that of the model, {schema.target!r}; begin a new one"
            )
        return table.labels(target)

    def _open(self, schema: Schema) -> None:
        pattern = self._pattern
        check_sparse(pattern, schema.width)
        self.encoder_ = schema.encoder(pattern.takes_tables)
        self.schema_, self.classes_, self.counts_, self.notes_ = schema, list(schema.classes or []), [], {}

    def open_for(self, task: str, columns: Any) -> None:
        """Begin with the columns of a schema, or of rows, for a task; the first rows may still change their kinds."""
        if isinstance(columns, Schema):
            self.first_, schema = FirstRows(), columns
        else:
            schema = self._first_schema(read(columns), None)
        self._open(schema.described(task=task))

    # -- kinds that the first rows tell --------------------------------------------------------------------------------
    def _first_schema(self, table: Any, target: str | None) -> Schema:
        """The schema that the first row tells, where only cells tell kinds; else what the types of the rows tell."""
        if not isinstance(table, Table) or not table.named or not table.n:
            return Schema.of(table, target=target).described(task=None)
        open_kinds = [name for name in table.columns if name not in table.kinds and name != target]
        if not open_kinds or "first_" in self.__dict__:
            return Schema.of(table, target=target).described(task=None)
        self.first_ = FirstRows()
        self.first_.fixed_ = {name: kind for name, kind in table.kinds.items() if name != target}
        return Schema.of(table[:1], target=target).described(task=None)

    def _review_kinds(self, table: Any) -> None:
        """Change the kinds of columns, and add columns, as the next rows tell while kinds are not final."""
        if self.first_ is None or self.schema_ is None or not isinstance(table, Table) or not table.named:
            return
        schema, replayed = self.first_.review(table, self.schema_)
        if replayed:
            self.first_ = copy.copy(self.first_)  # a row that is refused afterwards leaves no trace
            self.first_.replayed_ += replayed
        if schema.columns != self.schema_.columns or schema.formats != self.schema_.formats:
            self._relearn(schema)
        else:
            self.schema_ = schema

    def _relearn(self, schema: Schema) -> None:
        """Become the model that would have had these columns from the start."""
        assert self.first_ is not None
        twin = Model(**self.get_params(deep=False))
        twin._open(schema)
        if len(self.first_):
            twin._restore({"n_unlabelled_": 0, "n_misfits_": 0})
            twin.run_scores(*self.first_.replay())
        kept = (
            "notes_",
            "first_",
            "_reported",
            "_listeners",
            "score_",
            *WAITS,
        )  # errors are those of predictions that were made
        self.__dict__.update({**twin.__dict__, **{name: getattr(self, name) for name in kept}})

    def _keep_first(self, table: Any, parts: list[Any] | None, weights: Array | None) -> None:
        """Keep learnt rows while kinds are not final."""
        if self.first_ is None or self.schema_ is None:
            return
        if not isinstance(table, Table):  # a matrix of numbers
            X = table[:FIRST]
            X = X.numbers() if isinstance(X, Unconverted) else np.asarray(X)
            table = Table(dict(zip(self.schema_.names, X.T, strict=True)), len(X))
        elif not table.named:
            table = Table(dict(zip(self.schema_.names, table.columns.values(), strict=True)), table.n)
        else:
            known = [name for name in table.columns if name in self.schema_.columns]
            table = Table({name: table.columns[name] for name in known}, table.n)
        self.first_.extend(table, parts, weights)
        self._close_kinds(self.first_.is_full)

    def _keep_first_one(self, row: Any, y: Any, weight: float) -> None:
        """`_keep_first` for one row of numbers."""
        if self.first_ is not None and self.schema_ is not None:
            names = self.schema_.names
            row = (
                {name: row[name] for name in names}
                if type(row) is dict
                else dict(zip(names, row.tolist(), strict=True))
            )
            self.first_.add(row, [y], weight)
            self._close_kinds(self.first_.is_full)

    def _begin(self, parts: list[Any] | None) -> None:
        """Make the learner once the task is known: declared, the learner's own, or told by the first label."""
        if self.learner_ is not None:
            return
        assert self.schema_ is not None
        task, label = self.task, first_label(parts[0]) if parts else None
        if task is None:
            choice = choose_task(parts) if parts else None
            if choice is None:
                return
            task = choice.task
        elif task == "classification" and self.schema_.task is None and self._given_task is None:
            check_class(self._pattern, label)
        learner = self._fresh(task)
        self.schema_ = self.schema_.described(task=task)
        self.learner_ = learner

    @property
    def _outputs(self) -> int:
        """Columns of labels where there are none to count."""
        if self.task != "regression" or self.schema_ is None:
            return 1
        started = self.learner_ is not None and self.learner_.d_
        return self.inner.outputs_ if started else max(1, len(self.schema_.targets))

    def _places(self) -> dict[Any, int]:
        if len(self._numbers) != len(self.classes_):
            self._numbers = {name: k for k, name in enumerate(self.classes_)}
        return self._numbers

    def _quick_step(self, row: Any, y: Any, weight: float) -> tuple[Any] | None:
        """The common round: a dict of numbers, with a label that fits."""
        learner, schema = self.learner_, self.schema_
        if learner is None or schema is None or not learner.d_ or self.class_weight is not None:
            return None
        if self.first_ is not None and self.first_.looks_next:
            return None
        if type(row) is dict:
            x = schema.row(row)
        else:
            x = row if is_clean_row(row, learner.d_) and type(self.encoder_) is Plain else None
        if x is None:
            return None
        if schema.task == "regression":
            if type(y) is not float or y - y != 0:
                return None
            answer = learner.step(x, y, weight)
            self._keep_one(x, y, weight)
            self.score_ = add_row(self.score_, answer, y)
            self._keep_first_one(row, y, weight)
            return (answer,)
        k = self._places().get(y) if schema.task == "classification" and type(y) in (str, int, bool) else None
        if k is None:
            return None
        scores = learner.step(x, k, weight)
        self._keep_one(x, k, weight)
        best = int(scores[: len(self.classes_)].argmax())
        self.score_ = add_class(self.score_, best, k)
        self._keep_first_one(row, y, weight)
        return (self.classes_[best],)

    def _columns(self, rows: Any, schema: Schema) -> tuple[dict[str, Any], int, int]:
        return schema.columns_of(rows, on_error=self.on_error, report=self._report)

    def _report(self, names: list[str]) -> None:
        new = [name for name in names if name not in self._reported]
        if new:
            self._reported.update(new)
            warnings.warn(
                f"the model knows no column {_listed(new)}; what it holds is left out", UserWarning, stacklevel=6
            )

    def _report_missing(self, table: Table, quiet: bool) -> None:
        """Warn once of columns that no row has, unless `quiet`; refuse rows that have none of the model's columns."""
        assert self.schema_ is not None
        if not table.named or not table.n:
            return
        names = self.schema_.names
        missing = [name for name in names if name not in table.columns]
        if len(missing) == len(names):
            raise ValueError(
                f"rows have none of the model's columns ({_listed(names)}); they have {_listed(list(table.columns))}"
            )
        new = [name for name in missing if name not in self._reported]
        if new and not quiet:
            self._reported.update(new)
            warnings.warn(
                f"rows lack columns of the model, which count as missing: {_listed(new)}", UserWarning, stacklevel=4
            )

    def _check_missing(self, X: Any, at: Places = Place) -> None:
        if self.inner.missing or isinstance(X, SparseRows) or (isinstance(X, Unconverted) and X.finite):
            return
        X = np.asarray(X)
        if np.isnan(X.min(initial=0.0)):
            row, j = np.argwhere(np.isnan(X))[0].tolist()
            raise ValueError(
                f"{at(row)}: column {self.encoder_.columns[j]!r} is missing, and {algorithm(self.inner)} takes "
                "no missing values; fill it or leave the row out, or use a learner that takes them, as Auto does"
            )

    @property
    def inner(self) -> Learner:
        """The learner inside: the trained one, or before the first label what will be trained."""
        if self.learner_ is not None:
            return self.learner_
        return self._pattern if self.task is None else self._fresh(self.task)

    @property
    def _width(self) -> int:
        """Columns that the learner gets, as far as that is known."""
        schema = self.schema_ or self.schema
        return 1 if schema is None else len(schema.names)

    def _restore(self, state: dict[str, Any]) -> None:
        waiting = state.get("waiting_") or {}
        if not isinstance(waiting, dict) or any(
            type(id) is not int or not isinstance(kept, list) or len(kept) != 2 or type(kept[0]) not in (dict, list)
            for id, kept in waiting.items()
        ):
            raise ValueError("the rows that wait for their labels are not in order")
        super()._restore(state)

    def _state(self) -> dict[str, Any]:
        """In one order, whatever came first: equal models have equal bytes."""
        return dict(sorted(super()._state().items()))

    @property
    def _pattern(self) -> Learner:
        return Auto() if self.learner is None else self.learner

    def _fresh(self, task: str) -> Learner:
        schema = self.schema_ or self.schema
        if task == "novelty" and self.learner is None and schema is not None and not schema.numeric:
            raise ValueError("novelty detection is for columns of numbers; drop the others, or choose a learner")
        return for_task(self.learner, task, self._width)


def _listed(names: list[str]) -> str:
    return (", ".join(map(repr, names[:20])) or "none") + (", ..." if len(names) > 20 else "")
