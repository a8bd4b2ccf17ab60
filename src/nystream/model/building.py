"""Build a learner from its name: for a task, with settings as people type them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from nystream.compose.encoded import Encoded
from nystream.compose.standardized import Standardized
from nystream.compose.targets import StandardizedTarget
from nystream.data.batch import NUMERIC
from nystream.features import Fourier
from nystream.kernels import Gaussian
from nystream.learners.base import Learner
from nystream.model.tasks import for_task
from nystream.registry import DEFAULT, Record, find

__all__ = ["build"]

CLIP = 3.0
"""Bound on predictions of standardised targets, for learners that need one."""
TRUE, FALSE = ("yes", "true", "on", "1"), ("no", "false", "off", "0")
"""Words for the values of a boolean setting."""


def build(
    name: str | None = None,
    task: str | None = None,
    settings: Mapping[str, Any] | None = None,
    *,
    sigma: float = 1.0,
    dim: int = 400,
    seed: int | None = 0,
    standardize: bool = True,
    kinds: Sequence[str] | None = ("number",),
) -> Learner:
    """Build a learner for a task by its name, as the command line, races and servers do.

    Parameters
    ----------
    name : str or None
        None: the automatic learner.
    task : "regression", "classification", "novelty" or None
        For numbers a learner gets the squared loss unless `settings` has another one; for classes it is wrapped where
        it needs that; for novelty it gets the novelty loss. None: the learner as it is, of whatever labels it takes.
    settings : dict of parameters, `kernel__sigma` for those of a part; booleans may be "yes" and "no"
    sigma, dim : width of its Gaussian kernel, and number of its random features, where it has such
    seed : int or None
    standardize : bool
        With a task, inputs are scaled on the way (`Standardized`), unless the learner does that itself; so are targets
        (`StandardizedTarget`) where its steps or bounds are made for those of unit scale.
    kinds : kinds of the columns, as `Schema.kinds` has them; None: rows are sparse
        A learner of numbers gets other columns encoded (`Encoded`), and text by what the sparse experts hear in it.
        Sparse rows are not scaled; a learner of dense ones gets what the sparse experts say of them.
    """
    record = find(name or DEFAULT)
    settings = dict(settings or {})
    if task == "novelty":
        settings = _without_labels(record, settings)
    learner = _constructed(record, task, settings, sigma, dim, seed)
    if task is None:
        return learner
    if task == "regression" and learner.labels != "real":
        learner = _of_numbers(record, learner, settings)
    if task == "regression" and standardize and _takes_unit_targets(record, learner):
        learner = StandardizedTarget(learner, bound=learner.get_params(deep=False).get("clip"))
    learner = for_task(learner, task, 1)
    if standardize and kinds is not None and not record.scales_inputs:
        learner = Standardized(learner)
    if kinds is None:
        return learner if learner.takes_sparse else Encoded(learner, experts=True)
    if set(kinds) <= set(NUMERIC) or learner.takes_tables:
        return learner
    return Encoded(learner, experts="text" in kinds)


def _without_labels(record: Record, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings for novelty detection; raise an error that names learners for it if this is none."""
    if "loss" not in record.cls._names():
        raise ValueError(
            f"{record.name} learns from labels, and novelty detection has none; leave out the learner, or take one "
            "with a novelty loss, such as silk, norma or fogd"
        )
    return {"loss": "novelty", **settings}


def _takes_unit_targets(record: Record, learner: Learner) -> bool:
    """Return whether the learner needs targets of unit scale: its steps or bounds assume it, or it shrinks to 0."""
    return record.shrinks or any(name in learner.get_params(deep=False) for name in ("loss", "bound"))


def _constructed(
    record: Record, task: str | None, settings: dict[str, Any], sigma: float, dim: int, seed: int | None
) -> Learner:
    nested = {key: value for key, value in settings.items() if "__" in key}
    given = {key: value for key, value in settings.items() if key not in nested}
    names = inspect.signature(record.cls.__init__).parameters
    unknown = sorted({*given, *(key.partition("__")[0] for key in nested)} - set(record.cls._names()))
    if unknown:
        raise ValueError(f"{record.name} has no parameter {unknown[0]!r}; it has {', '.join(list(names)[1:])}")
    given = {key: _as_default(key, value, names[key].default) for key, value in given.items()}
    try:
        learner = record.cls(**{**_defaults(record, task, sigma, dim, seed), **given})
        return learner.set_params(**nested) if nested else learner
    except (TypeError, AttributeError) as error:  # parts that do not fit together are the settings' fault
        raise ValueError(f"{record.name}: {error}") from error


def _defaults(record: Record, task: str | None, sigma: float, dim: int, seed: int | None) -> dict[str, Any]:
    """Return parameters for inputs on the scale of sigma: Gaussian kernel, random Fourier features for a map."""
    names = inspect.signature(record.cls.__init__).parameters
    found: dict[str, Any] = {}
    if "kernel" in names:
        found["kernel"] = Gaussian(sigma)
    if "features" in names and names["features"].default in (inspect.Parameter.empty, None):
        found["features"] = Fourier(Gaussian(sigma), dim, seed=seed)
    if "clip" in names and task == "regression" and names["clip"].default is not None:
        found["clip"] = CLIP
    if record.members is not None:
        found["learners"] = record.combined(Fourier(Gaussian(sigma), dim, seed=seed))
    found |= record.settings if task is None else {**record.settings, **record.task_settings}
    found |= {key: value for key, value in {"seed": seed, "dim": dim, "max_atoms": dim}.items() if key in names}
    for key in record.cls._names():  # a budget, a bound: what has no default is that of the example
        if names[key].default is inspect.Parameter.empty:
            found.setdefault(key, record.example.get_params(deep=False)[key])
    return found


def _as_default(name: str, value: Any, default: Any) -> Any:
    """Convert a setting written as text to what its parameter takes: yes and no where that is a boolean."""
    if not isinstance(default, bool) or isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text not in (*TRUE, *FALSE):
        raise ValueError(f"{name} must be yes or no, got {value!r}")
    return text in TRUE


def _of_numbers(record: Record, learner: Learner, settings: dict[str, Any]) -> Learner:
    """Return the learner with the squared loss; raise an error that says what to use instead if it has none."""
    way_out = (
        "use auto, pkrr, kernel-ridge or fogd for numbers, or say that the target is classes: --task classification, "
        "in Python task='classification'"
    )
    if "loss" in settings:
        raise ValueError(
            f"{record.name} with loss={settings['loss']!r} learns classes, and the target is a number; {way_out}"
        )
    if "loss" in learner.get_params(deep=False):
        try:
            return learner.set_params(loss="squared")
        except (TypeError, ValueError):
            pass
    raise ValueError(f"{record.name} learns classes, and the target is a number; {way_out}")
