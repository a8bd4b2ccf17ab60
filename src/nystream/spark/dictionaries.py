"""Two passes for dictionaries: every partition samples one, they are merged by sampling again, all learn over it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nystream.compose.wrapper import Wrapper
from nystream.dictionary.kors import KORS
from nystream.dictionary.merging import merge_dictionaries
from nystream.learners.base import Learner
from nystream.learners.nystrom_pkawv import NystromPKAWV
from nystream.model import Model
from nystream.persist import from_bytes, to_bytes
from nystream.spark.jobs import Fold, Place, reader
from nystream.spark.merging import collected
from nystream.spark.refused import OnError, find_bad_rows
from nystream.spark.roles import Roles

__all__ = ["common_dictionary", "sampler_of", "with_common_dictionary"]


@dataclass(frozen=True)
class Sampling(Fold):
    """The first pass: rows of a partition in, its dictionary out. `pattern` is an empty KORS."""

    seed: int = 0

    def start(self, part: int) -> Any:
        sampler = from_bytes(self.pattern, trust=True)
        sampler.start(len(self.roles.features))
        return sampler, np.random.default_rng([self.seed, part])

    def learn(self, model: Any, batch: Any, place: Place) -> Any:
        sampler, rng = model
        X, _, w = reader(self.roles, missing=False)(batch, place)
        u = rng.random(len(X))
        if w is None:
            sampler.run(X, u)
        else:  # a row of weight w counts as w rows in the covariance
            sampler.run(X[w > 0], u[w > 0], np.sqrt(w[w > 0]))
        return model

    def learn_good_rows(self, model: Any, batch: Any, place: Place) -> tuple[Any, int]:
        if self.on_error is None:
            return self.learn(model, batch, place), 0

        def read(start: int, end: int) -> None:
            reader(self.roles, missing=False)(batch.slice(start, end - start), place)

        bad = [row.place for row in find_bad_rows(batch.num_rows, read)]
        good = np.setdiff1d(np.arange(batch.num_rows), bad)
        return self.learn(model, batch.take(good), place) if len(good) else model, len(bad)

    def finish(self, model: Any) -> bytes:
        return to_bytes(model[0])

    def merge(self, states: list[bytes], level: int, group: int) -> bytes:
        parts = [from_bytes(state, trust=True) for state in states]
        return to_bytes(merge_dictionaries(parts, [self.seed, level, group]))


def sampler_of(pattern: Learner | Model) -> KORS | None:
    """Return an empty sampler as the pattern's learner would use it; None where it does not sample its dictionary."""
    learner = _nystrom(pattern)
    if learner is None or np.ndim(learner.dictionary) or learner.dictionary != "kors":
        return None
    mu = learner.lam if learner.mu is None else learner.mu
    return KORS(learner.kernel, mu, eps=learner.eps, beta=learner.beta, max_atoms=learner.max_atoms)


def common_dictionary(
    df: Any, sampler: KORS, found: Roles, seed: int = 0, on_error: OnError | None = None
) -> KORS | None:
    """Return the dictionary of all rows of a frame; None where there are none."""
    fold = Sampling(to_bytes(sampler), Roles(found.features, (), found.weight), on_error, seed)
    states = collected(df, fold, depth=1)
    parts = [from_bytes(state.content, trust=True) for state in states]
    return merge_dictionaries(parts, seed) if parts else None


def with_common_dictionary(df: Any, pattern: Learner | Model, found: Roles, on_error: OnError | None = None) -> Any:
    """Return the pattern with a dictionary for all rows of the frame in place of a sampled one; None without rows."""
    sampler, learner = sampler_of(pattern), _nystrom(pattern)
    assert sampler is not None
    assert learner is not None
    seed = learner.seed if isinstance(learner.seed, (int, np.integer)) else 0
    dictionary = common_dictionary(df, sampler, found, int(seed), None if on_error is None else OnError("skip"))
    if dictionary is None:
        return None
    if not dictionary.n:
        raise ValueError("no row entered the dictionary: k(x, x) is 0 for all of them, or mu far too large")
    return _replaced(pattern, dictionary.points.copy())


def _nystrom(pattern: Any) -> NystromPKAWV | None:
    """Return the learner with a dictionary, inside whatever is around it."""
    if isinstance(pattern, Model):
        return None if pattern.learner is None else _nystrom(pattern.learner)
    if isinstance(pattern, Wrapper):
        return _nystrom(pattern.learner)
    return pattern if isinstance(pattern, NystromPKAWV) else None


def _replaced(pattern: Any, points: Any) -> Any:
    """Return a copy in which the learner with a dictionary is given these points."""
    params = pattern.clone().get_params(deep=False)
    if isinstance(pattern, (Model, Wrapper)):
        return type(pattern)(**{**params, "learner": _replaced(pattern.learner, points)})
    return type(pattern)(**{**params, "dictionary": points, "seed": None})
