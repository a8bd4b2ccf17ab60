"""Stackers combine the outputs of several experts by weights that are learnt online."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nystream._core.auto.stack import ridge_rounds, ridge_systems, softmax_rounds, softmax_systems
from nystream.runtime.params import Params, at_least, positive
from nystream.runtime.types import Array

__all__ = ["MEMBERS", "RidgeStacker", "SoftmaxStacker", "Stacker"]

MEMBERS = ((1.0, 1.0), (0.999, 0.1), (0.999, 1.0), (0.999, 10.0), (0.995, 1.0))
"""Decay and ridge of the stackers in one bank."""
MANY = 64
"""Classes beyond which the Hessian of the softmax is bounded by blocks."""

ROUNDING = 1e-12
"""Smallest ridge, as a share of the largest sum of squares. Below it rounding would decide."""


class Stacker(Params):
    """A group of S stackers over the outputs of E experts. All get the same rows; each has its own decay and ridge.

    Weights change after every `block` rounds, counted from the first round, so that nothing depends on how the rounds
    are cut into calls. `predict` uses the present weights.

    Parameters
    ----------
    members : sequence of (decay, lam)
        For every stacker the decay of past rounds, 0 < decay <= 1, and the ridge lam > 0 towards the initial weights,
        which are the same for all experts.
    block : int, default 10
        Rounds between updates.
    """

    total: ClassVar[float]
    """Sum of the weights at the start."""

    weights_: Array
    """Weights of the experts' outputs."""
    seen_: int
    """Rounds since the last update."""

    def __init__(self, members: Sequence[tuple[float, float]] = MEMBERS, *, block: int = 10) -> None:
        self.members = members
        self.block = at_least("block", block, 1)
        if not isinstance(members, (list, tuple)) or not members:
            raise ValueError(f"members must be a list of pairs (decay, lam), got {members!r}")
        for decay, lam in members:
            if not 0 < decay <= 1:
                raise ValueError(f"decay must be greater than 0 and at most 1, got {decay!r}")
            positive("lam", lam)
        self._decay = np.array([decay for decay, _ in members]) ** block  # decay over one block, (S,)
        self._lam = np.array([lam for _, lam in members])

    def start(self, inputs: int, outputs: int) -> None:
        """Start with equal weights for `inputs` experts with `outputs` targets or classes."""
        raise NotImplementedError

    def predict(self, F: Array) -> Array:
        """Return the predictions (n, S, K) of the S stackers for the experts' outputs F, without learning."""
        raise NotImplementedError

    def run(self, F: Array, Y: Array, weights: Array | None = None) -> Array:
        """Return the predictions (n, S, K) of n rounds, each made before its label is learnt."""
        if len(F) == 1 and Y.dtype == np.float64:  # the most frequent case
            P = self._learn(F, Y, weights)
            self._count(1)
            return P
        F, Y = np.ascontiguousarray(F), np.ascontiguousarray(Y, dtype=np.float64)
        parts, row = [], 0
        while row < len(F):  # up to the end of a block
            part = slice(row, min(len(F), row + self.block - self.seen_))
            parts.append(self._learn(F[part], Y[part], None if weights is None else weights[part]))
            self._count(part.stop - row)
            row = part.stop
        return np.concatenate(parts) if len(parts) != 1 else parts[0]

    def _count(self, n: int) -> None:
        """Count learnt rounds. At the end of a block the weights are updated."""
        self.seen_ += n
        if self.seen_ == self.block:
            self._update()
            self.seen_ = 0

    @property
    def nbytes(self) -> int:
        return sum(v.nbytes for v in self._state().values() if isinstance(v, np.ndarray))

    def _learn(self, F: Array, Y: Array, weights: Array | None) -> Array:
        """Predict rounds of one block and count them."""
        raise NotImplementedError

    def _update(self) -> None:
        """Update the weights at the end of a block."""
        raise NotImplementedError


class RidgeStacker(Stacker):
    """Least squares on the experts' outputs with a ridge towards the plain mean; every target has its own weights::

        w = argmin sum over past rounds t of g^(age) (f_t.w - y_t)^2 + lam |w - w0|^2,       w0 = 1/E each

    The age is counted in whole blocks. There is no constant, because the experts have one. O(S K E^2) time a round, and
    E^3 a block.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.solvers.stacker import RidgeStacker
    >>> stacker = RidgeStacker([(1.0, 0.1)])
    >>> stacker.start(inputs=2, outputs=1)
    >>> y = np.random.default_rng(0).normal(size=(200, 1))
    >>> P = stacker.run(np.stack([y / 2, 0 * y], axis=1), y)
    >>> stacker.weights_.round(1).tolist()
    [[[2.0, 0.5]]]
    """

    total: ClassVar[float] = 1.0

    gram_: Array
    """Discounted sums of f f' up to the last update, (S, K, E, E). `new_gram_` has the rounds since then."""

    @staticmethod
    def nbytes_for(inputs: int, outputs: int, members: int = len(MEMBERS)) -> float:
        """Return the bytes of these stackers: sums of f f' and y f, weights, and sums of the last rounds."""
        return 8.0 * outputs * inputs * (members * (inputs + 2) + inputs + 1)

    def start(self, inputs: int, outputs: int) -> None:
        """Start for experts' outputs F (n, E, K) with K targets; weights_ is (S, K, E)."""
        S = len(self.members)
        self.weights_ = np.full((S, outputs, inputs), self.total / inputs)
        self.gram_ = np.zeros((S, outputs, inputs, inputs))
        self.sums_ = np.zeros((S, outputs, inputs))
        self.new_gram_ = np.zeros((outputs, inputs, inputs))
        self.new_sums_ = np.zeros((outputs, inputs))
        self.seen_ = 0

    def rescale(self, factor: Array) -> None:
        """Change the unit: from now on outputs and labels of each target are these times larger, (K,)."""
        square = factor**2
        self.gram_ *= square[:, None, None]
        self.new_gram_ *= square[:, None, None]
        self.sums_ *= square[:, None]
        self.new_sums_ *= square[:, None]

    def restart(self, targets: NDArray[np.intp]) -> None:
        """Restart the stackers of these targets."""
        self.weights_[:, targets] = self.total / self.weights_.shape[2]
        for sums in (self.gram_, self.sums_):
            sums[:, targets] = 0.0
        for sums in (self.new_gram_, self.new_sums_):
            sums[targets] = 0.0

    def predict(self, F: Array) -> Array:
        return ridge_rounds(np.ascontiguousarray(F), self.weights_)

    def _learn(self, F: Array, Y: Array, weights: Array | None) -> Array:
        return ridge_rounds(F, self.weights_, Y, weights, self.new_gram_, self.new_sums_)

    def _update(self) -> None:
        S, K, E = self.weights_.shape
        sums = (self.gram_.reshape(S * K, E, E), self.sums_.reshape(S * K, E), self.new_gram_, self.new_sums_)
        A, b = ridge_systems(*sums, self._decay, self._lam, self.total / E, ROUNDING)
        self.weights_ = np.reshape(np.linalg.solve(A, b)[..., 0], (S, K, E))


class SoftmaxStacker(Stacker):
    """Softmax regression on the experts' scores: one weight per expert, shared by all classes, and a bias per class::

        P(class c) = softmax_c(sum_e w_e f_e,c + b_c)        (two classes: logits 0 and sum_e w_e f_e + b)

    After each block of B rounds one Newton step with forgetting for theta = (w, b), the gradient and the Hessian of
    the block's log loss taken at the theta that predicted it::

        H = g^B H + Hessian        theta -= (H + lam I)^-1 (gradient + lam (1 - g^B) (theta - theta_0))

    theta_0: w = 2/E, b = 0. Sharing the weights keeps the problem small and new classes covered. O(S (E^2 K + K^2))
    time a round, and S (E + K)^2 numbers of memory. For more than 64 classes the Hessian of a round is replaced by
    twice its block of the weights and twice the diagonal matrix of the probabilities, which together bound it
    (twice the block diagonal bounds any positive semidefinite matrix of two blocks): O(S E^2 K) time and S K numbers.
    Steps are then shorter, never too long.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.solvers.stacker import SoftmaxStacker
    >>> stacker = SoftmaxStacker([(1.0, 1.0)])
    >>> stacker.start(inputs=2, outputs=2)
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(2, size=300)
    >>> good, useless = 2.0 * labels - 1, rng.normal(size=300)
    >>> P = stacker.run(np.stack([good, useless], axis=1)[:, :, None], labels)
    >>> P.shape, bool(P[-1, 0, labels[-1]] > 0.9)
    ((300, 1, 2), True)
    """

    total: ClassVar[float] = 2.0

    inputs_: int
    classes_: int
    hessian_: Array
    """H, (S, E + C, E + C); C = 1 for two classes, else K. With many classes its block of the weights, (S, E, E)."""
    curve_: Array | None
    """With many classes sums of probabilities, (S, K), else None."""

    def start(self, inputs: int, outputs: int) -> None:
        """Start for experts' scores F (n, E, C), C = 1 for two classes (the score of class 1), else K."""
        self.inputs_, self.classes_ = inputs, at_least("outputs", outputs, 2)
        S, C = len(self.members), self._columns
        self.weights_ = np.zeros((S, inputs + C))
        self.weights_[:, :inputs] = self.total / inputs
        self.new_gradient_ = np.zeros((S, inputs + C))
        self.curve_ = self.new_curve_ = None
        size = inputs + C
        if self._apart:
            self.curve_, self.new_curve_, size = np.zeros((S, C)), np.zeros((S, C)), inputs
        self.hessian_, self.new_hessian_ = np.zeros((S, size, size)), np.zeros((S, size, size))
        self.seen_ = 0

    def predict(self, F: Array) -> Array:
        return softmax_rounds(np.ascontiguousarray(F), self.weights_, self.classes_)

    def grow(self, outputs: int) -> None:
        """Add classes with bias 0. From two classes to more, predictions stay the same: f_0 = -f_1, w and b halved.

        With (w, b) = J (w', b') the Hessian in the new parameters is J'H J.
        """
        E, old, C, apart = self.inputs_, self._columns, self.classes_, self._apart
        self.classes_ = outputs
        new = outputs - (2 if C == 2 else old)
        if C == 2:
            J, back = np.zeros((E + 1, E + 2)), np.zeros((E + 2, E + 1))
            J[:E, :E], J[E, E:] = 2.0 * np.eye(E), (-1.0, 1.0)
            back[:E, :E], back[E:, E] = 0.5 * np.eye(E), (-0.5, 0.5)
            self.weights_, self.new_gradient_ = self.weights_ @ back.T, self.new_gradient_ @ J
            self.hessian_, self.new_hessian_ = J.T @ self.hessian_ @ J, J.T @ self.new_hessian_ @ J
        self.weights_ = np.pad(self.weights_, ((0, 0), (0, new)))
        self.new_gradient_ = np.pad(self.new_gradient_, ((0, 0), (0, new)))
        if self._apart and not apart:
            self.curve_, self.new_curve_ = (_tail(H, E) for H in (self.hessian_, self.new_hessian_))
            self.hessian_, self.new_hessian_ = (H[:, :E, :E].copy() for H in (self.hessian_, self.new_hessian_))
        if self.curve_ is not None and self.new_curve_ is not None:
            self.curve_, self.new_curve_ = (np.pad(v, ((0, 0), (0, new))) for v in (self.curve_, self.new_curve_))
        else:
            widths = ((0, 0), (0, new), (0, new))
            self.hessian_, self.new_hessian_ = np.pad(self.hessian_, widths), np.pad(self.new_hessian_, widths)

    def _learn(self, F: Array, Y: Array, weights: Array | None) -> Array:
        """Learn rows; Y (n,) are class numbers."""
        sums = (self.new_gradient_, self.new_hessian_, self.new_curve_)
        return softmax_rounds(F, self.weights_, self.classes_, Y, weights, *sums)

    def _update(self) -> None:
        E, decay, lam = self.inputs_, self._decay, self._lam
        twice = 1.0 if self.curve_ is None else 2.0
        sums = (self.weights_, self.new_gradient_, self.hessian_, self.new_hessian_)
        A, slope = softmax_systems(*sums, decay, lam, E, self.total / E, twice)
        if self.curve_ is not None and self.new_curve_ is not None:
            self.curve_ = decay[:, None] * self.curve_ + self.new_curve_
            self.weights_[:, E:] -= slope[:, E:] / (twice * self.curve_ + lam[:, None])
            self.new_curve_[:] = 0.0
        size = A.shape[1]
        self.weights_[:, :size] -= np.linalg.solve(A, slope[:, :size, None])[..., 0]

    @property
    def _columns(self) -> int:
        """C: logits that are modelled."""
        return 1 if self.classes_ == 2 else self.classes_

    @property
    def _apart(self) -> bool:
        """Whether the Hessian is kept as two blocks."""
        return self.classes_ > MANY


def _tail(H: Array, E: int) -> Array:
    """Return the diagonals of the last rows and columns."""
    return np.ascontiguousarray(np.diagonal(H, axis1=1, axis2=2)[:, E:])
