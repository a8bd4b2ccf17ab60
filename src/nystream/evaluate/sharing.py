"""Share one stream among learners in several processes. It is read once, in the parent."""

from __future__ import annotations

import signal
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any, Self

from nystream.evaluate.result import Result
from nystream.evaluate.trial import Snapshot, Trial
from nystream.runtime.processes import CONTEXT, Crew, Line

__all__ = ["Given", "shared_out"]

AHEAD = 16
"""Largest number of blocks between the fastest and the slowest learner, which are kept in memory."""
NEXT, STOP = "next", "stop"

Block = tuple[Any, Any]
Evaluate = Callable[["Given", Trial, Callable[[Snapshot], None]], Result]


class Given:
    """The stream in a child, which requests blocks one at a time."""

    def __init__(self, line: Line, turns: Any) -> None:
        self._line, self._turns = line, turns

    def blocks(self, size: int) -> Iterator[Block]:
        while True:
            self._turns.release()
            try:
                block = self._line.ask(NEXT)
            finally:
                self._turns.acquire()
            if block is None:
                return
            if block == STOP:
                raise KeyboardInterrupt
            yield block


def shared_out(
    blocks: Iterator[Block],
    trials: Sequence[Trial],
    evaluate: Evaluate,
    *,
    jobs: int,
    progress: Callable[[Snapshot], None] | None,
) -> list[Result]:
    """Evaluate each new trial in its own process, with a limited number at a time, and return the results.

    The learners are trained as in this process. Seconds are processor time of one thread. After Ctrl-C all finish their
    present block and mark their results as interrupted; a second Ctrl-C stops at once.
    """
    found: dict[str, Result] = {}
    by_name = {trial.name: trial for trial in trials}
    turns = CONTEXT.Semaphore(jobs)
    with Crew() as crew, _Interrupts() as interrupts:
        for name, trial in by_name.items():
            crew.start(name, partial(_tried, trial, evaluate, turns))
        source = _Source(blocks, list(by_name), interrupts)
        for name, kind, content in crew.messages():
            if kind == "warned":
                warnings.warn(content, stacklevel=4)
            elif kind == "done":
                found[name], learner = content
                source.leave(name)
                by_name[name].learner.__dict__.clear()
                by_name[name].learner.__dict__.update(learner.__dict__)
            elif content == NEXT:
                source.wanted_by(name)
            elif progress is not None:
                progress(content)
            for who, block in source.due():
                crew.answer(who, block)
    return [found[name] for name in by_name]


def _tried(trial: Trial, evaluate: Evaluate, turns: Any, line: Line) -> tuple[Result, Any]:
    trial.seconds_of_the_processor()
    with turns:
        return evaluate(Given(line, turns), trial, line.tell), trial.learner


class _Source:
    """Blocks that some learner still needs, and the learners that wait for one."""

    def __init__(self, blocks: Iterator[Block], names: Sequence[str], interrupts: _Interrupts) -> None:
        self._blocks, self._interrupts = blocks, interrupts
        self._kept: deque[Block] = deque()
        self._first = 0
        self._place = dict.fromkeys(names, 0)
        self._waiting: list[str] = []
        self._ended = False

    def wanted_by(self, name: str) -> None:
        self._waiting.append(name)

    def leave(self, name: str) -> None:
        del self._place[name]
        self._drop()

    def due(self) -> Iterator[tuple[str, Block | str | None]]:
        """Return the waiting learners that may get a block, and the block; no learner may be too far ahead."""
        for name in list(self._waiting):
            place = self._place[name] - self._first
            if not self._interrupts.happened and not self._ended and place == len(self._kept) < AHEAD:
                self._read()
            if self._interrupts.happened:
                answer: Block | str | None = STOP
            elif place < len(self._kept):
                answer = self._kept[place]
                self._place[name] += 1
            elif self._ended:
                answer = None
            else:
                continue
            self._waiting.remove(name)
            yield name, answer
        self._drop()

    def _read(self) -> None:
        try:
            with self._interrupts.at_once():
                self._kept.append(next(self._blocks))
        except StopIteration:
            self._ended = True
        except KeyboardInterrupt:
            self._interrupts.happened = True

    def _drop(self) -> None:
        while self._kept and self._place and self._first < min(self._place.values()):
            self._kept.popleft()
            self._first += 1


class _Interrupts:
    """A handler that records the first Ctrl-C (or ends reading of the stream) and raises the second."""

    def __init__(self) -> None:
        self.happened = False
        self._raised = False
        self._mine = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> Self:
        if self._mine:
            self._before = signal.signal(signal.SIGINT, self._noted)
        return self

    def __exit__(self, *_: object) -> None:
        if self._mine:
            signal.signal(signal.SIGINT, self._before)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Raise Ctrl-C at once inside this context."""
        self._raised = True
        try:
            yield
        finally:
            self._raised = False

    def _noted(self, number: int, frame: FrameType | None) -> None:
        if self.happened or self._raised:
            raise KeyboardInterrupt
        self.happened = True
