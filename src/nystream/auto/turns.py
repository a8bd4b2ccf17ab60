"""Who may touch a model: one thread that learns, or any number that ask, each for a short while and in turn."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Turns"]


class Turns:
    """A model is changed by one thread at a time, while no other looks at it; whoever comes first is next.

    A thread that learns block after block would otherwise never let go for long enough: who asks waits for the block
    that is being learnt, not for those after it. Within a turn of its own a thread may ask again.

    Examples
    --------
    >>> turns = Turns()
    >>> with turns.learning():
    ...     pass
    >>> with turns.asking(), turns.asking():
    ...     turns.asked
    True
    """

    def __init__(self) -> None:
        self._next = threading.Lock()  # whoever holds it waits for the model, all others for him
        self._model = threading.Lock()  # one that learns, or the first of those that ask
        self._guard = threading.Lock()
        self._asking = 0
        self._own = threading.local()
        self._calls = 0
        self._learner = 0  # the thread that learnt last

    @property
    def mine(self) -> bool:
        """Whether no other thread has learnt: then nothing can change while this one looks."""
        return self._learner in (0, threading.get_ident())

    @contextmanager
    def learning(self) -> Iterator[None]:
        """Nobody else looks at the model."""
        if getattr(self._own, "depth", 0):  # a turn within its own
            yield
            return
        with self._next:
            self._model.acquire()
        self._own.depth, self._learner = 1, threading.get_ident()
        try:
            yield
        finally:
            self._own.depth = 0
            self._model.release()

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Nobody changes the model."""
        depth = getattr(self._own, "depth", 0)
        if not depth:
            with self._next, self._guard:
                self._calls += 1
                self._asking += 1
                if self._asking == 1:
                    self._model.acquire()
        self._own.depth = depth + 1
        try:
            yield
        finally:
            self._own.depth = depth
            if not depth:
                with self._guard:
                    self._asking -= 1
                    if not self._asking:
                        self._model.release()

    @property
    def asked(self) -> bool:
        """Whether anybody has asked since this was looked at before."""
        calls, self._calls = self._calls, 0
        return calls > 0
