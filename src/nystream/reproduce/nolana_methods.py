"""The methods of the NOLANA paper's comparison with their grids, equal in size, at equal memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nystream.kernels import Linear
from nystream.learners import FOGD, NOGD, NOLANA, RRF, DualSGD, Learner, PassiveAggressive
from nystream.reproduce.nolana_tasks import Scale, Task, directions, gaussian, rank
from nystream.reproduce.protocol import Pass, one_pass
from nystream.reproduce.selection import Choice, Grid, choose
from nystream.runtime.types import Array

__all__ = ["CHANGES", "CONTROL", "METHODS", "OURS", "PLAIN", "Method"]

GAMMAS = (0.5, 1.0, 2.0, 4.0)
"""Of the kernel, in units of 1 / median squared distance."""
LAMS = (0.0, 1e-5, 1e-4)
"""Values of the ridge weight in the grid."""
CHANGES = "rank m, least squares before the gradient step, AdaGrad steps, logistic loss for classes"
"""What our variant changes, in words."""

Values = dict[str, float]


@dataclass(frozen=True)
class Method:
    """A method: its name, the paper's column that stands beside it, its grid, and the learner of a setting."""

    name: str
    column: str | None
    grid: Callable[[Task, Scale], Grid]
    build: Callable[[Task, Scale, int, Values, int], Learner]
    fixed: tuple[str, ...] = ()
    offset: bool = False
    """Whether rows get a constant column."""

    def learn(self, task: Task, scale: Scale, values: Values, X: Array, y: Array, seed: int) -> Pass:
        """Run a learner over the rows once."""
        if self.offset:
            X = np.column_stack([X, np.ones(len(X))])
        return one_pass(self.build(task, scale, X.shape[1], values, seed), X, y)

    def choose(self, task: Task, scale: Scale, X: Array, y: Array, *, quick: bool = False) -> Choice:
        """Return the setting that is best over the rows of the prefix; a quick run tries two values of each axis."""

        def score(values: Values) -> float:
            with np.errstate(all="ignore"):  # settings that diverge are met, and lose
                return task.cost(self.learn(task, scale, values, X, y, 0).predictions, y)

        grid = self.grid(task, scale)
        if quick:
            # the largest eps: few moves
            few = {name: values[-2:] if name == "eps" else _two(values) for name, values in grid.items()}
            return choose(score, few, extensions=0)
        return choose(score, grid, fixed=self.fixed)


def _two(values: tuple[float, ...]) -> tuple[float, ...]:
    middle = len(values) // 2
    return values[max(middle - 1, 0) : middle + 1]


def _gammas(scale: Scale) -> tuple[float, ...]:
    return tuple(g / scale.width for g in GAMMAS)


def _rates(task: Task) -> tuple[float, ...]:
    """Return the grid of plain steps; with the squared loss they diverge from 1 on."""
    return (0.03, 0.1, 0.3) if task.real else (0.3, 1.0, 3.0)


def _pa_grid(task: Task, scale: Scale) -> Grid:
    return {"C": tuple(2.0**k for k in range(-12, 6)), "variant": (1, 2)}


def _pa(task: Task, scale: Scale, d: int, values: Values, seed: int) -> Learner:
    loss = "epsilon_insensitive" if task.real else task.loss.replace("logistic", "hinge")
    return PassiveAggressive(Linear(), variant="I" * int(values["variant"]), C=values["C"], loss=loss)


def _descent_grid(task: Task, scale: Scale) -> Grid:
    return {"gamma": _gammas(scale), "eta": _rates(task), "lam": LAMS}


def _nogd(task: Task, scale: Scale, d: int, values: Values, seed: int) -> Learner:
    return NOGD(
        gaussian(values["gamma"]), landmarks=task.landmarks, loss=task.loss, eta=values["eta"], lam=values["lam"]
    )


def _fogd(task: Task, scale: Scale, d: int, values: Values, seed: int) -> Learner:
    kernel, dim = gaussian(values["gamma"]), 2 * directions(task.landmarks, d)
    return FOGD(kernel, dim=dim, loss=task.loss, eta=values["eta"], lam=values["lam"], seed=seed)


def _dual_grid(task: Task, scale: Scale) -> Grid:
    return {"gamma": _gammas(scale), "eta": _rates(task), "lam": (1e-5, 1e-4, 1e-3)}


def _dual(task: Task, scale: Scale, d: int, values: Values, seed: int) -> Learner:
    """Build the dual learner; eta is the first step, 1 / (lam t0)."""
    dim = 2 * (task.landmarks * rank(task.landmarks) // d)
    kernel, t0 = gaussian(values["gamma"]), 1 / (values["lam"] * values["eta"])
    return DualSGD(kernel, budget=task.landmarks, dim=dim, loss=task.loss, lam=values["lam"], t0=t0, seed=seed)


def _rrf_grid(task: Task, scale: Scale) -> Grid:
    shares = tuple(share / scale.size**2 for share in (0.01, 0.03, 0.1))
    return {"gamma": _gammas(scale), "eta": _rates(task), "share": shares}


def _rrf(task: Task, scale: Scale, d: int, values: Values, seed: int) -> Learner:
    """Build the learner with adapted features; share is the step of the log-scales relative to that of the weights."""
    kernel, dim, eta = gaussian(values["gamma"]), 2 * directions(task.landmarks, d), values["eta"]
    return RRF(kernel, dim=dim, loss=task.loss, eta=eta, eta_scale=values["share"] * eta, seed=seed)


def _moving_grid(task: Task, scale: Scale) -> Grid:
    return {"gamma": _gammas(scale), "eta": _rates(task), "eps": scale.gaps}


def _nolana(task: Task, scale: Scale, d: int, values: Values, seed: int) -> Learner:
    kernel = gaussian(values["gamma"])
    return NOLANA(kernel, landmarks=task.landmarks, eps=values["eps"], loss=task.loss, eta=values["eta"])


def _adaptive_rates(task: Task, scale: Scale) -> tuple[float, ...]:
    return tuple(eta * scale.size for eta in (0.1, 0.3, 1.0))


def _ours_grid(task: Task, scale: Scale) -> Grid:
    return {"gamma": _gammas(scale), "eta": _adaptive_rates(task, scale), "eps": scale.gaps}


def _ours(task: Task, scale: Scale, d: int, values: Values, seed: int) -> Learner:
    return NOLANA(
        gaussian(values["gamma"]),
        landmarks=task.landmarks,
        rank=task.landmarks,
        eps=values["eps"],
        loss=task.smooth,
        eta=values["eta"],
        method="adagrad",
        order="ls_gd",
    )


def _control_grid(task: Task, scale: Scale) -> Grid:
    """Return a grid of as many settings without eps: more widths and steps."""
    gammas = tuple(g / scale.width for g in (0.25, 0.5, 1.0, 2.0, 4.0, 8.0))
    return {"gamma": gammas, "eta": tuple(eta * scale.size for eta in (0.03, 0.1, 0.2, 0.3, 0.6, 1.0))}


def _control(task: Task, scale: Scale, d: int, values: Values, seed: int) -> Learner:
    m, kernel = task.landmarks, gaussian(values["gamma"])
    return NOGD(kernel, landmarks=m, rank=m, loss=task.smooth, eta=values["eta"], method="adagrad")


PLAIN = Method("NOLANA", "NOLANA", _moving_grid, _nolana, fixed=("eps",))
CONTROL = Method("NOGD, our changes", None, _control_grid, _control)
OURS = Method("NOLANA, our changes", "NOLANA", _ours_grid, _ours, fixed=("eps",))
METHODS = (
    Method("PA", "PA", _pa_grid, _pa, fixed=("variant",), offset=True),
    Method("NOGD", "NOGD", _descent_grid, _nogd),
    Method("FOGD", "FOGD", _descent_grid, _fogd),
    Method("DualSGD", "DualSGD", _dual_grid, _dual),
    Method("RRF", "RRF", _rrf_grid, _rrf),
    PLAIN,
    CONTROL,
    OURS,
)
