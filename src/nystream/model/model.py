"""The model: a learner with a schema, for rows and labels of any kind."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from nystream import persist
from nystream.auto.drift import Listener, Listeners
from nystream.auto.learner import Auto
from nystream.data.batch import Batch
from nystream.data.inputs import ROWS_TO_CONVERT, RawBlock
from nystream.data.items import blocks_of_items, is_iterator
from nystream.data.places import BadCell, Place
from nystream.data.reading import Table, read
from nystream.data.schema import Schema
from nystream.data.sparse_rows import SparseRows, is_sparse
from nystream.data.targets import Places
from nystream.data.task import TASKS
from nystream.explain import Importance, Reasons
from nystream.explain.importance import REPEATS
from nystream.explain.shapley import EVALUATIONS
from nystream.learners.abilities import ABILITIES
from nystream.learners.base import Learner
from nystream.model import changing, kinds, learning, waiting
from nystream.model.description import facts_of
from nystream.model.explaining import Explainer
from nystream.model.first_rows import FirstRows
from nystream.model.labels import Scores, answers, nothing
from nystream.model.recent import KEPT, Recent
from nystream.model.score import Score
from nystream.model.tasks import algorithm, check_sparse, for_task
from nystream.model.weighting import ClassWeight, checked_weight
from nystream.runtime.cards import card
from nystream.runtime.params import Params, at_least, checked_ahead, one_of
from nystream.runtime.types import Array

__all__ = ["Model"]

FORWARDED = frozenset(ABILITIES) - {"add_outputs"}
"""Abilities that a model has if its learner has them; outputs are added by its classes."""
FROM_ROWS = frozenset({"importance", "explain_row", "explain"})
"""Abilities that a model has whatever its learner: they need only predictions and the rows that are kept."""


class Model(Params):
    """A learner with the names and kinds of its columns, its target, its task and its classes.

    Rows are a pandas or polars frame, an Arrow table or record batch, a list of dicts, one dict, a structured array, a
    matrix of numbers, or a sparse matrix (scipy), whose columns have no names. Columns are found by name, in any order.
    If a column is absent, its values are missing. A column that the schema does not know is reported once. Labels are
    numbers or names of classes. A row without a label (None, nan, "") is predicted and not learnt. A class that has not
    appeared yet cannot be predicted, so the very first prediction of a class is None.

    Without a schema, the model finds the columns and their kinds in the first rows. Both may still change during the
    first 1,000 rows (fewer if rows are wide): a column `zip` with "12345" becomes a category when "AB1" comes, and
    columns that appear late are added. The model then learns its first rows again, so it equals a model that knew the
    kinds from the start. See `nystream.model.first_rows`.

    `predict` and all abilities that take rows change nothing, so several threads may call them at the same time.

    Parameters
    ----------
    learner : Learner or None
        The learner. It is cloned and never trained itself. None: `Auto()`, which needs no parameter.
    schema : Schema or None
        None: inferred from the first rows. The kinds of a given schema never change.
    task : "regression", "classification", "novelty" or None
        None: the task of the schema or of the learner. If they have none, the labels of the first call with labels
        decide: strings and booleans are classes, floats are quantities, and whole numbers are classes only if they are
        0..K-1 or 1..K, at most 20 distinct ones (`nystream.data.task.choose_task`). A single whole number, as the first
        label of `step`, is a quantity: pass task="classification" if it is a class.
    on_error : "raise" or "missing"
        What happens to a value that does not fit its column: an error that names it, or it becomes a missing value,
        which `n_misfits` counts.
    class_weight : None, "balanced" or dict of class to weight
        Weights of rows by their class, for learners that take weights; see `nystream.model.weighting`.
    mixed : bool
        Whether names and numbers may both be classes. False: a label of another kind than the classes so far is an
        error, because it is most often a label of another target.
    keep : int
        Number of last rows that are kept. Explanations need them, and they are saved with the model. 0: none.
    waiting : int
        Number of rows that may wait for their labels at the same time (`remember`). If one more comes, the oldest is
        dropped. `n_forgotten` counts dropped rows, and the first one gives a warning.

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
    """The schema, inferred from the first rows if none was given; its task is None until a label determines it."""
    classes_: list[Any]
    counts_: list[int]
    """Rows of each class, where class weights need them."""
    notes_: dict[str, Any]
    """Notes of the program that holds the model (a server, an estimator), saved with it; the model ignores them."""
    n_unlabelled_: int = 0
    n_misfits_: int = 0
    waiting_: dict[int, list[Any]] | None = None
    """Rows that wait for their labels, by id, each with its prediction, the oldest first; None before the first one."""
    score_: Score | None = None
    """Running errors of the predictions of `run` and `step`; see `nystream.model.score`."""
    n_remembered_: int = 0
    n_forgotten_: int = 0
    first_: FirstRows | None = None
    """The first rows, while the kinds of columns are not final; None where a schema was given."""
    recent_: Recent | None = None
    """The last rows that were learnt; None where none are kept."""
    _is_too_wide: bool = False
    """Whether rows are so wide that none are kept."""

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
        waiting: int = waiting.WAITING,
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
        """Return a model of a trained learner. The classes are in the order of their numbers."""
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

    # -- properties -------------------------------------------------------------------------------------------------
    @property
    def task(self) -> str | None:
        """The task: "regression", "classification", "novelty", or None until a label shows it."""
        schema = self.schema_ or self.schema
        if schema is not None and schema.task is not None:
            return schema.task
        if self._given_task is not None:
            return self._given_task
        return {"sign": "classification", "class": "classification", "none": "novelty"}.get(self._pattern.labels)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name. `task` is the parameter, not the task that the labels show."""
        return {**super().get_params(deep), "task": self._given_task}

    @property
    def classes(self) -> list[Any]:
        """Names of the classes so far, in order of appearance; those that the schema declares come first."""
        if self.schema_ is not None:
            return list(self.classes_)
        return list(self.schema.classes or []) if self.schema is not None else []

    @property
    def target(self) -> Any:
        """Name or names of the predicted columns, or None."""
        schema = self.schema_ or self.schema
        return None if schema is None else schema.target

    def answers(self, P: Array) -> Any:
        """Return outputs of `run_scores` or `scores` as predictions: numbers, or names of classes."""
        return answers(P, self.task, self.classes)

    def __repr__(self) -> str:
        """Return the constructor call; for a trained model what it is and how good it was so far."""
        if self.learner_ is None or self.schema_ is None:
            return super().__repr__()
        facts = dict(facts_of(self))
        parts = [
            facts["rows learnt"] + " rows",
            facts["columns"].partition(":")[0],
            facts["task"],
            facts.get("error", ""),
        ]
        return f"<Model {self.learner_!r}: {', '.join(part for part in parts if part)}>"

    def _repr_html_(self) -> str:
        """Return a card for notebooks."""
        return card("Model", repr(self.learner_ or self._pattern), facts_of(self))

    @property
    def n_seen(self) -> int:
        """Number of learnt rows."""
        return 0 if self.learner_ is None else self.learner_.n_seen

    @property
    def n_unlabelled(self) -> int:
        """Number of rows that `run` and `step` predicted and did not learn, because they had no label."""
        return self.n_unlabelled_

    @property
    def n_misfits(self) -> int:
        """Number of values of learnt rows that did not fit their columns and count as missing (on_error="missing")."""
        return self.n_misfits_

    @property
    def size(self) -> int:
        """Number of stored points or features of the learner."""
        return 0 if self.learner_ is None else self.learner_.size

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that the model holds."""
        kept = 0 if self.recent_ is None else self.recent_.nbytes
        return 0 if self.learner_ is None else self.learner_.nbytes + kept

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, atomically. `nystream.load` reads it, and the model continues bit for bit."""
        persist.save(self, path)

    def to_bytes(self) -> bytes:
        """Return the model as bytes in the format of `save`, for `nystream.from_bytes`."""
        return persist.to_bytes(self)

    # -- predicting and learning -------------------------------------------------------------------------------------
    def predict(self, rows: Any, ahead: int | None = None) -> Any:
        """Return predictions: numbers (n,), (n, K) of several targets, or names of classes. Nothing is changed.

        ahead=None: each row is a later row. ahead=1: each row is the next row after the last learnt label, and the
        prediction is the one that `step` would return.

        One warning names the columns of the model that no row has. In a single dict, absent columns count as missing
        without a warning. Rows with none of the model's columns raise an error. During the first 1,000 rows, a cell
        that does not fit its column counts as missing, with a warning if there are several rows; later `on_error`
        decides. Before the first class, or before a label determines the task, predictions are None. If the task is
        declared, predicted numbers are 0 before the first row.
        """
        ahead = checked_ahead(ahead)
        if self.learner_ is None:
            schema = self.schema_ or self.schema
            if schema is None:
                n = rows.shape[0] if is_sparse(rows) else read(rows).n
            else:
                n = len(self._parse(rows, schema))
            return nothing(n, schema, self.task)
        X = self._inputs(rows, named=True)
        return answers(self._scores(X, ahead), self.task, self.classes_)

    def run(self, rows: Any, y: Any = None, weights: Any = None) -> Any:
        """Return predictions for the rows in order, each made before its label, and learn rows with a label.

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
        """Call `run` on rows that come one by one."""
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
        """Do `run` for one row. Return a number, (K,) of several targets, or the name of a class."""
        quick = learning.step_quickly(self, row, y, weight)
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
        return waiting.remember(self, row)

    def label(self, id: int, y: Any, weight: float = 1.0) -> Any:
        """Learn a remembered row with its label, and return the prediction that was made when it was remembered.

        Errors that are counted with the returned prediction are those of predictions made before any later label was
        read. A label that will never come is None: the row waits no more and is not learnt. ValueError where no row
        with this id waits.
        """
        return waiting.label(self, id, y, weight)

    @property
    def remembered(self) -> dict[int, Any]:
        """The predictions of the rows that wait for their labels, by id, the oldest first."""
        return {id: answer for id, (_, answer) in (self.waiting_ or {}).items()}

    @property
    def n_forgotten(self) -> int:
        """Number of remembered rows that were dropped for later ones before their label came."""
        return self.n_forgotten_

    def run_scores(self, rows: Any, y: Any = None, weights: Any = None) -> Scores:
        """Do `run` with outputs and labels as numbers, for metrics."""
        fresh = None if self.learner_ is not None and self.first_ is None else dict(self.__dict__)
        try:
            scores = learning.run(self, rows, y, weights)
        except BaseException:
            if fresh is not None:  # back to what there was before the first row, or before kinds changed
                self.__dict__.clear()
                self.__dict__.update(fresh)
            raise
        if self._listeners:
            self._announce()
        return scores

    def scores(self, rows: Any, ahead: int | None = None) -> Array:
        """Return the outputs (n, K) of the learner; for classes one column for each class so far. Changes nothing.
        `ahead` as in `predict`.
        """
        return self._scores(self._inputs(rows), checked_ahead(ahead))

    def _scores(self, X: Any, ahead: int | None) -> Array:
        P = learning.predict_scores(self.inner, X, ahead)
        return P[:, : max(1, len(self.classes_))] if self.task == "classification" else P

    # -- rows become a batch -----------------------------------------------------------------------------------------
    def parse(self, rows: Any) -> Batch:
        """Return rows of any origin as a batch with the columns of this model. Changes nothing.

        This is the one entry for rows: `predict`, `run` and all others take a batch too, and do not parse it again.
        A value that does not fit its column is an error, or missing with `on_error="missing"`.

        Examples
        --------
        >>> from nystream import Model
        >>> model = Model()
        >>> _ = model.run([{"temp": 21.5, "room": "hall"}, {"temp": 3.0, "room": "yard"}], [1.0, 0.5])
        >>> batch = model.parse([{"room": "hall", "temp": "20"}])
        >>> batch.kinds, batch.columns["temp"].tolist()
        ({'temp': 'number', 'room': 'category'}, [20.0])
        """
        if self.schema_ is None and self.schema is None:
            raise ValueError("the model has no schema and has seen no rows, so the kinds of columns are not known")
        return self._parse(rows, self.schema_ or self.schema)

    def _parse(self, rows: Any, schema: Schema | None) -> Batch:
        assert schema is not None
        return schema.parse(rows, on_error=self.on_error, report=self._report_unknown)

    def inputs(self, rows: Any) -> Array:
        """Return the numbers (n, d) that the learner gets for rows now. Changes nothing."""
        X = self._inputs(rows)
        return X.numbers() if isinstance(X, RawBlock) else X

    def _inputs(self, rows: Any, named: bool = False) -> Any:
        """Return the learner's inputs for rows; `named`: report columns that no row has."""
        if self.schema_ is None or self.learner_ is None:
            raise ValueError("the model has learnt nothing yet; run it on rows with labels first")
        is_open = self.first_ is not None and self._pattern.missing  # kinds may still change
        is_one = isinstance(rows, dict)

        def report_missing(table: Table) -> None:
            self._report_missing(table, quiet=is_one)

        batch = self.schema_.parse(
            rows,
            on_error="missing" if is_open else self.on_error,
            report=self._report_unknown,
            report_missing=report_missing if named else None,
        )
        if is_open and batch.bad_cells and len(batch) > 1 and self.on_error == "raise":
            self._report_misfits(rows, batch.bad_cells)
        self._check_missing(batch)
        return batch.inputs

    # -- abilities of rows -------------------------------------------------------------------------------------------
    def probabilities(self, rows: Any, ahead: int | None = None) -> Array:
        """Return the probabilities (n, K) of the classes in the order of `classes`; each row sums to 1. `ahead` as in
        `predict`.
        """
        return self._probabilities(self.inputs(rows), checked_ahead(ahead))

    def _probabilities(self, X: Array, ahead: int | None = None) -> Array:
        P = self.inner.probabilities(X, ahead)
        k = len(self.classes)  # the learner may have room for more, or declared ones may not have reached it
        if P.shape[1] == k:
            return P
        P = P[:, :k] if P.shape[1] >= k else np.hstack([P, np.zeros((len(P), k - P.shape[1]))])
        total = P.sum(axis=1, keepdims=True)
        return np.where(total > 0, P / np.where(total > 0, total, 1.0), 1 / max(k, 1))

    def predict_interval(self, rows: Any, coverage: float = 0.9, ahead: int | None = None) -> tuple[Array, Array]:
        """Return the ends, shaped as predictions, of intervals that should contain this share of future labels.

        `ahead` as in `predict`: None for some later row, 1 for the next one.
        """
        return self.inner.predict_interval(self.inputs(rows), coverage, checked_ahead(ahead))

    def predict_quantile(self, rows: Any, q: Any, ahead: int | None = None) -> Array:
        """Return the q-quantiles of the labels, shaped as predictions; for several q with one more axis.

        `ahead` as in `predict`.
        """
        return self.inner.predict_quantile(self.inputs(rows), q, checked_ahead(ahead))

    def std(self, rows: Any) -> Array:
        """Return predictive standard deviations, shaped as predictions."""
        return self.inner.std(self.inputs(rows))

    def leverage(self, rows: Any) -> Array:
        """Return the leverage (n,), which is large for unusual rows."""
        return self.inner.leverage(self.inputs(rows))

    def averaged(self, rows: Any) -> Array:
        """Return outputs of the mean of all hypotheses so far: (n,), or (n, K) for several outputs."""
        return self.inner.averaged(self.inputs(rows))

    # -- abilities of what was learnt --------------------------------------------------------------------------------
    def regret(self) -> float:
        """Return the cumulative loss minus that of the best in hindsight."""
        return self.inner.regret()

    def regret_bound(self, norm2: float | None = None, *, changes: int = 0, against: str = "features") -> float:
        """Return a bound of the regret; see `nystream.learners.abilities.Abilities.regret_bound`."""
        return self.inner.regret_bound(norm2, changes=changes, against=against)

    def log_det(self) -> float:
        """Return log det(A / lam) of the learner's metric or Gram matrix A."""
        return self.inner.log_det()

    def effective_dimension(self) -> float:
        """Return the number of directions in which the data outweigh the ridge."""
        return self.inner.effective_dimension()

    def online_dimension(self) -> float:
        """Return the sum over rounds of s/(1 + s), where s is the leverage of the row when it arrived."""
        return self.inner.online_dimension()

    def weights(self) -> dict[str, float]:
        """Return the shares of the parts (such as experts) in the next prediction, by name."""
        return self.inner.weights()

    def alarms(self, *, warnings: bool = False) -> list[Any]:
        """Return the drift alarms in order: row, estimated change point, cause, columns and outcome; `str` describes an
        alarm.

        With `warnings` the list has shifts of the inputs too that the loss did not confirm (`level` is "warning").
        """
        records = self.inner.alarms(warnings=warnings)
        if self.schema_ is None or not self.schema_.numeric or self.schema_.width is not None:
            return records
        names = self.schema_.names  # the learner knows numbers by their places

        def named(columns: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(names[int(place)] if place.isdigit() else place for place in columns)

        return [alarm._replace(columns=named(alarm.columns)) for alarm in records]

    def on_alarm(self, callback: Listener, *, warnings: bool = False) -> Listener:
        """Call `callback(alarm)` at every drift alarm from now on, with `warnings` also at warnings.

        `alarm` is a record as in `alarms()`. The callback is called when the `step` or `run` that raised the alarm has
        learnt its rows; if it raises, the exception comes out of that call, and the model has learnt the rows. It
        is not saved with the model. Returns the callback, so that this can be a decorator.
        """
        self.inner._require("alarms")
        self._listeners.add(callback, warnings=warnings, row=self.n_seen)
        return callback

    def _announce(self) -> None:
        if self.learner_ is not None:
            self._listeners.announce(self.alarms(warnings=True), self.n_seen)

    # -- asking ------------------------------------------------------------------------------------------------------
    @property
    def link(self) -> str | None:
        """The name in `nystream.learners.links` of the function from log odds to probabilities, or None."""
        return self.inner.link

    def can(self, ability: str) -> bool:
        """Return whether the model, with its task and parameters, has the ability of that name."""
        own = self.inner.can(ability) and ability in FORWARDED
        return own or (ability in FROM_ROWS and self._keeps_rows)

    @property
    def abilities(self) -> frozenset[str]:
        """The names of all abilities that this model has."""
        return (self.inner.abilities & FORWARDED) | (FROM_ROWS if self._keeps_rows else frozenset())

    @property
    def _keeps_rows(self) -> bool:
        """Whether there are rows to explain with, or will be."""
        return (self.recent_ is not None and len(self.recent_) > 0) or (self.keep > 0 and self.n_seen == 0)

    # -- explanations --------------------------------------------------------------------------------------------------
    def importance(
        self,
        rows: Any = None,
        y: Any = None,
        *,
        repeats: int = REPEATS,
        coverage: float = 0.9,
        seed: int = 0,
    ) -> Importance:
        """Return the importance of the columns for the predictions, as shares by name that sum to 1. Pure, and bounded
        in time.

        The figures behind the shares are in `importance().columns`: how much the error grows if the values of the
        column are shuffled among the rows, with an interval, and for `Auto` the share in its learnt metrics. The
        error is the squared error (with several targets, divided by their variances). For classes it is that of the
        probabilities, or the error rate if there are none; for novelty detection it is the change of the score. If
        two columns have the same content, each gets a small share, because the other can replace it.

        Parameters
        ----------
        rows, y : rows with labels, as for `run`
            None: the last rows that were learnt. The model fits these a little too well, so a column of pure noise may
            get a few hundredths of the error. Rows that it has not learnt avoid this.
        repeats, coverage, seed
            See `nystream.explain.permutation_importance`.
        """
        return Explainer(self).importance(rows, y, repeats, coverage, seed)

    def explain_row(
        self, row: Any, of: Any = None, *, background: Any = None, evaluations: int = EVALUATIONS, seed: int = 0
    ) -> Reasons:
        """Return the contribution of each column to the prediction for one row, by name, beside the mean prediction.
        Pure.

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
        """Do `explain_row` for every row of a table."""
        return Explainer(self).explain_rows(rows, of, background, evaluations, seed)

    def partial_dependence(
        self, column: str, of: Any = None, *, points: int = 40
    ) -> tuple[npt.NDArray[Any], Array, Array]:
        """Return values of a column, the mean prediction for each value, and the predictions of single rows.

        The values are evenly spaced quantiles of numbers and times, or the most frequent categories and texts, where
        None is a missing value. The predictions (rows, values) are those of the last rows, each with every value in
        the column in turn; the mean (values,) is over these rows. For classes, they are probabilities of the class
        `of`, by default the last one; for several targets, `of` is by default the first one.
        """
        return Explainer(self).partial_dependence(column, of, points)

    def explain(self) -> str:
        """Return a sentence about the important columns, and the explanation of the learner."""
        return Explainer(self).explain()

    def learnt_shares(self) -> dict[str, float] | None:
        """Return the shares of the columns, by name, in the distances that `Auto` has learnt; None before that.

        The shares are stored, so reading them is cheap enough for every reading along a stream. Pure.
        """
        names = [] if self.schema_ is None else self.schema_.names
        shares = self.inner.column_shares(names)
        if shares is None:
            return None
        found = {name: shares.get(name, 0.0) for name in names}
        total = sum(found.values())
        return {name: share / total for name, share in found.items()} if total > 0 else None

    # -- changes other than learning rows ------------------------------------------------------------------------------
    def declare(self, classes: Any) -> None:
        """Declare classes, whether they have appeared or not. They follow those so far, in this order."""
        changing.declare_classes(self, classes)

    def prepare(self, rows: Any, weights: Any = None) -> None:
        """Give all rows of a batch to the learner before it learns them, for learners that use this.

        For a model with a declared task, and with all its classes, before its first row.
        """
        changing.prepare(self, rows, weights)

    def widen(self, names: Sequence[str] | Mapping[str, str]) -> None:
        """Add columns that appear late: names, or a dict of names to kinds if they are not numbers.

        They were 0 in every row so far, or missing, as the learner has it. `Auto` takes new columns of every kind.
        """
        changing.widen(self, names)

    def admit(self, rows: Any) -> None:
        """Add the columns of these rows that the model does not know, with the kinds of their values.

        Rows that do not fit are refused before anything changes. While the first rows still tell the kinds of columns,
        `run` and `step` add columns themselves, and this does nothing.
        """
        changing.add_columns_of(self, rows)

    def rename(self, names: Mapping[str, str]) -> None:
        """Rename columns."""
        changing.rename(self, names)

    def merge(self, other: Model) -> Self:
        """Become the model of both streams: equal columns, kinds and task, and classes in one order.

        Rows of the other model that wait for their labels stay with it.
        """
        changing.merge(self, other)
        return self

    def unlearn(self, rows: Any, y: Any, weights: Any = None) -> Self:
        """Remove learnt rows exactly."""
        changing.unlearn(self, rows, y, weights)
        return self

    # -- the parts of a round ----------------------------------------------------------------------------------------
    def _open(self, schema: Schema) -> None:
        pattern = self._pattern
        check_sparse(pattern, schema.width)
        schema.check_learner(pattern.takes_tables)
        self.schema_, self.classes_, self.counts_, self.notes_ = schema, list(schema.classes or []), [], {}

    def open_for(self, task: str, columns: Any) -> None:
        """Start with the columns of a schema, or of rows, for a task. The first rows may still change the kinds."""
        if isinstance(columns, Schema):
            self.first_, schema = FirstRows(), columns
        else:
            schema = kinds.first_schema(self, read(columns), None)
        self._open(schema.described(task=task))

    @property
    def _outputs(self) -> int:
        """Columns of labels where there are none to count."""
        if self.task != "regression" or self.schema_ is None:
            return 1
        started = self.learner_ is not None and self.learner_.d_
        return self.inner.outputs_ if started else max(1, len(self.schema_.targets))

    def _class_numbers(self) -> dict[Any, int]:
        if len(self._numbers) != len(self.classes_):
            self._numbers = {name: k for k, name in enumerate(self.classes_)}
        return self._numbers

    def _report_unknown(self, names: list[str]) -> None:
        new = [name for name in names if name not in self._reported]
        if new:
            self._reported.update(new)
            warnings.warn(
                f"the model knows no column {_listed(new)}; its values are ignored", UserWarning, stacklevel=6
            )

    def _report_misfits(self, rows: Any, count: int) -> None:
        """Warn of cells that do not fit their columns. While kinds may still change, they count as missing."""
        assert self.schema_ is not None
        try:
            self.schema_.parse(rows, report=lambda names: None)
        except BadCell as error:
            cells = "the cell counts" if count == 1 else f"{count:,} such cells count"
            warnings.warn(f"{error.problem}; {cells} as missing in predictions", UserWarning, stacklevel=5)

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

    def _check_missing(self, batch: Batch, at: Places = Place) -> None:
        """Refuse missing values where the learner does not take them."""
        X = batch.inputs
        if self.inner.missing or isinstance(X, (Batch, SparseRows)) or (isinstance(X, RawBlock) and X.finite):
            return
        X = np.asarray(X)
        if np.isnan(X.min(initial=0.0)):
            row, j = np.argwhere(np.isnan(X))[0].tolist()
            raise ValueError(
                f"{at(row)}: column {list(batch.kinds)[j]!r} is missing, and {algorithm(self.inner)} takes "
                "no missing values; fill it or leave the row out, or use a learner that takes them, as Auto does"
            )

    # -- the learner inside ------------------------------------------------------------------------------------------
    @property
    def inner(self) -> Learner:
        """The trained learner, or the learner that will be trained after the first label."""
        if self.learner_ is not None:
            return self.learner_
        return self._pattern if self.task is None else self._fresh(self.task)

    @property
    def _width(self) -> int:
        """Columns that the learner gets, as far as that is known."""
        schema = self.schema_ or self.schema
        return 1 if schema is None else len(schema.names)

    def _close_kinds(self) -> None:
        """Make the kinds of all columns final."""
        self.__dict__.pop("first_", None)

    def _reserve_for(self, X: Any) -> None:
        """Make room for the classes that are known, before the first rows are learnt."""
        if self.classes_:
            self.inner.reserve_for(X, self._room)

    @property
    def _room(self) -> int:
        return self.inner.classes or max(2, len(self.classes_))

    def _restore(self, state: dict[str, Any]) -> None:
        waiting = state.get("waiting_") or {}
        if not isinstance(waiting, dict) or any(
            type(id) is not int or not isinstance(kept, list) or len(kept) != 2 or type(kept[0]) not in (dict, list)
            for id, kept in waiting.items()
        ):
            raise ValueError("the rows that wait for their labels are not in order")
        super()._restore(state)

    def _state(self) -> dict[str, Any]:
        """Return the state in one order, so that equal models have equal bytes."""
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
