"""The kernel perceptron, and the same on a budget with random removal."""

from __future__ import annotations

import numpy as np

from nystream._core.expansions import Correction, RandomMistakes
from nystream.dictionary.plain import PlainExpansion
from nystream.kernels.base import Kernel, checked_kernel
from nystream.learners.families.correction import (
    CorrectionLearner,
    UnboundedCorrections,
    checked_loss,
)
from nystream.learners.families.expansion import Loop, checked_dtype
from nystream.losses import Hinge, Loss, MulticlassHinge
from nystream.runtime.params import at_least
from nystream.runtime.seeds import checked_seed, generator
from nystream.runtime.types import Array, Seed

__all__ = ["Perceptron", "RandomBudgetPerceptron"]

LOSSES = (Hinge, MulticlassHinge)


class Perceptron(UnboundedCorrections):
    """The kernel perceptron: every mistake is stored with its label.

    A mistake is y_t f_t(x_t) <= 0, so that f = 0 counts as one::

        f_{t+1} = f_t + y_t k(x_t, .)                     in rounds with a mistake

    With classes, a mistake is a score of the label that is not above all others; the label's coefficient is then +1,
    that of its strongest rival -1. O(m d) time per round and O(m d) memory for m mistakes; with `Linear()` there are
    d weights instead of stored points. Guarantee: at most (R |u| / margin)^2 mistakes where k(x, x) <= R^2 and some u
    of the kernel's space has y_t u(x_t) >= margin for all t (Novikoff).

    Parameters
    ----------
    kernel : Kernel
    loss : {"hinge", "multiclass_hinge"} or such a Loss
        Labels -1/+1, or classes 0, 1, 2, ...; a margin that the loss has is not used, similarities between labels
        are (`StructuredHinge`): scores then are those of the joint kernel k(x, x') M[y, y'].
    dtype : {"float64", "float32"}
        Type of stored points and of kernel values. Single precision takes half the memory for points and less time.
        Coefficients and predictions are float64, and predictions agree to about five digits.
        With `Linear()` there are no points, and float64 is all there is.

    Deviations from the paper: classes (the usual way) and `dtype` are additions.

    References
    ----------
    Rosenblatt. The perceptron. Psychological Review 65, 1958. Freund, Schapire. Large margin classification using the
    perceptron algorithm. Machine Learning 37, 1999 (kernels).

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.kernels import Gaussian
    >>> from nystream.learners import Perceptron
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(1000, 2))
    >>> y = np.sign(X[:, 0] * X[:, 1])
    >>> model = Perceptron(Gaussian(0.5))
    >>> p = model.run(X, y)
    >>> bool(model.size == np.sum(p * y <= 0)), bool(np.mean(p[500:] * y[500:] > 0) > 0.9)
    (True, True)
    """

    def __init__(self, kernel: Kernel, *, loss: str | Loss = "hinge", dtype: str = "float64") -> None:
        self.kernel = checked_kernel(kernel)
        self.loss = loss
        self.dtype = checked_dtype(dtype, kernel)
        self._loss = checked_loss(loss, LOSSES)

    def _correction(self) -> Correction:
        return Correction(self._loss, "perceptron", self._columns)


class RandomBudgetPerceptron(CorrectionLearner):
    """A perceptron that replaces a random stored mistake by a new one when its budget is full.

    The update of `Perceptron`; the slot is floor(budget u) with one uniform u per removal, none otherwise. Because
    removal is random, the expected mistakes are bounded against every slowly moving sequence of comparators.
    O(budget d) time per round, O(budget d) memory.

    Parameters
    ----------
    kernel : Kernel
    budget : int, default 100
        Largest number of stored points.
    loss : {"hinge", "multiclass_hinge"} or such a Loss
        Labels -1/+1, or classes, as in `Perceptron`.
    seed : int, Generator or None
        Seed of the removals.
    dtype : {"float64", "float32"}
        As in `Perceptron`.

    Deviations from the paper: classes and `dtype` are additions.

    References
    ----------
    Cavallanti, Cesa-Bianchi, Gentile. Tracking the best hyperplane with a simple budget perceptron. Machine Learning
    69, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.kernels import Gaussian
    >>> from nystream.learners import RandomBudgetPerceptron
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 2))
    >>> y = np.sign(X[:, 0] * X[:, 1])
    >>> model = RandomBudgetPerceptron(Gaussian(0.5), budget=20, seed=0)
    >>> p = model.run(X, y)
    >>> model.size, bool(np.mean(p[1000:] * y[1000:] > 0) > 0.8)
    (20, True)
    """

    rng_: np.random.Generator

    def __init__(
        self,
        kernel: Kernel,
        *,
        budget: int = 100,
        loss: str | Loss = "hinge",
        seed: Seed = None,
        dtype: str = "float64",
    ) -> None:
        self.kernel = checked_kernel(kernel)
        self.budget = at_least("budget", budget, 1)
        self.loss = loss
        self.seed = checked_seed(seed)
        self.dtype = checked_dtype(dtype, kernel)
        self._loss = checked_loss(loss, LOSSES)

    def _start(self, d: int, outputs: int) -> None:
        self.rng_ = generator(self.seed)
        super()._start(d, outputs)

    def _keep(self, f: PlainExpansion, alpha: Array, t: int) -> None:
        if len(f) < self.budget:
            f.append(f.x, alpha, t)
        else:
            f.replace(int(self.rng_.random() * self.budget), f.x, alpha, t)

    def _loop(self) -> Loop:
        return RandomMistakes(self.expansion_.terms, self._correction(), self.budget, self.rng_)
