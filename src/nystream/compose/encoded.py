"""Any learner on tables with categories, times, text and missing values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nystream.compose.classifier import Classifier
from nystream.compose.wrapper import Wrapper
from nystream.encoding import Columns, Encoder, Encoding, kinds_of
from nystream.inputs import as_block, as_labels, as_row, as_weights
from nystream.learners.base import Learner
from nystream.learners.token_experts import TokenExperts
from nystream.params import one_of
from nystream.types import Array

__all__ = ["Encoded"]

COLUMNS = ("descent", "filter")
"""Sparse experts whose answers are columns."""


class Encoded(Wrapper):
    """Gives a learner of numbers the dense encoding of a table's columns, see `nystream.encoding.Encoder`.

    Numbers are passed on as they are, times as eight numbers, categories as the mean label of their level so far; what
    text says only the sparse experts hear. Missing numbers are the mean of their column so far, unless the learner
    takes missing values itself. With `experts` what two linear models of the tokens say (`TokenExperts`) are columns
    too, of real targets the predictions, of classes the scores. Rows are encoded before their labels are learnt.

    Rows are a mapping of names to arrays (a dict, a DataFrame), one row a dict of names to values; or a matrix, all of
    whose columns are numbers. A late class adds columns if the learner can be widened, as Auto can; else it has none.

    Parameters
    ----------
    learner : Learner
        The pattern; it is cloned, never trained itself. Kernels need columns of similar size: `Standardized` inside.
    kinds : mapping of str to str, optional
        Kind of every column: "number", "boolean", "category", "time" or "text". None: told by the types of the first
        rows, where text is a category.
    experts : bool, default False
        Whether answers of the sparse experts are columns.
    encoder : Encoder, optional
        With other sizes than the default ones; `fill` is decided by the learner.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream import PKRR, Encoded, Standardized, WithConstant
    >>> rng = np.random.default_rng(0)
    >>> shop = rng.choice(["a", "b", "c"], size=500)
    >>> table = {"shop": shop, "size": rng.normal(size=500)}
    >>> y = np.where(shop == "b", 10.0, 0.0) + table["size"]
    >>> model = Encoded(Standardized(PKRR(WithConstant(), lam=0.1)))
    >>> p = model.run(table, y)
    >>> bool(np.mean((p - y)[250:] ** 2) < 0.1 * y.var())
    True
    """

    encoder_: Encoder
    experts_: TokenExperts | None
    layout_: list[str]
    """The columns that the learner gets, by name: those that came later are last."""
    _first: Mapping[str, str] | None = None  # kinds of the first rows

    def __init__(
        self,
        learner: Learner,
        kinds: Mapping[str, str] | None = None,
        *,
        experts: bool = False,
        encoder: Encoder | None = None,
    ) -> None:
        self.learner = learner
        self.kinds = kinds
        self.experts = experts
        self.encoder = encoder
        if kinds is not None and not isinstance(kinds, Mapping):
            raise ValueError(f"kinds must map names of columns to their kinds, got {kinds!r}")
        for name, kind in (kinds or {}).items():
            one_of(f"the kind of column {name!r}", kind, ("number", "boolean", "category", "time", "text"))
        if experts and learner.labels == "none":
            raise ValueError("experts need labels, and this learner has none; use experts=False")

    @property
    def missing(self) -> bool:
        return True

    @property
    def takes_tables(self) -> bool:
        return True

    @property
    def separable(self) -> bool:
        return False  # every target's means are columns for all

    def why_not(self, ability: str) -> str | None:
        if ability in ("merge", "unlearn") and self.learner.can(ability):
            return "every row was encoded by those before it, which other rows, or fewer, would have encoded otherwise"
        if ability in ("importance", "explain_row") and self.learner.can(ability):
            return "its learner knows encodings and not columns; a `nystream.Model` around it tells of columns"
        if ability == "add_outputs" and self.learner.can(ability):
            return "the encoding has seen no labels of the new outputs"
        return super().why_not(ability)

    def for_classes(self) -> Learner:
        inner = self.learner.for_classes()
        inner = inner if inner.labels == "class" else Classifier(inner)
        return type(self)(**{**self.clone().get_params(deep=False), "learner": inner})

    def prepare(self, X: Any, weights: Any = None) -> None:
        """Nothing: rows are encoded when they come, so the inner learner sees other ones."""

    # -- rows of tables ----------------------------------------------------------------------------------------------
    def step(self, x: Any, y: Any = None, weight: float = 1.0) -> Any:
        """`run` on one row: a dict of names to values, or numbers (d,)."""
        if isinstance(x, Mapping):
            x = {name: _one(value) for name, value in x.items()}
        elif not isinstance(x, Columns):
            x = as_row(x, self.d_ or None, missing=True)[None]
        p = self.run(x, None if y is None else np.asarray(y)[None], None if weight == 1.0 else [weight])[0]
        return float(p) if np.ndim(p) == 0 else p

    def run(self, X: Any, Y: Any = None, weights: Any = None) -> Array:
        """`step` over the rows of a table in order, as one block: the same predictions and the same model after it."""
        X = self._accepted(X)
        Y = as_labels(Y, self.labels, len(X), self.classes)
        return self._outward(self.run_clean(X, Y, as_weights(weights, len(X))))

    def _accepted(self, X: Any) -> Columns:
        kinds = self.encoder_.kinds_ if self.d_ else self.kinds
        if isinstance(X, Columns):
            if kinds is not None and dict(kinds) != X.kinds:
                raise ValueError(f"columns are {X.kinds}, but {dict(kinds)} were declared")
            return X
        if isinstance(X, Mapping) or (hasattr(X, "items") and hasattr(X, "columns")):
            content = {str(name): np.asarray(values) for name, values in X.items()}
            return Columns(content, kinds_of(content) if kinds is None else kinds)
        X = as_block(X, None if kinds is None else len(kinds), missing=True)
        names = [str(j) for j in range(X.shape[1])] if kinds is None else list(kinds)
        return Columns(dict(zip(names, X.T, strict=True)), kinds or dict.fromkeys(names, "number"))

    def run_clean(self, X: Any, Y: Array, weights: Array | None = None) -> Array:
        self._first = _columns(X).kinds
        return super().run_clean(_columns(X), Y, weights)  # type: ignore[arg-type]

    def step_clean(self, x: Any, y: Array, weight: float = 1.0) -> Array:
        return self.run_clean(x[None], y[None], None if weight == 1.0 else np.array([weight]))[0]

    def _asked(self, ability: str, X: Any) -> Array:
        self._require(ability)
        columns = self._accepted(X)
        if not self.d_:
            return np.zeros((len(columns), 1))
        return self._inward(columns)

    # -- rounds ------------------------------------------------------------------------------------------------------
    def _start(self, d: int, outputs: int) -> None:
        encoder = self.encoder or Encoder()
        encoder = Encoder(**{**encoder.get_params(deep=False), "fill": not self.learner.missing})
        labels, kinds = self.labels, self._first or self.kinds or {str(j): "number" for j in range(d)}
        encoder.start(kinds, 0 if labels == "none" else outputs, classes=labels == "class")
        experts = TokenExperts(classes=labels == "class") if self.experts else None
        if experts is not None:
            experts.start(outputs)
        self.encoder_, self.experts_ = encoder, experts
        self.layout_ = self._named(outputs)
        self._lay_out(outputs)
        super()._start(len(self.layout_), outputs)

    def _grow(self, outputs: int) -> None:
        """Classes that are new: exactly as if they had been known, if the inner learner takes the new columns."""
        inner, before = self.learner_, len(self.layout_)
        wide = before + self.encoder_.width_of(outputs) - self.encoder_.width
        if self.experts_ is not None:
            wide += len(COLUMNS) * (outputs - inner.outputs_)
        try:
            inner.widen(wide)
        except TypeError:  # then the columns stay those of the classes that were known
            wide = before
        else:
            self.encoder_.grow(outputs)
        inner.reserve(wide, outputs)
        if self.experts_ is not None:
            self.experts_.grow(outputs)
        if wide > before:
            known = set(self.layout_)
            self.layout_ = self.layout_ + [name for name in self._named(outputs) if name not in known]
        self._lay_out(outputs)

    def _widen(self, d: int) -> None:
        raise TypeError(f"{self._kind} takes the columns of its first rows; begin a new one for more")

    def _check(self, X: Any, learnt: int) -> None:
        self.learner_._check(self._inward(_columns(X)), learnt)

    def _inward(self, X: Any) -> Array:
        rows = self.encoder_.encode(_columns(X))
        return self._laid_out(rows, None if self.experts_ is None else self.experts_.predict(rows))

    def _run(self, X: Any, Y: Array, weights: Array | None) -> Array:
        rows = self.encoder_.run(_columns(X), Y, weights)
        inputs = self._laid_out(rows, None if self.experts_ is None else self.experts_.run(rows, Y, weights))
        return self.learner_.run_clean(inputs, Y, weights)

    def _laid_out(self, rows: Encoding, said: Array | None) -> Array:
        """The columns of `layout_`."""
        if said is None or self.experts_ is None:
            X = rows.dense
        else:
            chosen = [self.experts_.names.index(name) for name in COLUMNS]
            X = np.hstack([rows.dense, said[:, chosen].reshape(len(said), -1)])
        return X if self._order is None else np.ascontiguousarray(X[:, self._order])

    def _lay_out(self, outputs: int) -> None:
        """Where the columns of `layout_` are among all of them now."""
        names = self._named(outputs)
        place = {name: i for i, name in enumerate(names)}
        self._order = None if names == self.layout_ else [place[name] for name in self.layout_]

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if "layout_" in state:
            self._lay_out(self.outputs_)

    def _named(self, outputs: int) -> list[str]:
        """Names of the encoder's columns, and of the experts' for so many outputs."""
        names = [f"{name}: {part}" for name, part in self.encoder_.dense_names()]
        if self.experts_ is not None:
            names += [f"{expert}, output {k}" for expert in COLUMNS for k in range(outputs)]
        return names

    @property
    def owners(self) -> list[str]:
        """The table's column that each column of `layout_` comes from; "" of what comes from all."""
        parts = {f"{name}: {part}": name for name, part in self.encoder_.dense_names()}
        return [parts.get(name, "") for name in self.layout_]

    @property
    def _own_bytes(self) -> int:
        return self.encoder_.nbytes + (self.experts_.nbytes if self.experts_ is not None else 0)


def _columns(X: Any) -> Columns:
    """Rows as columns; a matrix as numbers that are called by their places."""
    if isinstance(X, Columns):
        return X
    names = [str(j) for j in range(X.shape[1])]
    return Columns(dict(zip(names, X.T, strict=True)), dict.fromkeys(names, "number"))


def _one(value: Any) -> Any:
    """An array of one value."""
    if isinstance(value, np.datetime64):
        return np.array([value])
    return np.array([value], dtype=object if value is None or isinstance(value, str) else None)
