"""Online gradient descent on explicit features: plain, adaptive and implicit steps, K outputs."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from nystream._core.inputs import RowMap
from nystream._core.landmarks import Turns
from nystream._core.linear import Descent
from nystream.losses import Loss, as_loss
from nystream.runtime.params import one_of, positive
from nystream.runtime.types import DTYPES, Array, Change, LabelKind
from nystream.solvers.base import Solver

__all__ = ["OGD"]

SCHEDULES = ("constant", "sqrt")
MOMENTS = {"sgd": (), "adagrad": ("second_",), "adam": ("first_", "second_"), "implicit": ()}
"""Running moments of the gradient that each method keeps, each shaped like the weights."""


class OGD(Solver):
    """Gradient descent on l(y, w'z) + lam/2 |w|^2, one step per example, from w = 0.

    With p = w'z, g = l'(y, p) z and eta_t = eta or eta t^(-1/2)::

        sgd        w <- (1 - eta_t lam) w - eta_t g
        adagrad    h += G^2;                            w -= eta_t G / (sqrt(h) + 1e-8)            G = g + lam w
        adam       m, v: running means of G and G^2;    w -= eta_t mhat / (sqrt(vhat) + 1e-8)      0.9, 0.999
        implicit   w <- kappa w + alpha z,              kappa = 1 / (1 + eta_t lam)
                   alpha = argmin_a s/2 a^2 + c l(y, kappa p + s a),   s = |z|^2,   c = kappa eta_t

    The implicit step minimises |w - w_t|^2/2 + eta_t (lam/2 |w|^2 + l(y, w'z)) exactly; it needs no small eta and never
    raises the loss at z. A loss on K class scores moves all K columns; a real loss with K targets is K independent
    columns. A weight multiplies the loss, hence g and c.

    With label similarities M (`StructuredHinge`) the joint kernel is z'z' M[y, y']: `sgd` and `implicit` are steps in
    its feature space z x M^(1/2), which in these weights is l' replaced by M l'. `adagrad` and `adam` do not allow
    M: they rescale single coordinates, which depend on the choice of the square root of M.

    O(dim K) time per round, O(dim K) memory (twice or three times that for adagrad, adam and averaging).

    Parameters
    ----------
    loss : str or Loss
        Any loss. A loss without a compiled form is evaluated in Python, row by row.
    eta : float, default 0.3
        Step size.
    schedule : {"constant", "sqrt"}
        eta_t = eta, or eta t^(-1/2).
    lam : float, default 0.0
        Ridge. `sgd` needs eta lam < 1.
    method : {"sgd", "adagrad", "adam", "implicit"}
        The step.
    average : bool, default False
        Also keep the mean of the iterates w_1..w_t that made the predictions, see `averaged`.
    dtype : {"float64", "float32"}
        Type of weights, moments and features. In single precision weights have about seven digits. Losses, predictions
        and the sum of the iterates stay float64.

    Deviations: the ridge enters adagrad and adam through the gradient (G above), not as a separate decay.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.solvers import OGD
    >>> solver = OGD("squared", eta=0.1)
    >>> solver.start(dim=2, outputs=1)
    >>> Z = np.random.default_rng(0).normal(size=(300, 2))
    >>> P = solver.run(Z, Z @ [[2.0], [-1.0]])
    >>> solver.weights.round(6).ravel().tolist()
    [2.0, -1.0]
    """

    weighted: ClassVar[bool] = True

    W_: Array
    """(K, dim): one row per output, so that every product runs over neighbours in memory."""
    total_: Array
    """(K, dim): the sum of the iterates; only with `average`."""
    t_: int = 0
    engine: Descent

    def __init__(
        self,
        loss: str | Loss,
        *,
        eta: float = 0.3,
        schedule: str = "constant",
        lam: float = 0.0,
        method: str = "sgd",
        average: bool = False,
        dtype: str = "float64",
    ) -> None:
        self.loss = loss
        self.eta = positive("eta", eta)
        self.schedule = one_of("schedule", schedule, SCHEDULES)
        self.lam = positive("lam", lam, zero=True)
        self.method = one_of("method", method, tuple(MOMENTS))
        self.average = average
        self.dtype = one_of("dtype", dtype, DTYPES)
        self._loss = as_loss(loss)
        if self._loss.label_similarity is not None and method not in ("sgd", "implicit"):
            raise ValueError(
                f"method={method!r} rescales single coordinates, but a label similarity M does not define "
                "coordinates; use method='sgd' or 'implicit', or no similarity"
            )
        if method == "sgd" and eta * lam >= 1:
            raise ValueError(
                f"eta * lam must be less than 1 for method='sgd', got eta={eta!r}, lam={lam!r}; "
                "lower one of them or use method='implicit'"
            )

    @property
    def labels(self) -> LabelKind:
        return self._loss.labels

    @property
    def classes(self) -> int | None:
        return self._loss.classes

    @property
    def weights(self) -> Array:
        """The weights (dim, K). Assigning replaces the values."""
        return self.W_.T

    @weights.setter
    def weights(self, values: Any) -> None:
        self.W_[:] = np.asarray(values).T

    def start(self, dim: int, outputs: int) -> None:
        self.t_ = 0
        for name in ("W_", *self._companions()):
            setattr(self, name, np.zeros((outputs, dim), dtype=self._type_of(name)))
        self._bind()

    def predict(self, Z: Array) -> Array:
        return self.engine.predict(Z)

    def step(self, z: Array, y: Array, weight: float = 1.0) -> Array:
        p = self.engine.step(z, y, weight, self.t_ + 1)
        self.t_ += 1
        return p

    def one(self, features: RowMap, x: Any, y: Any) -> float | None:
        p = self.engine.one_mapped(features, x, y, self.t_ + 1)
        if p is not None:
            self.t_ += 1
        return p

    def run(self, Z: Array, Y: Array, weights: Array | None = None) -> Array:
        P = self.engine.run(Z, Y, weights, self.t_ + 1)
        self.t_ += len(Z)
        return P

    def resume(self, weights: Array, total: Array | None, t: int) -> None:
        """Continue after t rounds that ended with these weights (dim, K). `total` is the sum of the iterates."""
        self.weights = weights
        if total is not None:
            self.total_[:] = total.T
        self.t_ = t

    def averaged(self) -> Array:
        """Return the (dim, K) mean of the weights of all rounds. Its predictions are `Z @ averaged()`."""
        if not self.average:
            raise ValueError("this OGD does not keep an average of its iterates; create it with average=True")
        return self.total_.T / max(self.t_, 1)

    def rebase(self, change: Change, dim: int) -> None:
        """Do w <- T w. None restarts with t = 0.

        The sum of the iterates and adam's mean gradient are transformed like w. Second moments are kept as diagonals,
        so they become the diagonal of T diag(h) T': exact when T permutes, flips or appends coordinates, else an
        approximation.
        """
        if change.transport is None:
            self.start(dim, len(self.W_))
            return
        for name in ("W_", *self._companions()):
            transport = np.square(change.transport) if name == "second_" else change.transport
            setattr(self, name, self._carried(name, np.ascontiguousarray(transport)))
        self._bind()

    def turn(self, turns: Turns) -> None:
        """Do `rebase` for a product of a few reflections: in place, O(dim) for each output, float64 only."""
        for name in ("W_", "total_") if self.average else ("W_",):
            turns.carry(getattr(self, name))
        if MOMENTS[self.method]:
            T = turns.matrix
            for name in MOMENTS[self.method]:
                getattr(self, name)[:] = self._carried(name, np.square(T) if name == "second_" else T)

    def grow(self, outputs: int) -> None:
        """Add outputs that start at zero, as if their gradients had been zero so far."""
        for name in ("W_", *self._companions()):
            old = getattr(self, name)
            setattr(self, name, np.pad(old, ((0, outputs - len(old)), (0, 0))))
        self._bind()

    def _companions(self) -> tuple[str, ...]:
        """Return the names of the arrays that this method keeps besides W_."""
        return MOMENTS[self.method] + (("total_",) if self.average else ())

    def _type_of(self, name: str) -> str:
        return "float64" if name == "total_" else self.dtype  # a sum over all rounds needs the digits

    def _carried(self, name: str, T: Array) -> Array:
        """Return an array of the state times T', computed in float64."""
        old = getattr(self, name).astype(np.float64, copy=False)
        return Descent.carried(old, T).astype(self._type_of(name), copy=False)

    def _bind(self) -> None:
        """Connect the compiled code to the arrays of the state."""
        state = self._state()
        self.engine = Descent(
            self._loss,
            self.W_,
            state.get("first_"),
            state.get("second_"),
            state.get("total_"),
            self.method,
            self.eta,
            self.schedule == "sqrt",
            self.lam,
        )

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if "W_" in state:
            self._bind()
