"""Rows of tables, or sparse rows, as numbers for a learner of dense rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from nystream.data.encoding import Encoder, Encoding
from nystream.data.sparse_rows import SparseRows
from nystream.learners.token_experts import TOKENS, TokenExperts
from nystream.runtime.params import Params, at_least
from nystream.runtime.types import Array

__all__ = ["LevelEffect", "Translated", "Translator"]

COLUMNS = ("filter", "descent")
"""Sparse experts whose predictions become dense columns: the last ones of `answers`."""
MOST_CLASSES = 9
"""The largest number of classes, the first ones, whose scores are dense columns."""
SURE = 10.0
"""Scores of classes are clipped to this size."""
TITLES = {"descent": "linear in levels, words and bins", "filter": "linear in those and pairs of levels, filtered"}
SPARSE_TITLES = {"descent": "linear in the sparse columns", "filter": "linear in the sparse columns, filtered"}
"""Readable names of the experts for tables and for sparse rows."""


class Translated(NamedTuple):
    """Translated rows: dense numbers, and predictions of linear models of sparse rows."""

    dense: Array
    """(n, D)"""
    answers: Array
    """(n, E, C) answers of the sparse experts: labels, or scores of classes (C = 1 for two: that of class 1)."""


class LevelEffect(NamedTuple):
    """The effect of a level of a category, or of a word, on a target or on the score of a class."""

    column: str
    level: str
    output: int
    effect: float


class Translator(Params):
    """Translates rows of a table, or sparse rows, to dense numbers and predictions of linear models of sparse rows.

    The dense numbers are those of the encoder (`nystream.data.encoding.Encoder`; sparse rows have none) and the
    predictions of the pool of descents and of the filter (`TokenExperts`). The predictions of the descent at each rate
    and of the filter are also returned separately, for a learner that combines experts. Every row is translated before
    its label is learnt.

    Parameters
    ----------
    classes : bool
        Whether labels are numbers of classes.
    experts : bool, default True
        Whether there are sparse experts at all.
    encoder : Encoder, optional
        The pattern of the encoder, with other sizes than the default ones.
    max_bytes : int, default 2^25
        Of the tables of the experts.
    apart : bool, default True
        Whether the answers of the experts come apart too; else they are dense columns alone.
    """

    encoder_: Encoder | None
    """None where rows are sparse."""
    experts_: TokenExperts | None
    outputs_: int
    layout_: list[str]
    """The dense columns by name: those that came later are last."""

    def __init__(
        self,
        classes: bool,
        *,
        experts: bool = True,
        encoder: Encoder | None = None,
        max_bytes: int = 2**25,
        apart: bool = True,
    ) -> None:
        self.classes = classes
        self.experts = experts
        self.encoder = encoder
        self.max_bytes = at_least("max_bytes", max_bytes, 1)
        self.apart = apart

    def start(self, kinds: Mapping[str, str] | None, outputs: int) -> None:
        """Start with columns by name and their kinds, or None for sparse rows, and this number of targets (0: none) or
        classes.
        """
        self.encoder_ = self.experts_ = None
        if kinds is not None:
            self.encoder_ = Encoder() if self.encoder is None else self.encoder.clone()
            self.encoder_.start(kinds, outputs, classes=self.classes)
        if self.experts:
            self.experts_ = TokenExperts(self.classes, self.max_bytes)
            self.experts_.start(outputs)
        self.outputs_ = outputs
        self.layout_ = self._named(outputs)
        self._lay_out()

    @property
    def sparse(self) -> bool:
        """Whether rows are sparse, and not columns of a table."""
        return self.encoder_ is None

    @property
    def width(self) -> int:
        """Number of dense columns."""
        return len(self.layout_)

    @property
    def owners(self) -> list[str]:
        """The table's column that each dense column comes from; "" for columns made from all."""
        owners = dict(zip(self._titles(), (name for name, _ in self._parts()), strict=True))
        return [owners.get(title, "") for title in self.layout_]

    @property
    def titles(self) -> list[str]:
        """Titles of the experts that made the `answers`, for people."""
        if self.experts_ is None or not self.apart:
            return []
        words = SPARSE_TITLES if self.sparse else TITLES
        return [
            words["filter"] if name == "filter" else name.replace("descent", words["descent"])
            for name in self.experts_.names[:-1]
        ]

    def level_effects(self) -> list[LevelEffect]:
        """Return the effects of levels and words with known names on the predictions of the linear model, largest
        first. Pure.
        """
        if self.encoder_ is None or self.experts_ is None:
            return []
        names = {h: name for h, name in self.encoder_.token_names().items() if name[1] != "value"}
        if not names:
            return []
        n = len(names)
        begin, end = np.arange(n + 1), np.minimum(np.arange(1, n + 2), n)  # the last row is empty
        indices = np.array(list(names), dtype=np.uint32)
        rows = SparseRows(begin, end, indices, np.ones(n), TOKENS)
        answers = self.experts_.descent_.predict_apart(rows)[0]
        effects = answers[:-1] - answers[-1]
        outputs = np.abs(effects).argmax(axis=1)
        found = [
            LevelEffect(column, level, int(k), float(effect[k]))
            for (column, level), effect, k in zip(names.values(), effects, outputs, strict=True)
        ]
        return sorted(found, key=lambda level: -abs(level.effect))

    # -- rows --------------------------------------------------------------------------------------------------------
    def predict(self, rows: Any) -> Translated:
        """Return the translation of the rows now. Pure."""
        if self.encoder_ is None:
            assert self.experts_ is not None
            return self._translated(None, self.experts_.predict(rows, rows), len(rows))
        encoded = self.encoder_.encode(rows)
        answers = None if self.experts_ is None else self.experts_.predict(encoded.plain, encoded.tokens)
        return self._translated(encoded, answers, len(rows))

    def run(self, rows: Any, Y: Array, weights: Array | None = None) -> Translated:
        """Do `predict` for each row before its label in Y (n, K) or (n, 1) is learnt. Classes are known, weights are
        above 0.
        """
        if self.encoder_ is None:
            assert self.experts_ is not None
            return self._translated(None, self.experts_.run(rows, rows, Y, weights), len(rows))
        encoded = self.encoder_.run(rows, Y, weights)
        answers = None if self.experts_ is None else self.experts_.run(encoded.plain, encoded.tokens, Y, weights)
        return self._translated(encoded, answers, len(rows))

    def check(self, rows: Any) -> None:
        """Raise an error for values that no learner can use, before anything changes."""
        if isinstance(rows, SparseRows) and self.experts_ is not None:
            self.experts_.check(rows)

    def extreme(self, rows: Any, largest: float) -> Array:
        """Return the rows (n, D) with every column that comes from labels as large as labels of at most this size can
        make it. A learner that refuses large rows checks them before anything is learnt.
        """
        X = self.predict(rows).dense
        if self.classes:
            bound = SURE
        else:
            known = 0.0 if self.experts_ is None else float(np.abs(self.experts_.descent_.moments_[:, 3:]).max())
            bound = 2.0 * max(largest, known)  # experts stay within the range of the labels and half of it around
        moved = self._from_labels()
        derived = [j for j, name in enumerate(self.layout_) if name in moved]
        X[:, derived] = np.copysign(np.maximum(np.abs(X[:, derived]), bound), X[:, derived])
        return X

    def _from_labels(self) -> set[str]:
        """Return the names of the dense columns whose values depend on labels."""
        names = self._expert_columns(self.outputs_)
        if self.encoder_ is not None:
            titles = self._titles()
            names += [titles[j] for j in self.encoder_.means_.ravel().tolist()]
        return set(names)

    # -- more classes, more columns ----------------------------------------------------------------------------------
    def width_of(self, outputs: int) -> int:
        """Return the `width` for this number of targets or classes."""
        new = len(set(self._expert_columns(outputs)) - set(self.layout_))
        return (
            self.width + new + (0 if self.encoder_ is None else self.encoder_.width_of(outputs) - self.encoder_.width)
        )

    def grow(self, outputs: int, *, columns: bool = True) -> None:
        """Add classes that appear late, exactly as if they had been known; without `columns` no dense columns are
        added.
        """
        known = set(self._named(self.outputs_)) | set(self.layout_)
        if columns and self.encoder_ is not None:
            self.encoder_.grow(outputs)
        if self.experts_ is not None:
            self.experts_.grow(outputs)
        self.outputs_ = outputs
        self._add_columns(known, columns)

    def widen(self, kinds: Mapping[str, str], *, columns: bool = True) -> None:
        """Add columns of the table that were missing so far; without `columns` only the sparse experts learn them."""
        assert self.encoder_ is not None
        known = set(self._named(self.outputs_))
        self.encoder_.widen(kinds)
        self._add_columns(known, columns)

    def _add_columns(self, known: set[str], wanted: bool) -> None:
        if wanted:
            self.layout_ = self.layout_ + [name for name in self._named(self.outputs_) if name not in known]
        self._lay_out()

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in (self.encoder_, self.experts_) if part is not None)

    # -- inner -------------------------------------------------------------------------------------------------------
    def _translated(self, encoded: Encoding | None, scores: Array | None, n: int) -> Translated:
        if scores is None or self.experts_ is None:
            assert encoded is not None
            return Translated(self._ordered(encoded.dense), np.empty((n, 0, 1)))
        if self.classes:
            scores = np.minimum(np.maximum(scores, -SURE), SURE)
        answers = scores[:, :-1]
        columns = scores[:, -len(COLUMNS) :, self._shown(self.outputs_)].reshape(n, -1)
        dense = np.ascontiguousarray(columns) if encoded is None else np.concatenate([encoded.dense, columns], axis=1)
        if not self.apart:
            return Translated(self._ordered(dense), np.empty((n, 0, 1)))
        return Translated(self._ordered(dense), answers[..., 1:] if self.classes and self.outputs_ == 2 else answers)

    def _ordered(self, X: Array) -> Array:
        return X if self._order is None else np.ascontiguousarray(X[:, self._order])

    def _shown(self, outputs: int) -> slice:
        """Return which outputs of an expert are dense columns."""
        if not self.classes:
            return slice(0, outputs)
        return slice(1, 2) if outputs == 2 else slice(0, min(outputs, MOST_CLASSES))

    def _expert_columns(self, outputs: int) -> list[str]:
        if self.experts_ is None:
            return []
        return [f"{expert}, output {k}" for expert in COLUMNS for k in range(outputs)[self._shown(outputs)]]

    def _named(self, outputs: int) -> list[str]:
        """Return the names of the encoder's columns, and of the experts' for so many outputs."""
        return self._titles() + self._expert_columns(outputs)

    def _parts(self) -> list[tuple[str, str]]:
        """Return for each of the encoder's columns the table's column, and the part of it."""
        return [] if self.encoder_ is None else self.encoder_.dense_names()

    def _titles(self) -> list[str]:
        """Return distinct readable names of the encoder's columns: `temp`, hour of `when`, mean of target 0 by `shop`.

        A number has the name of its column, without quotes.
        """
        experts = self._expert_columns(self.outputs_)
        taken = dict.fromkeys([*experts, *(_title(name, part) for name, part in self._parts() if part != "value")])
        titles = []
        for name, part in self._parts():
            title = _title(name, part)
            while part == "value" and title in taken:
                title += "'"
            titles.append(title)
        return titles

    def _lay_out(self) -> None:
        """Find where the columns of `layout_` are among all of them now."""
        names = self._named(self.outputs_)
        place = {name: i for i, name in enumerate(names)}
        self._order = None if names == self.layout_ else [place[name] for name in self.layout_]

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if "layout_" in state:
            self._lay_out()


def _title(name: str, part: str) -> str:
    """Return the name of a dense column: a column of the table and the part of it."""
    if part == "value":
        return name
    return f"{part.removesuffix(' level')} `{name}`" if part.endswith(" by level") else f"{part} of `{name}`"
