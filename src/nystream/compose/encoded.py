"""Any learner on tables with categories, times, text and missing values."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nystream.compose.classifier import Classifier
from nystream.compose.wrapper import Wrapper
from nystream.data.batch import Batch
from nystream.data.encoding import Encoder
from nystream.data.inputs import rows_at_once
from nystream.data.sparse_rows import SparseRows
from nystream.learners.base import Learner
from nystream.learners.families.tabular import Opening, TabularLearner
from nystream.learners.translator import Translator
from nystream.runtime.params import one_of
from nystream.runtime.types import Array

__all__ = ["Encoded"]


class Encoded(TabularLearner, Wrapper):
    """Gives a learner of numbers the dense encoding of a table's columns, see `nystream.data.encoding.Encoder`.

    Numbers are passed on as they are, times as eight numbers, categories as the mean label of their level so far; what
    text says only the sparse experts hear. Missing numbers are the mean of their column so far, unless the learner
    takes missing values itself. With `experts` what two linear models of the tokens say (`TokenExperts`) are columns
    too, of real targets the predictions, of classes the scores. Rows are encoded before their labels are learnt.

    Rows are a mapping of names to arrays (a dict, a DataFrame), one row a dict of names to values; or a matrix, all of
    whose columns are numbers; or, with `experts`, sparse. A late class adds columns if the learner can be widened, as
    Auto can; else it has none. Columns that appear late: `widen_columns`.

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

    translator_: Translator
    _largest: float = 0.0  # of the labels of the block that is being learnt

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
    def takes_sparse(self) -> bool:
        return self.experts

    @property
    def takes_parts(self) -> bool:
        return False

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
    @property
    def opening(self) -> Opening:
        if self.d_:
            encoder = self.translator_.encoder_
            return "sparse" if encoder is None else encoder.kinds_
        return None if self.kinds is None else dict(self.kinds)

    def _accepted(self, X: Any) -> Any:
        return _rows(super()._accepted(X))

    def run_clean(self, X: Any, Y: Array, weights: Array | None = None) -> Array:
        self._largest = float(np.abs(Y).max(initial=0.0))
        return super().run_clean(_rows(X), Y, weights)

    def step_clean(self, x: Any, y: Array, weight: float = 1.0) -> Array:
        return self.run_clean(x[None], y[None], None if weight == 1.0 else np.array([weight]))[0]

    def _asked(self, ability: str, X: Any) -> Array:
        self._require(ability)
        rows = self._accepted(X)
        return self._inward(rows) if self.d_ else np.zeros((len(rows), 1))

    # -- rounds ------------------------------------------------------------------------------------------------------
    def _start(self, d: int, outputs: int) -> None:
        labels, first = self.labels, self._first or self.kinds or {str(j): "number" for j in range(d)}
        if first == "sparse" and not self.experts:
            raise ValueError(f"{self._kind} has nothing to make of sparse rows; use experts=True, Auto or SparseLinear")
        encoder = self.encoder or Encoder()
        encoder = Encoder(**{**encoder.get_params(deep=False), "fill": not self.learner.missing})
        translator = Translator(labels == "class", experts=self.experts, encoder=encoder)
        translator.start(first if isinstance(first, Mapping) else None, 0 if labels == "none" else outputs)
        self.translator_ = translator
        super()._start(translator.width, outputs)

    def _grow(self, outputs: int) -> None:
        """Classes that are new: exactly as if they had been known, if the inner learner takes the new columns."""
        inner, translator = self.learner_, self.translator_
        inner.reserve(inner.d_, outputs)  # first: what may be refused
        wide = translator.width_of(outputs)
        try:
            inner.widen(wide)
        except TypeError:  # then the columns stay those of the classes that were known
            wide = translator.width
        translator.grow(outputs, columns=wide > translator.width)

    def _widen(self, d: int) -> None:
        raise TypeError(f"{self._kind} takes new columns by name, with their kinds: use widen_columns")

    def widen_columns(self, kinds: Mapping[str, str]) -> None:
        """More columns of the table, by name with their kinds; they were missing in all rows so far."""
        if not self.d_:
            raise ValueError("nothing was learnt yet: the first rows tell the columns, or `kinds`")
        translator = copy.deepcopy(self.translator_)  # a learner that cannot be widened refuses, and nothing changes
        translator.widen(kinds)
        self.learner_.widen(translator.width)
        self.translator_ = translator
        self.d_ += len(kinds)

    def _check(self, X: Any, learnt: int) -> None:
        """Refuse what the inner learner would refuse, whatever the rows before it in the block make of a row."""
        self.translator_.check(X)
        if self.learner_._refuses:  # who refuses nothing need not see the rows twice
            for part in self._parts(len(X)):
                self.learner_._check(self.translator_.extreme(X[part], self._largest), learnt)

    def _inward(self, X: Any) -> Array:
        return self.translator_.predict(_rows(X)).dense

    def _predict(self, X: Any) -> Array:
        return np.vstack([super(Encoded, self)._predict(X[part]) for part in self._parts(len(X))])

    def _predict_later(self, X: Any) -> Array:
        return np.vstack([super(Encoded, self)._predict_later(X[part]) for part in self._parts(len(X))])

    def _run(self, X: Any, Y: Array, weights: Array | None) -> Array:
        P = []
        for part in self._parts(len(X)):
            w = None if weights is None else weights[part]
            P.append(self.learner_.run_clean(self.translator_.run(X[part], Y[part], w).dense, Y[part], w))
        return np.vstack(P)

    def _parts(self, n: int) -> list[slice]:
        """Of n rows, those that are encoded at once: an encoding takes several times as much memory as the table."""
        size = rows_at_once(self.translator_.width)
        return [slice(i, min(i + size, n)) for i in range(0, n, size)] or [slice(0, 0)]

    @property
    def owners(self) -> list[str]:
        """The table's column that each dense column comes from; "" of what comes from all."""
        return self.translator_.owners

    @property
    def follows_order(self) -> bool:
        return self.learner.follows_order

    def settle(self) -> None:
        if self.d_:
            self.learner_.settle()

    def column_shares(self, columns: Sequence[str]) -> dict[str, float] | None:
        return self.learner_.column_shares(self.owners) if self.d_ else None

    def recent_share(self) -> float | None:
        return self.learner_.recent_share() if self.d_ else None

    @property
    def _own_bytes(self) -> int:
        return self.translator_.nbytes


def _rows(X: Any) -> Any:
    """Rows for a translator; a matrix as numbers that are called by their places."""
    if isinstance(X, (Batch, SparseRows)):
        return X
    names = [str(j) for j in range(X.shape[1])]
    return Batch(dict(zip(names, X.T, strict=True)), dict.fromkeys(names, "number"))
