"""ILK and SILK: implicit online learning with kernels, unbounded and with a buffer."""

from __future__ import annotations

import math
from typing import Any

from nystream._core.expansions.rounds import Rounds
from nystream.dictionary.budget import DROPS, Budget, plain_removal
from nystream.dictionary.plain import PlainExpansion, admit
from nystream.kernels.base import Kernel
from nystream.kernels.gaussian import Gaussian
from nystream.learners.families.expansion import ExpansionLearner, checked_dtype, checked_kernel
from nystream.losses import Loss, VectorLoss, as_loss
from nystream.params import at_least, one_of, positive
from nystream.types import Array

__all__ = ["ILK", "SILK"]

SCHEDULES = ("constant", "sqrt")
RULES = ("exact", "runner_up")


class ILK(ExpansionLearner):
    """Implicit Learning with Kernels: every step minimises the new loss itself, not its tangent.

    With eta_t = eta or eta t^(-1/2)::

        f_{t+1} = argmin_f  |f - f_t|^2 / 2 + eta_t (lam/2 |f|^2 + C l(f(x_t), y_t))
                = kappa f_t + alpha_t k(x_t, .),       kappa = 1 / (1 + eta_t lam)
        alpha_t = argmin_a  s/2 a^2 + c l(kappa f_t(x_t) + s a),      s = k(x_t, x_t),    c = kappa eta_t C

    Decay and loss separate, so a round is a shrinkage and one scalar solve, which every loss has in closed form or by
    a safeguarded Newton iteration. Any eta is stable, |alpha_t| <= c for hinge-like losses, and the loss at x_t never
    rises. With eta = 1 and tau = 1 - kappa these are the paper's formulas; tau = 0 with the hinge loss is kernel
    PA-I. O(t d) time per round, O(t (d + K)) memory for K outputs: `SILK` is the bounded version.

    Guarantee: with schedule "sqrt" the average regularised loss is within O(T^(-1/2)) of the best fixed function.

    Parameters
    ----------
    kernel : Kernel
    loss : str or Loss, default "hinge"
        Any loss. With "novelty" there are no labels, and a low f_t(x_t) means novel.
    C : float, default 1.0
        Weight of the loss; the cap of a coefficient.
    tau : float, default 1e-3
        Decay of a step with eta = 1, in [0, 1). Used where `lam` is None, as lam = tau/(1 - tau).
    lam : float, optional
        Ridge; replaces tau.
    eta : float, default 1.0
        Step size.
    schedule : {"constant", "sqrt"}
        eta_t = eta, or eta t^(-1/2).
    multiclass : {"exact", "runner_up"}
        The step of the multi-class hinges: the minimiser above, or the paper's, which moves the true label and its
        strongest rival only. They agree for two classes; "exact" is better with more. A structured hinge with label
        similarities has only "runner_up".
    dtype : {"float64", "float32"}
        Of stored points and of kernel values as they are calculated. Single precision takes half the memory for points
        and less time; coefficients and predictions are float64, and predictions agree to some five digits.

    Deviations from the paper: `multiclass="exact"`, K outputs, weights (which multiply C) and `dtype` are additions.

    References
    ----------
    Cheng, Vishwanathan, Schuurmans, Wang, Caelli. Implicit Online Learning with Kernels. NIPS 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.kernels import Gaussian
    >>> from nystream.learners import ILK
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(1000, 2))
    >>> y = np.sign(X[:, 0] * X[:, 1])
    >>> model = ILK(Gaussian(0.5))
    >>> p = model.run(X, y)
    >>> bool(np.mean(p[500:] * y[500:] > 0) > 0.9)
    True
    """

    def __init__(
        self,
        kernel: Kernel,
        *,
        loss: str | Loss = "hinge",
        C: float = 1.0,
        tau: float = 1e-3,
        lam: float | None = None,
        eta: float = 1.0,
        schedule: str = "constant",
        multiclass: str = "exact",
        dtype: str = "float64",
    ) -> None:
        self.kernel = checked_kernel(kernel)
        self.loss = loss
        self.C = positive("C", C)
        self.tau = positive("tau", tau, zero=True, below=1.0)
        self.lam = None if lam is None else positive("lam", lam, zero=True)
        self.eta = positive("eta", eta)
        self.schedule = one_of("schedule", schedule, SCHEDULES)
        self.multiclass = one_of("multiclass", multiclass, RULES)
        self.dtype = checked_dtype(dtype, kernel)
        self._loss = as_loss(loss)
        self._loss.check_rule(multiclass)

    @property
    def _ridge(self) -> float:
        return self.tau / (1 - self.tau) if self.lam is None else self.lam

    def _round(self, f: PlainExpansion, y: Array, weight: float, t: int) -> Array:
        eta = self.eta / math.sqrt(t) if self.schedule == "sqrt" else self.eta
        kappa = 1 / (1 + eta * self._ridge)
        p = self._scored(f.scores(f.k))
        rule = {"rule": self.multiclass, "scores": p} if isinstance(self._loss, VectorLoss) else {}
        alpha = self._proximal(y, kappa * p, f.kxx, kappa * eta * self.C * weight, **rule)
        f.decay(kappa)
        admit(f, self.budget_, alpha, t)
        return p

    def _loop(self) -> Rounds:
        return Rounds(
            self.expansion_.terms,
            self.budget_.eviction,
            self._loss,
            "implicit",
            eta=self.eta,
            sqrt_schedule=self.schedule == "sqrt",
            lam=self._ridge,
            C=self.C,
            multiclass=self.multiclass,
        )


class SILK(ILK):
    """Sparse ILK: the implicit step on at most `budget` stored points.

    The step of `ILK`; when more than `budget` points would be stored, exactly one entry goes by the rule `drop`,
    which may be the new one. Decay makes old coefficients small, so "smallest" forgets old points first unless they
    matter. O(budget d) time per round ("project": O(budget^2) in rounds that drop), O(budget (d + K)) memory.
    A small buffer keeps almost every round active, because dropping disturbs f: that is expected.

    Parameters
    ----------
    kernel, loss, C, tau, lam, eta, schedule, multiclass
        As in `ILK`.
    budget : int, default 128
        Points stored at most.
    drop : {"smallest", "oldest", "contribution", "project", "merge"}
        Which entry goes, and whether its share is given to the others: see `nystream.dictionary.Budget`. "project" and
        "merge" (Gaussian kernel only) cost more time and are better where every stored point matters.
    dtype : {"float64", "float32"}
        As in `ILK`; "project" and "merge" need float64.

    Deviations from the paper: "lowest coefficient value" is read as magnitude (a signed reading would only ever delete
    one class), ties go to the oldest, and the new point may be the one that goes; the rules after "oldest" are
    additions.

    References
    ----------
    Cheng, Vishwanathan, Schuurmans, Wang, Caelli. Implicit Online Learning with Kernels. NIPS 2006. For "project" and
    "merge": Wang, Crammer, Vucetic. Breaking the curse of kernelization. JMLR 13, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.kernels import Gaussian
    >>> from nystream.learners import SILK
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 2))
    >>> y = np.sign(X[:, 0] * X[:, 1])
    >>> model = SILK(Gaussian(0.5), budget=50, drop="merge")
    >>> p = model.run(X, y)
    >>> bool(np.mean(p[1000:] * y[1000:] > 0) > 0.9), model.size
    (True, 50)
    """

    def __init__(
        self,
        kernel: Kernel,
        *,
        loss: str | Loss = "hinge",
        C: float = 1.0,
        tau: float = 1e-3,
        lam: float | None = None,
        eta: float = 1.0,
        schedule: str = "constant",
        multiclass: str = "exact",
        budget: int = 128,
        drop: str = "smallest",
        dtype: str = "float64",
    ) -> None:
        steps: dict[str, Any] = {"C": C, "tau": tau, "lam": lam, "eta": eta, "schedule": schedule}
        super().__init__(kernel, loss=loss, multiclass=multiclass, dtype=dtype, **steps)
        self.budget = at_least("budget", budget, 1)
        self.drop = one_of("drop", drop, DROPS)
        plain_removal("drop", drop, dtype)
        if drop == "merge" and type(kernel) is not Gaussian:
            raise ValueError(f"drop='merge' needs a Gaussian kernel, got {kernel!r}; use drop='project'")

    def _limits(self) -> Budget:
        return Budget(self.budget, self.drop)
