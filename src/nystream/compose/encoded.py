"""A wrapper for tables with categories, times, text and missing values."""

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
    """A wrapper that gives a learner of numbers the dense encoding of a table (`nystream.data.encoding.Encoder`).

    Numbers are unchanged, a time becomes eight numbers, and a category the mean label of its level so far. Only the
    sparse experts use text. A missing number becomes the mean of its column so far, unless the learner accepts missing
    values. With `experts` the outputs of two linear models of the tokens (`TokenExperts`) are columns too: predictions
    of real targets, scores of classes. Rows are encoded before their labels are learnt.

    Rows are a mapping of names to arrays (a dict, a DataFrame), or one dict of names to values; or a matrix of numbers;
    or, with `experts`, sparse. A late class adds columns if the learner can be widened, as Auto can. Columns that
    appear late: `widen_columns`.

    Parameters
    ----------
    learner : Learner
        The learner. It is cloned and never trained itself. Kernels need columns of similar size: `Standardized` inside.
    kinds : mapping of str to str, optional
        Kind of every column: "number", "boolean", "category", "time" or "text". None: inferred from the types of the
        first rows, where text is a category.
    experts : bool, default False
        Whether outputs of the sparse experts are columns.
    encoder : Encoder, optional
        An encoder with other sizes than the default ones. `fill` depends on the learner.

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
            return "the encoding of a row depends on the rows before it"
        if ability in ("importance", "explain_row") and self.learner.can(ability):
            return "its learner has encoded columns; use a `nystream.Model` around it for the columns of the table"
        if ability == "add_outputs" and self.learner.can(ability):
            return "the encoding has seen no labels of the new outputs"
        return super().why_not(ability)

    def for_classes(self) -> Learner:
        inner = self.learner.for_classes()
        inner = inner if inner.labels == "class" else Classifier(inner)
        return type(self)(**{**self.clone().get_params(deep=False), "learner": inner})

    def prepare(self, X: Any, weights: Any = None) -> None:
        """Do nothing, because the inner learner gets encoded rows."""

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
            raise ValueError(f"{self._kind} does not take sparse rows; use experts=True, Auto or SparseLinear")
        encoder = self.encoder or Encoder()
        encoder = Encoder(**{**encoder.get_params(deep=False), "fill": not self.learner.missing})
        translator = Translator(labels == "class", experts=self.experts, encoder=encoder)
        translator.start(first if isinstance(first, Mapping) else None, 0 if labels == "none" else outputs)
        self.translator_ = translator
        super()._start(translator.width, outputs)

    def _grow(self, outputs: int) -> None:
        """Add classes, exactly as if they had been known, if the inner learner can be widened."""
        inner, translator = self.learner_, self.translator_
        inner.reserve(inner.d_, outputs)  # first, because it may raise an error
        wide = translator.width_of(outputs)
        try:
            inner.widen(wide)
        except TypeError:  # otherwise the columns of the known classes stay
            wide = translator.width
        translator.grow(outputs, columns=wide > translator.width)

    def _widen(self, d: int) -> None:
        raise TypeError(f"{self._kind} takes new columns by name, with their kinds: use widen_columns")

    def widen_columns(self, kinds: Mapping[str, str]) -> None:
        """Add columns by name with their kinds. They count as missing in all rows so far."""
        if not self.d_:
            raise ValueError("nothing was learnt yet: the columns come from the first rows or `kinds`")
        translator = copy.deepcopy(self.translator_)  # if the learner cannot be widened, nothing changes
        translator.widen(kinds)
        self.learner_.widen(translator.width)
        self.translator_ = translator
        self.d_ += len(kinds)

    def _check(self, X: Any, learnt: int) -> None:
        """Raise the errors of the inner learner before any row of the block is learnt."""
        self.translator_.check(X)
        if self.learner_._refuses:  # a learner without checks needs no second encoding
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
        """Yield parts of n rows that are encoded at once: an encoding is several times as large as the table."""
        size = rows_at_once(self.translator_.width)
        return [slice(i, min(i + size, n)) for i in range(0, n, size)] or [slice(0, 0)]

    @property
    def owners(self) -> list[str]:
        """The table's column of each dense column; "" for columns made from all."""
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
    """Return rows for a translator. Columns of a matrix are named by their positions."""
    if isinstance(X, (Batch, SparseRows)):
        return X
    names = [str(j) for j in range(X.shape[1])]
    return Batch(dict(zip(names, X.T, strict=True)), dict.fromkeys(names, "number"))
