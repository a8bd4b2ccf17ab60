"""The next-row stack: combines outputs of experts and label lags by several stackers, and mixes the stackers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nystream._core.auto.mixtures import mix_classes, mix_targets, repeated
from nystream._core.auto.stack import gathered, lagged
from nystream.auto.rows import Learnt
from nystream.runtime.params import Params
from nystream.runtime.types import Array
from nystream.solvers.stacker import RidgeStacker, SoftmaxStacker

__all__ = ["Frame", "Repeats", "Stack", "after", "shifted"]

STACKERS = ((1.0, 1.0), (0.999, 0.1), (0.995, 1.0))
"""Forgetting and ridge of the stackers. Without the last one, mistakes in the 200 rows after the change of the stream
"xor" (benchmarks/accuracy/drift_streams.py) rise from 36 to 47; steady streams do not need it."""
RATES = (1.0, 0.1, 0.01)
"""Of the label lags: the last label and two running means."""
PACES = np.array(RATES)
LAGS = len(RATES) + 1
"""With the label before the last: the last two labels show in which direction labels move."""
CLOSE = 0.1
"""If standardised targets shrink to this part, their scale came from labels that happened to be close."""
RECENT = 0.002
"""Rate of the running means of losses that `explain` shows."""
SHARE = 0.001
"""Fixed share of both mixtures: about one change of the best member in a thousand rows."""
ETA_SQUARED = 0.5
"""Learning rate for the squared loss of standardised targets, a practical choice; that of the log loss is 1, exact."""
REACH, EARLY = 1.5, 200
"""In so many first rows of a stream, a residual moves the mixtures as if it were at most so many standard deviations:
too few rows show yet whether a label far off is noise, and the expert nearest to it would take all weight."""


class Frame(NamedTuple):
    """The range of the outputs, and the units of the labels."""

    low: Array
    """(n, C), (1, C) or (1, 1), and high."""
    high: Array
    shift: Array
    """(C,) or (1,), and scale: (label - shift) / scale are the standardised ones."""
    scale: Array


class Stack(Params):
    """Combines outputs F (n, E, J) of E experts, of which the last C columns count, within bounds, and outputs (n,
    M, C) of sparse experts into predictions (n, K).

    Regression: C = J = K standardised targets. Classes: scores of the code +1 against -1, C = 1 for two classes, else
    K; predictions are logarithms of probabilities. Members of the final mixture are the stackers, for classes with lags
    `Repeats`, and, last, the aggregation of the experts. Outputs of sparse experts are
    inputs of the stackers alone, because the aggregation weighs codes.

    Parameters
    ----------
    classes : bool
        Whether labels are classes.
    lags : bool
        Whether the last two labels and running means of all are stack inputs too.
    members : sequence of (decay, lam)
        The stackers, see `nystream.solvers.stacker.Stacker`.
    """

    stacker_: RidgeStacker | SoftmaxStacker
    lags_: Array
    """(4, C) the last target, running means and the target before the last; nan before the first."""
    expert_shares_: Array
    """(G, E) weights of the aggregation; G = 1 for classes, else K."""
    member_shares_: Array
    """(G, S + 1) weights of the mixture, or S + 2 with the last class."""
    recent_: Array
    """(1, E) running means of the experts' squared losses since the last full refit, begun at 0."""
    more_: int
    """M."""
    repeats_: Repeats | None
    """The last class as a member; None for numbers, without lags, and where labels come late."""
    early_: int
    """Rows that are still to come of the first EARLY rows of the stream."""
    aside_: int
    """1 if the last expert is the innovation expert, which does not count in the experts' disagreement; else 0."""

    def __init__(self, classes: bool, lags: bool, members: Sequence[tuple[float, float]] = STACKERS) -> None:
        self.classes = classes
        self.lags = lags
        self.members = members

    def start(
        self, experts: int, outputs: int, more: int = 0, aside: int = 0, *, first: bool = False, late: bool = False
    ) -> None:
        """Begin. `first`: the next rows are the first of the stream; `late`: labels come late, so the last class is no
        member.
        """
        self.outputs_ = outputs
        self.more_, self.aside_, self.early_ = more, aside, EARLY if first else 0
        self.stacker_ = SoftmaxStacker(self.members) if self.classes else RidgeStacker(self.members)
        self.stacker_.start(experts + more + LAGS * self.lags, outputs)
        groups = 1 if self.classes else outputs
        self.repeats_ = Repeats() if self.classes and self.lags and not late else None
        members = len(self.stacker_.members) + 1
        if self.repeats_ is not None:
            members += 1
            self.repeats_.start(outputs)
        self.expert_shares_ = np.full((groups, experts), 1 / experts)
        self.member_shares_ = np.full((groups, members), 1 / members)
        self.lags_ = np.full((LAGS, self._columns), np.nan)
        self.recent_ = np.zeros((1, experts))

    @property
    def _columns(self) -> int:
        return 1 if self.classes and self.outputs_ == 2 else self.outputs_

    @property
    def _first(self) -> int:
        """The first column of outputs and targets that counts: classes have one that is always 1."""
        return self.outputs_ - self._columns + 1 if self.classes else 0

    def predict(
        self, F: Array, answers: Array | None, frame: Frame, steady: NDArray[np.int64], known: Array | None = None
    ) -> Learnt:
        """Return predictions. Pure. `steady`: places of the experts that never forget; `known`: targets known by now,
        if labels come late.
        """
        lags = None
        if known is not None:  # lags are kept in the units of the labels
            lags = after(self.lags_, known[:, self._first :] * frame.scale + frame.shift, PACES)
        G = self._heard(F, answers, frame, lags=lags)
        stacked, shares = self.stacker_.predict(G), (self.expert_shares_, self.member_shares_)
        if not self.classes:
            return Learnt(*mix_targets(G, stacked, *shares, -1, self.aside_, steady, *frame, ETA_SQUARED, SHARE))
        same = None if self.repeats_ is None else np.tile(self.repeats_.predict(), (len(F), 1))
        P, none = mix_classes(G, stacked, *shares, same, steady, ETA_SQUARED, SHARE)
        return Learnt(np.log(P), None, none, None)

    def run(
        self,
        F: Array,
        answers: Array | None,
        T: Array,
        labels: Array,
        w: Array | None,
        frame: Frame,
        steady: NDArray[np.int64],
        known: Array | None = None,
    ) -> Learnt:
        """Return predictions, each made before its label is learnt: targets T (n, J), standardised or codes, and for
        classes their numbers (n,).

        `known` (n, J): targets that become known with each row, if those are not its own.
        """
        G = self._heard(F, answers, frame, T if known is None else known)
        stacked = self.stacker_.run(G, labels if self.classes else T, w)
        shares, paces = (self.expert_shares_, self.member_shares_), (ETA_SQUARED, SHARE)
        if not self.classes:
            early, self.early_ = self.early_, max(0, self.early_ - len(F))
            heard = (G, stacked, *shares, -1, self.aside_, steady, *frame, *paces)
            return Learnt(*mix_targets(*heard, T, w, self.recent_, RECENT, REACH, early))
        same, first, recent = None if self.repeats_ is None else self.repeats_.run(labels), self._first, self.recent_
        P, errors = mix_classes(G, stacked, *shares, same, steady, *paces, first, T, labels, w, recent, RECENT)
        return Learnt(np.log(P), None, errors, None)

    def _heard(
        self, F: Array, answers: Array | None, frame: Frame, T: Array | None = None, lags: Array | None = None
    ) -> Array:
        """Return (n, inputs, C) the inputs of the stackers; with targets, the lags are brought up to date."""
        answers = None if answers is None else np.ascontiguousarray(answers)
        lags = None if not self.lags else self.lags_ if lags is None else lags
        return gathered(F, self._first, *frame, answers, not self.classes, lags, PACES, T)

    def grow(self, outputs: int) -> None:
        """Add classes. Every label so far has the code -1 in the new columns."""
        known = np.hstack([-self.lags_, self.lags_]) if self.outputs_ == 2 else self.lags_
        new = np.where(np.isnan(known[:, :1]), np.nan, -1.0)
        self.lags_ = np.hstack([known, np.repeat(new, outputs - self.outputs_, axis=1)])
        assert isinstance(self.stacker_, SoftmaxStacker)
        self.stacker_.grow(outputs)
        if self.repeats_ is not None:
            self.repeats_.grow(outputs)
        self.outputs_ = outputs

    def rescale(self, factor: Array, lost: NDArray[np.intp]) -> None:
        """Multiply standardised targets by these factors (K,) from now on; those of `lost` start anew.

        If they shrink tenfold, losses so far were in the unit of two labels that happened to be close, and would
        outweigh later losses. So shares start anew.
        """
        assert isinstance(self.stacker_, RidgeStacker)
        self.stacker_.rescale(factor)
        if len(lost):
            self.stacker_.restart(lost)
            self.lags_[:, lost] = np.nan
        anew = np.union1d(lost, np.flatnonzero(factor < CLOSE))
        self.expert_shares_[anew] = 1 / self.expert_shares_.shape[1]
        self.member_shares_[anew] = 1 / self.member_shares_.shape[1]

    def recent_losses(self, rows: int) -> Array:
        """Return (E,) mean squared losses of the experts in the last `rows` rows since the last full refit, later
        rows with more weight.

        A running mean that begins at 0 after n rows is 1 - (1 - rate)^n of the weighted mean. nan without rows.
        """
        return self.recent_[0] / (1 - (1 - RECENT) ** rows) if rows else np.full(self.recent_.shape[1], np.nan)

    def weights(self) -> Array:
        """Return (inputs, G) weights of the stack inputs in the next prediction, the members weighted by the
        mixture.
        """
        E = self.expert_shares_.shape[1]
        inner = self.stacker_.weights_
        inputs = E + self.more_ + len(self.lags_) * self.lags
        own = inner[:, None, :inputs] if inner.ndim == 2 else inner  # (S, G, inputs)
        total = np.einsum("gs,sgi->ig", self.member_shares_[:, : len(inner)], own)
        if self.repeats_ is not None:
            total[E + self.more_] += self.member_shares_[:, -2]
        total[:E] += (self.member_shares_[:, -1:] * self.expert_shares_).T
        return total

    @staticmethod
    def nbytes_for(experts: int, outputs: int, *, codes: bool = False) -> float:
        """Return the bytes for so many experts and targets or, with `codes`, classes, moves of the weights included."""
        if codes:
            return 8.0 * (64 * (outputs + 1) + 20 * min(outputs, 64) ** 2)
        return RidgeStacker.nbytes_for(experts + LAGS, outputs)

    @property
    def nbytes(self) -> int:
        return self.stacker_.nbytes + self.lags_.nbytes + self.expert_shares_.nbytes + self.member_shares_.nbytes


# -- label lags where labels come late, and the last class -------------------------------------------------------------
def shifted(Y: Array, delay: int, before: Array | None = None) -> Array:
    """Replace each label of Y (n, K) by the one `delay` rows before it; `before` are the last labels before Y.

    nan where there was none.
    """
    known = Y[:0] if before is None else before[-delay:]
    nothing = np.full((delay - len(known), Y.shape[1]), np.nan)
    return np.concatenate((nothing, known, Y))[: len(Y)]


def after(lags: Array, Y: Array, paces: Array) -> Array:
    """Return the lags, as `lagged` keeps them, after these labels (n, K). Pure."""
    lags = lags.copy()
    lagged(np.ascontiguousarray(Y), lags, paces)
    return lags


class Repeats(Params):
    """Forecasts the next of K classes from the last one alone.

    The last class comes again with probability (r + 1/2) / (n + 1) after r repetitions in n rows (Krichevsky and
    Trofimov's estimate). The other classes share the rest in proportion to their counts plus 1. Before the first row
    all have the same probability. If labels rarely change, each change costs hardly more than one mistake.
    """

    counts_: Array
    """(K,) rows of every class."""
    last_: int
    """The last class, -1 before the first row."""
    repeated_: int
    """Rows whose class was the one before."""

    def start(self, outputs: int) -> None:
        self.counts_ = np.zeros(outputs)
        self.last_, self.repeated_ = -1, 0

    def predict(self) -> Array:
        """Return (K,) probabilities."""
        return repeated(None, self.counts_, self.last_, self.repeated_)[0][0]

    def run(self, labels: Array) -> Array:
        """Return (n, K) probabilities before each of these labels (n,), and count the labels."""
        P, self.last_, self.repeated_ = repeated(labels, self.counts_, self.last_, self.repeated_)
        return P

    def grow(self, outputs: int) -> None:
        self.counts_ = np.concatenate([self.counts_, np.zeros(outputs - len(self.counts_))])

    @property
    def nbytes(self) -> int:
        return self.counts_.nbytes
