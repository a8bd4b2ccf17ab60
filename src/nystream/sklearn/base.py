"""The base class of the estimators for scikit-learn. Only this module imports scikit-learn."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from nystream.auto.learner import Auto
from nystream.data.batch import NUMERIC
from nystream.data.frames import frame_columns
from nystream.data.inputs import RawBlock, as_row, raw_block, rows_of
from nystream.data.kinds import look_at
from nystream.data.reading import Table, read
from nystream.data.schema import Schema
from nystream.data.sparse_rows import NARROW, is_sparse
from nystream.data.targets import target_columns
from nystream.data.values import is_absent
from nystream.explain import Importance, Reasons
from nystream.learners.base import Learner
from nystream.model import Model
from nystream.model.loading import load_trained
from nystream.runtime.types import Array

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, RegressorMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import (
        _check_sample_weight,
        _check_y,
        check_array,
        check_consistent_length,
        check_is_fitted,
        validate_data,
    )
except ImportError as error:
    raise ImportError("nystream.sklearn needs scikit-learn 1.6 or newer: pip install 'nystream[sklearn]'") from error

__all__ = [
    "BaseEstimator",
    "ClassifierMixin",
    "Online",
    "OutlierMixin",
    "RegressorMixin",
    "check_classification_targets",
    "check_is_fitted",
    "fitted",
    "validate_data",
]

_LABELS: dict[str, Any] = {"dtype": None, "ensure_2d": False}
"""How scikit-learn checks labels that belong to a table."""
SEED = 0
"""The seed of the shuffle in `fitted`, so that equal calls of `fit` give equal models."""


class Online(BaseEstimator):  # type: ignore[misc]
    """The base class of the estimators: a `nystream.Model` inside, checks of inputs and weights, saving and loading.

    The fitted model is `model_`, its trained learner `learner_`.
    """

    model_: Model

    _task: ClassVar[str] = "regression"
    _target: ClassVar[dict[str, bool]] = {}
    """How scikit-learn checks y."""
    _default_missing: ClassVar[bool] = True
    """Whether nan is a missing value to the learner of `learner=None`."""
    _default_sparse: ClassVar[bool] = True
    """Whether that takes sparse rows."""

    def __init__(self, learner: Learner | None = None) -> None:
        self.learner = learner

    @property
    def learner_(self) -> Learner:
        """The trained learner."""
        check_is_fitted(self, "model_")
        return self.model_.inner

    def set_params(self, **params: Any) -> Self:
        """Set parameters as in scikit-learn; `learner__memory` is one of the learner, also of the default learner."""
        inside = any(name.startswith("learner__") for name in params)
        if inside and self.learner is None and params.get("learner") is None:
            params = {"learner": Auto(), **{name: value for name, value in params.items() if name != "learner"}}
        found: Self = super().set_params(**params)
        return found

    def explain(self) -> str:
        """Return a sentence about the columns that the predictions depend on, then a few lines from the learner."""
        check_is_fitted(self, "model_")
        return self.model_.explain()

    def importance(self, X: Any = None, y: Any = None) -> Importance:
        """Return the importance of the columns, as shares by name: see `nystream.Model.importance`.

        Measured on rows X with labels y; without them on the last rows that were learnt.
        """
        check_is_fitted(self, "model_")
        return self.model_.importance() if X is None else self.model_.importance(self._clean(X), y)

    def explain_row(self, row: Any, of: Any = None) -> Reasons:
        """Return the contribution of each column to the prediction for one row, by name: see
        `nystream.Model.explain_row`.
        """
        check_is_fitted(self, "model_")
        if isinstance(row, Mapping) or (hasattr(row, "items") and np.ndim(row) == 1):  # a dict, a pandas Series
            return self.model_.explain_row(dict(row.items()), of)
        return self.model_.explain_row(self._row(row) if np.ndim(row) == 1 else self._clean(row), of)

    def _row(self, row: Any) -> Array:
        return as_row(row, self.n_features_in_, "row", missing=self._missing)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, atomically; for `load`, `nystream.load` and the commands."""
        check_is_fitted(self, "model_")
        self._note(self.model_.notes_)
        self.model_.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return a fitted estimator with a saved model of the same task, from an estimator, a command or Python."""
        model = load_trained(path, cls._task, cls.__name__)
        assert model.schema_ is not None
        estimator = cls(learner=model.learner)
        names = model.schema_.names
        estimator.n_features_in_ = model.schema_.width or len(names)
        if names != [str(j) for j in range(len(names))]:
            estimator.feature_names_in_ = np.array(names, dtype=object)
        estimator._adopt(model)
        return estimator

    def _adopt(self, model: Model) -> None:
        """Take a trained model for one's own."""
        self.model_ = model

    def _note(self, notes: dict[str, Any]) -> None:
        """Write down what belongs to the estimator and not to the model."""

    def _fresh(self, X: Any, **settings: Any) -> Model:
        """Return a model that has learnt nothing, for the columns of rows that were checked."""
        names = getattr(self, "feature_names_in_", None)
        columns = [str(j) for j in range(self.n_features_in_)] if names is None else [str(name) for name in names]
        wide = is_sparse(X) and X.shape[1] > NARROW
        schema = Schema({}, width=X.shape[1]) if wide else Schema.of(X) if isinstance(X, Table) else Schema(columns)
        schema = schema.described(task=self._task, classes=settings.pop("classes", None))
        return Model(self.learner, schema, **settings)

    @property
    def _all_numbers(self) -> bool:
        """Whether the columns of the fitted model are numbers, or sparse."""
        schema = self.model_.schema_
        return schema is None or schema.numeric

    def _rows(self, X: Any, reset: bool) -> Any:
        """Return rows as scikit-learn checks them; or, of a frame with categories, times or text, its table."""
        table = _other_than_numbers(X) if reset else None if self._all_numbers else read(X)
        if table is None:
            rows = self._in_parts(X, reset)
            return validate_data(self, X, reset=reset, **self._numbers) if rows is None else rows
        if reset:
            self.n_features_in_ = len(table.columns)
            self.feature_names_in_ = np.array(list(table.columns), dtype=object)
        return table

    def _in_parts(self, X: Any, reset: bool) -> RawBlock | None:
        """Return a long frame that scikit-learn checks and converts block by block; None for all else."""
        known = None if isinstance(X, np.ndarray) else rows_of(X)
        found = None if known is None else raw_block(X, missing=True, infinite=True)
        if known is None or found is None:
            return None
        shape, rows = known
        if found.glance():  # finite numbers in all columns: one row tells the rest
            validate_data(self, rows(slice(0, 1)), reset=reset, **self._numbers)
            return found
        plain = all(isinstance(dtype, np.dtype) for dtype in getattr(X, "dtypes", [None]))

        def take(picked: Any) -> Array:
            some = rows(picked) if plain else check_array(rows(picked), ensure_all_finite=False)
            return np.ascontiguousarray(some, dtype=np.float64)

        found = RawBlock(shape, take)
        for i, part in enumerate(found.parts()):
            validate_data(self, rows(part), reset=reset and not i, **self._numbers)
        found.finite = not self._missing  # it was looked at
        return found

    def _checked(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool, keep: bool = False, partly: bool = False
    ) -> tuple[Array, Any, Array | None]:
        """Clean X, y, weights (None: all 1). Rows of weight 0 are left out, unless `keep`; `partly`: labels may lack.

        Labels of which some are missing come as a list with None in their places.
        """
        there = _there(y) if partly else None
        tabular = _other_than_numbers(X) is not None if reset else not self._all_numbers
        if not tabular and (there is None or there.all()):
            rows = None if y is None else self._in_parts(X, reset)
            if rows is None:
                X, y = validate_data(self, X, y, reset=reset, **self._numbers, **self._target)
            else:
                X, y = rows, _check_y(y, **self._target, estimator=self)
                check_consistent_length(X, y)
        else:
            X = self._rows(X, reset)
            y = _listed(y) if there is not None and not there.all() else check_array(y, **_LABELS)
            if len(y) != _count(X):
                raise ValueError(f"y has {len(y)} labels for the {_count(X)} rows of X")
        if sample_weight is None:
            return X, y, None
        weights: Array = _check_sample_weight(sample_weight, np.empty((_count(X), 1)), dtype=np.float64)
        if bool((weights < 0).any()):
            raise ValueError("sample_weight has negative values; weights must be at least 0")
        some = weights > 0
        if not some.any():
            raise ValueError("sample_weight is zero for every row; at least one weight must be positive")
        if not keep and not some.all():
            y = [label for label, kept in zip(y, some, strict=True) if kept] if isinstance(y, list) else y[some]
            X, weights = _picked(X, np.flatnonzero(some)), weights[some]
        return X, y, None if bool((weights == 1).all()) else weights

    def _clean(self, X: Any) -> Any:
        check_is_fitted(self, "model_")
        return self._rows(X, reset=False)

    @property
    def _missing(self) -> bool:
        return self._default_missing if not isinstance(self.learner, Learner) else self.learner.missing

    @property
    def _numbers(self) -> dict[str, Any]:
        """How scikit-learn checks X; numbers keep their type and order, the model converts them in parts."""
        finite: Any = "allow-nan" if self._missing else True
        sparse: Any = "csr" if self._sparse else False
        return {"dtype": "numeric", "ensure_all_finite": finite, "accept_sparse": sparse}

    @property
    def _sparse(self) -> bool:
        """Whether the learner takes sparse rows."""
        return self._default_sparse if not isinstance(self.learner, Learner) else self.learner.takes_sparse

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._missing
        tags.input_tags.sparse = self._sparse
        return tags


def fitted(model: Model, X: Any, y: Any, weights: Array | None) -> Model:
    """Return the model after one pass over rows that are given all at once, in an order that has no meaning.

    Some learners use the whole of X before they learn. `Auto` depends on the order: if rows are sorted by label, it
    expects the last label again. So it gets the rows shuffled, always in the same way, and its unfinished refits are
    completed when the pass is over.
    """
    model.prepare(X, weights)
    if not model.inner.follows_order:
        model.run_scores(X, y, weights)
        return model
    order = np.random.default_rng(SEED).permutation(_count(X))
    if isinstance(X, np.ndarray):
        whole = X
        X = RawBlock(X.shape, lambda rows: np.ascontiguousarray(whole[rows], dtype=np.float64))
    model.run_scores(_picked(X, order), y[order], None if weights is None else weights[order])
    model.inner.settle()
    return model


def _other_than_numbers(X: Any) -> Table | None:
    """Return the table of a frame of which some columns are neither numbers nor booleans; None for all else."""
    if not (hasattr(X, "columns") or hasattr(X, "column_names")) or frame_columns(X) is not None:
        return None
    table = read(X)
    doubtful = {name: values for name, values in table.columns.items() if table.kinds.get(name) not in NUMERIC}
    kinds = (look_at(values, table.kinds.get(name)).kind for name, values in doubtful.items())
    return table if any(kind not in NUMERIC for kind in kinds) else None


def _count(X: Any) -> int:
    """Count the rows of a table, or of a matrix that may be sparse."""
    return int(X.shape[0]) if is_sparse(X) else len(X)


def _picked(X: Any, index: Any) -> Any:
    if isinstance(X, RawBlock):
        return X.picked(index)
    return X.ordered(index) if isinstance(X, Table) else X[index]


def _there(y: Any) -> Any:
    """Return which labels there are; None where y is no column of labels, which scikit-learn then reports."""
    try:
        parts = target_columns(y, len(y))
    except (TypeError, ValueError):
        return None
    return np.array([not any(is_absent(v) or v == "" for v in row) for row in zip(*parts, strict=True)], dtype=bool)


def _listed(y: Any) -> list[Any]:
    parts = [part.tolist() if isinstance(part, np.ndarray) else list(part) for part in target_columns(y, len(y))]
    return parts[0] if len(parts) == 1 else [list(row) for row in zip(*parts, strict=True)]
