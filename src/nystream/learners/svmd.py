"""SVMD: gradient descent in the kernel's space that learns its own step size."""

from __future__ import annotations

import math

import numpy as np

from nystream._core.expansions import MetaDescent
from nystream.dictionary.budget import Budget
from nystream.dictionary.plain import PlainExpansion, oldest
from nystream.kernels.base import Kernel, checked_kernel
from nystream.learners.families.expansion import ExpansionLearner, checked_dtype
from nystream.losses import Loss, as_loss
from nystream.runtime.params import at_least, positive
from nystream.runtime.types import Array

__all__ = ["SVMD"]

SAFE = 0.9
"""eta lam stays below this."""


class SVMD(ExpansionLearner):
    """Stochastic meta-descent: NORMA whose step size follows the gradient of the loss with respect to log(eta).

    v is the trace of df/d log(eta), an expansion on the same points. With xi = l'(f(x)), h = l''(f(x)), regulariser
    lam and trace decay delta::

        eta <- eta exp(clip(-mu (lam <f,v> + xi v(x)), -clamp, clamp)),      eta <= 0.9/lam
        v   <- delta ((1 - eta lam) v - eta h v(x) k(x, .)) - eta (lam f + xi k(x, .))
        f   <- (1 - eta lam) f - eta xi k(x, .)

    <f,f> and <f,v> are carried along in O(1), so a round costs O(m d) for m stored terms; memory O(m (d + 2 K)) for K
    outputs. With a budget the oldest term goes. mu = 0 is NORMA.

    Parameters
    ----------
    kernel : Kernel
    loss : str or Loss, default "hinge"
        Any loss. h is 0 for hinge-like losses. With label similarities M all inner products are those of the joint
        kernel k(x, x') M[y, y'].
    lam : float, default 1e-3
        Ridge, the paper's c.
    mu : float, default 0.1
        Meta step size; 0 leaves eta as it is.
    decay : float, default 0.95
        delta in [0, 1], the paper's lambda: how long a change of eta is held responsible.
    eta : float, default 0.1
        First step size.
    clamp : float, default 0.7
        Bound on |log(eta_t / eta_{t-1})|.
    budget : int, optional
        Terms stored at most; None keeps all.
    dtype : {"float64", "float32"}
        Type of stored points and of kernel values. Single precision takes half the memory for points and less time.
        Coefficients and predictions are float64, and predictions agree to about five digits.

    Deviations from the paper: eta is clamped as above; K outputs share one eta; weights multiply the loss; `dtype`.

    References
    ----------
    Vishwanathan, Schraudolph, Smola. Step size adaptation in reproducing kernel Hilbert space. JMLR 7, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.kernels import Gaussian
    >>> from nystream.learners import SVMD
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 2))
    >>> y = np.sign(X[:, 0] * X[:, 1])
    >>> model = SVMD(Gaussian(0.5), eta=0.01, budget=500)
    >>> p = model.run(X, y)
    >>> bool(np.mean(p[1000:] * y[1000:] > 0) > 0.9), model.eta_now > 0.01
    (True, True)
    """

    def __init__(
        self,
        kernel: Kernel,
        *,
        loss: str | Loss = "hinge",
        lam: float = 1e-3,
        mu: float = 0.1,
        decay: float = 0.95,
        eta: float = 0.1,
        clamp: float = 0.7,
        budget: int | None = None,
        dtype: str = "float64",
    ) -> None:
        self.kernel = checked_kernel(kernel)
        self.loss = loss
        self.lam = positive("lam", lam, zero=True)
        self.mu = positive("mu", mu, zero=True)
        self.decay = positive("decay", decay, zero=True)
        self.eta = positive("eta", eta)
        self.clamp = positive("clamp", clamp)
        self.budget = None if budget is None else at_least("budget", budget, 1)
        self.dtype = checked_dtype(dtype, kernel)
        self._loss = as_loss(loss)
        if decay > 1:
            raise ValueError(f"decay must be at most 1, got {decay!r}")

    @property
    def eta_now(self) -> float:
        """The step size after the last round."""
        return float(self.meta_[0]) if self.d_ else self.eta

    def _limits(self) -> Budget:
        return Budget(self.budget, "oldest")

    def _start(self, d: int, outputs: int) -> None:
        self.meta_ = np.array([self.eta, 0.0, 0.0])  # eta, <f,f>, <f,v>
        super()._start(d, 2 * outputs)  # f_1, v_1, f_2, v_2, ...

    def _round(self, f: PlainExpansion, y: Array, weight: float, t: int) -> Array:
        both, (eta, ff, fv), lam, delta = f.scores(f.k), self.meta_, self.lam, self.decay
        p, v = self._scored(both[::2]), self._scored(both[1::2])
        xi, Hv = weight * self._gradient(y, p), weight * self._curvature(y, p) @ v
        eta = eta * math.exp(min(max(-self.mu * (lam * fv + xi @ v), -self.clamp), self.clamp))
        eta = min(eta, SAFE / lam) if lam else eta
        # f <- fade f + new_f k(x, .),  v <- delta fade v - eta lam f + new_v k(x, .): f and v side by side
        fade, new_f, new_v = 1 - eta * lam, -eta * xi, -eta * (xi + delta * Hv)
        moved = self._scored(new_f)  # what the new coefficients of f do to the scores, over k(x, x)
        self.meta_[:] = (
            eta,
            fade**2 * ff + 2 * fade * (new_f @ p) + (new_f @ moved) * f.kxx,
            delta * fade**2 * fv
            - fade * eta * lam * ff
            + fade * (new_v @ p)
            + delta * fade * (new_f @ v)
            - eta * lam * (new_f @ p)
            + (moved @ new_v) * f.kxx,
        )
        f.a[:, 1::2] = delta * f.a[:, 1::2] - eta * lam / fade * f.a[:, ::2]  # both carry the decay of f as the scale
        f.decay(fade)
        new = np.column_stack([new_f, new_v]).reshape(-1)
        if new.any() and f.kxx > 0:
            f.append(f.x, new, t)
            if self.budget is not None and len(f) > self.budget:
                self._drop(f, oldest(f))
        return p

    def _curvature(self, y: Array, p: Array) -> Array:
        """Return l''(y, p), (K, K)."""
        if self._loss.multiclass:
            return np.asarray(self._loss.second(int(y[0]), p), dtype=np.float64)
        return np.diag(np.broadcast_to(self._loss.second(y, p), p.shape))

    def _drop(self, f: PlainExpansion, i: int) -> None:
        """Remove term i from f, v and their inner products."""
        both, k = f.scores(f.gram()[i]), f.own[i]
        f_i, v_i = self._scored(both[::2]), both[1::2]
        a, b = f.coef[i, ::2], f.coef[i, 1::2]
        a_mixed = self._scored(a)
        self.meta_[1] -= 2 * a @ f_i - (a @ a_mixed) * k
        self.meta_[2] -= a_mixed @ v_i + b @ f_i - (a_mixed @ b) * k
        f.remove(i)

    def _loop(self) -> MetaDescent:
        return MetaDescent(
            self.expansion_.terms,
            self._loss,
            self.meta_,
            lam=self.lam,
            mu=self.mu,
            decay=self.decay,
            clamp=self.clamp,
            budget=self.budget or 0,
        )

    def _predict(self, X: Array) -> Array:
        return self._scored(self.expansion_.predict(X)[:, ::2])

    def _averaged(self, X: Array) -> Array:
        return self._scored(self.expansion_.averaged(X)[:, ::2])

    def _grow(self, outputs: int) -> None:
        super()._grow(2 * outputs)
