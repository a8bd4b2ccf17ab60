"""Several learners on one stream that share evaluations of equal kernels and equal feature maps."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import numpy as np

from nystream import persist
from nystream._core.kernels import KernelRows
from nystream.features.base import FeatureMap
from nystream.kernels.base import Kernel
from nystream.learners.base import Learner
from nystream.learners.families.feature import FeatureLearner
from nystream.runtime.params import Params
from nystream.runtime.threads import WORTH_A_THREAD, run_parallel
from nystream.runtime.types import Array
from nystream.solvers.ogd import OGD

__all__ = ["Panel"]

_Part = TypeVar("_Part", bound=Params)

LEAST = 8
"""Fewest rows for which shared kernel values save time."""


class Panel:
    """A panel of started learners with equal numbers of outputs on the same rows. Each stays a complete learner.

    Evaluations are shared, not state. Feature learners with equal maps (parameters and state) stay equal, since maps
    see inputs only. One of them transforms a block, and all solvers learn from it. A kernel of several other learners
    is evaluated once on a block: it is replaced by one that caches its values, in the learners while they learn, and in
    shallow copies for predictions, so that several threads may predict at once. Values are cached until the end of the
    block, so blocks should be short. Learners, and solvers that share a map, learn a block in parallel threads.
    """

    def __init__(self, learners: Sequence[Learner]) -> None:
        self.learners = learners
        self._groups = _groups(learners)
        self._alone = [group[0] for group in self._groups if len(group) == 1]
        self._common = _common([learners[i] for i in self._alone])

    def predict(self, X: Array, ahead: int | None = 1) -> Array:
        """Return predictions (n, K, N) of N learners without any change. `ahead` as in `Learner.predict`."""
        Q = np.empty((len(X), self.learners[0].outputs_, len(self.learners)))
        memories = self._memories(X)
        for group in self._groups:
            if len(group) == 1:
                learner = self.learners[group[0]]
                if memories:
                    learner = _with_memories(learner, memories)
                Q[:, :, group[0]] = learner.predict(X, ahead).reshape(Q.shape[:2])
                continue
            members = self._members(group)
            Z = members[0].features_.transform(X)
            for i, member in zip(group, members, strict=True):
                Q[:, :, i] = member.predict_features(X, Z)
        return Q

    def run(self, X: Array, Y: Array, threads: int | None = None) -> Array:
        """Do n rounds and return predictions (n, K, N); the same bits with any `threads`."""
        Q = np.empty((*Y.shape, len(self.learners)))

        def alone(i: int) -> None:
            Q[:, :, i] = self.learners[i].run(X, Y).reshape(Y.shape)

        def shared(i: int, learner: FeatureLearner, Z: Array) -> None:
            Q[:, :, i] = learner.solver_.run(Z, Y)
            learner.features_.note(X, Z)
            learner.n_seen_ += len(X)

        with self._remembering(X):
            jobs: list[Callable[[], None]] = []
            for group in self._groups:
                members = self._members(group)
                if len(group) == 1 or not members[0].features_.settled:
                    jobs += [partial(alone, i) for i in group]
                    continue
                Z = members[0].features_.transform(X)
                jobs += [partial(shared, i, learner, Z) for i, learner in zip(group, members, strict=True)]
            run_parallel(jobs, threads if len(X) >= WORTH_A_THREAD else 1)
        return Q

    def step(self, x: Array, y: Array) -> Array:
        """Do one round and return predictions (1, K, N)."""
        Q = np.empty((1, len(y), len(self.learners)))
        label = float(y[0]) if len(y) == 1 else y
        for group in self._groups:
            members = self._members(group)
            if len(group) == 1 or not members[0].features_.settled:
                for i in group:
                    Q[0, :, i] = self.learners[i].step(x, label)
                continue
            z = members[0].features_.row(x)
            for i, learner in zip(group, members, strict=True):
                Q[0, :, i] = learner.solver_.step(z, y)
                learner.features_.note(x, z)
                learner.n_seen_ += 1
        return Q

    def compiled(self) -> tuple[list[Any], list[list[int]], list[Any]] | None:
        """Return the arguments of `RowPanel` if maps and rounds of all learners are compiled, else None."""
        told: list[Any] = []
        for learner in self.learners:
            plain = isinstance(learner, FeatureLearner) and type(learner)._step_one is FeatureLearner._step_one
            if not isinstance(learner, FeatureLearner) or not plain or learner.outputs_ > 1:
                return None
            if learner.features_.engine is None or learner.solver_.engine is None:
                return None
            if getattr(learner.solver_, "average", False) and not isinstance(learner.solver_, OGD):
                return None  # its mean is not kept by the compiled rounds
            told.append(None if type(learner.features_).note is FeatureMap.note else learner.features_)
        return list(self.learners), self._groups, told

    def _members(self, group: list[int]) -> list[FeatureLearner]:
        return [learner for learner in (self.learners[i] for i in group) if isinstance(learner, FeatureLearner)]

    def _memories(self, X: Array) -> list[_Remembered]:
        """Return, for each kernel of several learners, one that caches its values on the rows of X."""
        return [_Remembered(kernel, X) for kernel in self._common] if len(X) >= LEAST else []

    @contextmanager
    def _remembering(self, X: Array) -> Iterator[None]:
        """Evaluate kernels of several learners once on the rows of X, inside this context."""
        memories = self._memories(X)
        alone = [self.learners[i] for i in self._alone] if memories else []
        _exchange(alone, lambda kernel: _remembered(kernel, memories))
        try:
            yield
        finally:  # searches again: a learner may have passed a wrapper to a new part
            _exchange(alone, lambda kernel: next((m.kernel for m in memories if m is kernel), kernel))


class _Remembered(Kernel):
    """A kernel that caches its values between the rows of one block and other points.

    It is safe for several threads: a thread waits for values that another one computes. A copy of it is the plain
    kernel.
    """

    def __init__(self, kernel: Kernel, block: Array) -> None:
        self.kernel = kernel
        self._begin = block.ctypes.data
        self._end = self._begin + block.nbytes
        self._kept: list[_Values] = []
        self._guard = threading.Lock()

    def __call__(self, X: Array, Y: Array) -> Array:
        if not (self._begin <= X.ctypes.data < self._end and X.flags.c_contiguous):
            return self.kernel(X, Y)
        rows = (X.ctypes.data, *X.shape)
        with self._guard:  # other learners hold copies of the same points
            known = next((v for v in self._kept if v.rows == rows and np.array_equal(v.points, Y)), None)
            if known is None:
                known = _Values(rows, Y.copy())
                self._kept.append(known)
        return known.of(self.kernel, X).copy()

    def diag(self, X: Array) -> Array:
        return self.kernel.diag(X)

    def row(self, X: Array, x: Array) -> Array:
        return self.kernel.row(X, x)

    @property
    def compiled(self) -> KernelRows | None:
        return self.kernel.compiled

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kernel, name)  # what only some kernels have

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return self.kernel.get_params(deep)

    def clone(self) -> Any:
        return self.kernel.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return copy.deepcopy(self.kernel, memo)

    def __repr__(self) -> str:
        return repr(self.kernel)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


class _Values:
    """Kernel values between the rows of the block and these points, computed at the first use."""

    def __init__(self, rows: tuple[int, ...], points: Array) -> None:
        self.rows, self.points = rows, points
        self._values: Array | None = None
        self._turn = threading.Lock()

    def of(self, kernel: Kernel, X: Array) -> Array:
        with self._turn:
            if self._values is None:
                self._values = kernel(X, self.points)
            return self._values


def _groups(learners: Sequence[Learner]) -> list[list[int]]:
    """Group the positions of plain feature learners with equal maps; all others are alone."""
    groups: dict[Any, list[int]] = {}
    for i, learner in enumerate(learners):
        key: Any = i
        plain = isinstance(learner, FeatureLearner) and type(learner)._run is FeatureLearner._run
        if isinstance(learner, FeatureLearner) and plain and type(learner)._predict is FeatureLearner._predict:
            key = _fingerprint(learner.features_, i)
        groups.setdefault(key, []).append(i)
    return list(groups.values())


def _fingerprint(part: Params, otherwise: int) -> bytes | int:
    """Return parameters and state of a part for comparison; a part that cannot be saved equals no other."""
    try:
        return persist.to_bytes(part)
    except ValueError:
        return otherwise


def _common(learners: Sequence[Learner]) -> list[Kernel]:
    """Return kernels of at least two learners, compared by value (kernels may not be hashable)."""
    common: list[Kernel] = []
    held = [list(_kernels(learner)) for learner in learners]
    for i, own in enumerate(held):
        for kernel in own:
            if kernel not in common and any(kernel in others for others in held[:i]):
                common.append(kernel)
    return common


def _kernels(part: Params) -> Iterator[Kernel]:
    """Return all kernels of a learner and its parts."""
    for value in part.__dict__.values():
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, Kernel):
                yield item
            elif isinstance(item, Params):
                yield from _kernels(item)


def _exchange(parts: Sequence[Params], new: Callable[[Kernel], Kernel]) -> None:
    """Replace every kernel that the parts, and parts of parts, hold by name."""
    for part in parts:
        for name, value in list(part.__dict__.items()):
            if isinstance(value, Kernel):
                part.__dict__[name] = new(value)
            elif isinstance(value, Params):
                _exchange([value], new)
            elif isinstance(value, (list, tuple)):
                _exchange([v for v in value if isinstance(v, Params) and not isinstance(v, Kernel)], new)


def _remembered(kernel: Kernel, memories: list[_Remembered]) -> Kernel:
    return next((m for m in memories if m.kernel == kernel), kernel)


def _with_memories(part: _Part, memories: list[_Remembered]) -> _Part:
    """Return a shallow copy of the part in which kernels cache their values, also in nested parts."""
    twin = object.__new__(type(part))
    for name, value in part.__dict__.items():
        twin.__dict__[name] = _replaced(value, memories)
    return twin


def _replaced(value: Any, memories: list[_Remembered]) -> Any:
    if isinstance(value, Kernel):
        return _remembered(value, memories)
    if isinstance(value, Params) and any(True for _ in _kernels(value)):
        return _with_memories(value, memories)
    if isinstance(value, (list, tuple)) and any(isinstance(item, Params) for item in value):
        return type(value)(_replaced(item, memories) for item in value)
    return value
