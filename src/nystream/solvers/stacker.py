"""Stackers: the outputs of several experts combined by a few weights that are learnt online."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from nystream.params import Params, at_least, positive
from nystream.types import Array

__all__ = ["RidgeStacker", "SoftmaxStacker", "Stacker"]

MEMBERS = ((1.0, 1.0), (0.999, 0.1), (0.999, 1.0), (0.999, 10.0), (0.995, 1.0))
"""Forgetting and ridge of the stackers that one bank runs side by side."""


class Stacker(Params):
    """A bank of S stackers over the outputs of E experts. All see the same rows; each has its forgetting and ridge.

    Weights stay as they are for `block` rounds and move at the end of each block, counted from the first round on, so
    that nothing depends on how the rounds are cut into calls. `predict` uses the weights in force now.

    Parameters
    ----------
    members : sequence of (decay, lam)
        For every stacker what a round keeps of its weight from one round to the next, 0 < decay <= 1, and the ridge
        lam > 0 that draws the weights to their start, which is the same for all experts.
    block : int, default 10
        Rounds between updates.
    """

    total: ClassVar[float]
    """Sum of the weights at the start."""

    weights_: Array
    """What multiplies the experts' outputs."""
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

    def start(self, inputs: int, outputs: int) -> None:
        """Equal weights for `inputs` experts with `outputs` targets or classes."""
        raise NotImplementedError

    def predict(self, F: Array) -> Array:
        """Predictions (n, S, K) of the S stackers from the experts' outputs F, pure."""
        raise NotImplementedError

    def run(self, F: Array, Y: Array, weights: Array | None = None) -> Array:
        """Predictions (n, S, K) of n rounds, each made before its label was read."""
        parts, row = [], 0
        while row < len(F):
            part = slice(row, min(len(F), row + self.block - self.seen_))
            parts.append(self._learn(F[part], Y[part], None if weights is None else weights[part]))
            self.seen_ += part.stop - row
            if self.seen_ == self.block:
                self._update()
                self.seen_ = 0
            row = part.stop
        return np.concatenate(parts) if len(parts) != 1 else parts[0]

    @property
    def nbytes(self) -> int:
        return sum(v.nbytes for v in self._state().values() if isinstance(v, np.ndarray))

    def _learn(self, F: Array, Y: Array, weights: Array | None) -> Array:
        """Predict rounds of one block and count them."""
        raise NotImplementedError

    def _update(self) -> None:
        """A block is complete: move the weights."""
        raise NotImplementedError

    @property
    def _decay(self) -> Array:
        """What a block keeps, (S,)."""
        return np.array([decay for decay, _ in self.members]) ** self.block

    @property
    def _lam(self) -> Array:
        return np.array([lam for _, lam in self.members])


class RidgeStacker(Stacker):
    """Least squares on the experts' outputs with a ridge towards the plain mean; every target has its own weights::

        w = argmin sum over past rounds t of g^(age) (f_t.w - y_t)^2 + lam |w - w0|^2,       w0 = 1/E each

    age counted in whole blocks. No constant: the experts bring theirs. O(S K E^2) time a round, and E^3 a block.

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
    """Discounted sums of f f' up to the last update, (S, K, E, E); those since are in `new_gram_`."""

    def start(self, inputs: int, outputs: int) -> None:
        """Experts' outputs are F (n, E, K) for K targets; weights_ is (S, K, E)."""
        S = len(self.members)
        self.weights_ = np.full((S, outputs, inputs), self.total / inputs)
        self.gram_ = np.zeros((S, outputs, inputs, inputs))
        self.sums_ = np.zeros((S, outputs, inputs))
        self.new_gram_ = np.zeros((outputs, inputs, inputs))
        self.new_sums_ = np.zeros((outputs, inputs))
        self.seen_ = 0

    def rescale(self, factor: Array) -> None:
        """From now on outputs and labels of every target are measured so many times larger, (K,)."""
        square = factor**2
        self.gram_ *= square[:, None, None]
        self.new_gram_ *= square[:, None, None]
        self.sums_ *= square[:, None]
        self.new_sums_ *= square[:, None]

    def predict(self, F: Array) -> Array:
        P: Array = self.weights_.transpose(1, 0, 2) @ F.transpose(2, 1, 0)  # (K, S, n)
        return np.ascontiguousarray(P.transpose(2, 1, 0))

    def _learn(self, F: Array, Y: Array, weights: Array | None) -> Array:
        P = self.predict(F)
        T = F.transpose(2, 1, 0)  # (K, E, n)
        W = T if weights is None else T * weights
        self.new_gram_ += W @ T.transpose(0, 2, 1)
        self.new_sums_ += (W @ Y.T[:, :, None])[:, :, 0]
        return P

    def _update(self) -> None:
        E = self.weights_.shape[2]
        decay, lam = self._decay[:, None, None], self._lam[:, None, None]
        self.gram_ = decay[..., None] * self.gram_ + self.new_gram_
        self.sums_ = decay * self.sums_ + self.new_sums_
        A = self.gram_ + lam[..., None] * np.eye(E)
        self.weights_ = np.linalg.solve(A, (self.sums_ + lam * (self.total / E))[..., None])[..., 0]
        self.new_gram_[:] = 0.0
        self.new_sums_[:] = 0.0


class SoftmaxStacker(Stacker):
    """Softmax regression on the experts' scores: one weight per expert, shared by all classes, and a bias per class::

        P(class c) = softmax_c(sum_e w_e f_e,c + b_c)        (two classes: logits 0 and sum_e w_e f_e + b)

    After each block of B rounds one Newton step with forgetting for theta = (w, b), the gradient and the Hessian of
    the block's log loss taken at the theta that predicted it::

        H = g^B H + Hessian        theta -= (H + lam I)^-1 (gradient + lam (1 - g^B) (theta - theta_0))

    theta_0: w = 2/E, b = 0. Sharing the weights keeps the problem small and new classes covered. O(S K (E + K)^2)
    time a round.

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
    """H, (S, E + C, E + C); C = 1 for two classes, else K."""

    def start(self, inputs: int, outputs: int) -> None:
        """Experts' scores are F (n, E, C), C = 1 for two classes (the score of class 1), else K."""
        self.inputs_, self.classes_ = inputs, at_least("outputs", outputs, 2)
        S, P = len(self.members), inputs + self._columns
        self.weights_ = np.zeros((S, P))
        self.weights_[:, :inputs] = self.total / inputs
        self.hessian_ = np.zeros((S, P, P))
        self.new_gradient_ = np.zeros((S, P))
        self.new_hessian_ = np.zeros((S, P, P))
        self.seen_ = 0

    def predict(self, F: Array) -> Array:
        E = self.inputs_
        logits = self.weights_[:, :E] @ F + self.weights_[:, E:]  # (n, S, C)
        if self.classes_ == 2:
            logits = np.concatenate([np.zeros_like(logits), logits], axis=2)
        P: Array = np.exp(logits - logits.max(axis=2, keepdims=True))
        P /= P.sum(axis=2, keepdims=True)
        return P

    def grow(self, outputs: int) -> None:
        """More classes, with bias 0. From two classes to more the model stays what it is: f_0 = -f_1, w and b halved.

        With (w, b) = J (w', b') the Hessian in the new parameters is J'H J.
        """
        E, old, C = self.inputs_, self._columns, self.classes_
        J = np.zeros((E + old, E + outputs))
        back = np.zeros((E + outputs, E + old))
        if C == 2:
            J[:E, :E], J[E, E : E + 2] = 2.0 * np.eye(E), (-1.0, 1.0)
            back[:E, :E], back[E : E + 2, E] = 0.5 * np.eye(E), (-0.5, 0.5)
        else:
            J[:, : E + old] = back[: E + old] = np.eye(E + old)
        self.classes_ = outputs
        self.weights_ = self.weights_ @ back.T
        self.new_gradient_ = self.new_gradient_ @ J
        self.hessian_ = J.T @ self.hessian_ @ J
        self.new_hessian_ = J.T @ self.new_hessian_ @ J

    def _learn(self, F: Array, Y: Array, weights: Array | None) -> Array:
        """Y (n,) are class numbers."""
        n, E, C = F.shape
        P = self.predict(F)
        p = np.ascontiguousarray(P[:, :, -C:].transpose(1, 0, 2))  # (S, n, C)
        w = np.ones((n, 1)) if weights is None else weights[:, None]
        Phi = np.zeros((n, C, E + C))  # the derivative of the logits in theta
        Phi[:, :, :E] = F.transpose(0, 2, 1)
        Phi[:, :, E:] = np.eye(C)
        flat = Phi.reshape(n * C, E + C)
        error = p.copy()
        if C == 1:
            error[:, :, 0] -= Y == 1
            curve = p * (1 - p) * w
        else:
            error[:, np.arange(n), Y.astype(np.intp)] -= 1.0
            curve = p * w
            mean = (p[:, :, None, :] @ Phi)[:, :, 0]  # (S, n, E + C)
            self.new_hessian_ -= mean.transpose(0, 2, 1) @ (mean * w)
        self.new_gradient_ += (error * w).reshape(len(p), -1) @ flat
        self.new_hessian_ += (flat.T * curve.reshape(len(p), 1, -1)) @ flat
        return P

    def _update(self) -> None:
        E, decay, lam = self.inputs_, self._decay, self._lam
        start = np.zeros(self.weights_.shape[1])
        start[:E] = self.total / E
        self.hessian_ = decay[:, None, None] * self.hessian_ + self.new_hessian_
        A = self.hessian_ + lam[:, None, None] * np.eye(len(start))
        slope = self.new_gradient_ + (lam * (1 - decay))[:, None] * (self.weights_ - start)
        self.weights_ = self.weights_ - np.linalg.solve(A, slope[..., None])[..., 0]
        self.new_gradient_[:] = 0.0
        self.new_hessian_[:] = 0.0

    @property
    def _columns(self) -> int:
        """C: logits that are modelled."""
        return 1 if self.classes_ == 2 else self.classes_
