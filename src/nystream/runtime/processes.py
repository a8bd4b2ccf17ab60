"""Parallel work in processes that report their progress."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple, Self, TypeVar

from nystream.runtime.blas import single_threaded
from nystream.runtime.threads import threads

__all__ = ["CONTEXT", "FORK", "Crew", "Line", "Message", "in_processes", "processes"]

T = TypeVar("T")
FORK = "fork" in multiprocessing.get_all_start_methods() and sys.platform != "darwin"
"""Whether processes can be forked: children then import nothing and copy no rows. Otherwise none are used."""
CONTEXT: Any = multiprocessing.get_context("fork") if FORK else None

Work = Callable[["Line"], Any]


def processes() -> int:
    """Return the number of processes: NYSTREAM_THREADS or all cores; 1 in a worker and on systems without fork."""
    return threads() if FORK else 1


class Message(NamedTuple):
    """A message from a child: progress or a question ("told"), a warning ("warned"), or its result ("done")."""

    name: str
    kind: str
    content: Any


class Line:
    """The connection of a child to its parent."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def tell(self, content: Any) -> None:
        """Send a message to the parent."""
        self._pipe.send(("told", content))

    def ask(self, content: Any) -> Any:
        """Send a message and wait for the answer."""
        self.tell(content)
        return self._pipe.recv()


class Crew:
    """Child processes by name. They end when the `with` block ends. Only the parent handles Ctrl-C.

    A child uses one thread, and its BLAS uses one thread.
    """

    def __init__(self) -> None:
        self._children: dict[str, tuple[Any, Connection]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for child, _pipe in self._children.values():
            child.kill()  # one that has only begun would take SIGTERM as its parent does
        for child, pipe in self._children.values():
            child.join()
            child.close()
            pipe.close()
        self._children.clear()

    def __len__(self) -> int:
        return len(self._children)

    def start(self, name: str, work: Work) -> None:
        """Start a child."""
        here, there = CONTEXT.Pipe()
        others = [here, *(pipe for _, pipe in self._children.values())]
        child = CONTEXT.Process(target=_lived, args=(there, others, work), name=name, daemon=True)
        for stream in (sys.__stdout__, sys.__stderr__):
            if stream is not None:
                stream.flush()  # otherwise the child would write it again
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # other threads: the child takes none of their locks
            child.start()
        there.close()
        self._children[name] = (child, here)

    def answer(self, name: str, content: Any) -> None:
        """Send the answer to a child that asked."""
        self._children[name][1].send(content)

    def messages(self) -> Iterator[Message]:
        """Yield the messages of the children until all are done. A failure is raised.

        More children may be started meanwhile.
        """
        while self._children:
            pipes = {pipe: name for name, (_, pipe) in self._children.items()}
            for pipe in wait(list(pipes)):
                assert isinstance(pipe, Connection)
                yield self._heard(pipes[pipe], pipe)

    def _heard(self, name: str, pipe: Connection) -> Message:
        child = self._children[name][0]
        try:
            kind, content = pipe.recv()
        except (EOFError, ConnectionResetError):
            child.join()
            raise ChildProcessError(f"{name}: {_ending(child.exitcode)}") from None
        if kind == "failed":
            error, text = content
            raise error from RuntimeError(f"in the process of {name}:\n{text}")
        if kind == "done":
            child.join()
            pipe.close()
            child.close()
            del self._children[name]
        return Message(name, kind, content)


def in_processes(
    tasks: Mapping[str, Work], jobs: int, told: Callable[[str, Any], None] = lambda name, content: None
) -> Iterator[tuple[str, Any]]:
    """Run at most `jobs` tasks at once and yield the name and result of each. `told` gets their messages."""
    waiting = iter(tasks.items())
    with Crew() as crew:
        for _, (name, work) in zip(range(jobs), waiting, strict=False):
            crew.start(name, work)
        for name, kind, content in crew.messages():
            if kind == "told":
                told(name, content)
            elif kind == "warned":
                warnings.warn(content, stacklevel=2)
            else:
                if (following := next(waiting, None)) is not None:
                    crew.start(*following)
                yield name, content


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        why = " (memory may have run out)" if -code == signal.SIGKILL else ""
        return f"its process was ended by {signal.Signals(-code).name}{why}"
    return f"its process ended with code {code}"


def _lived(pipe: Connection, others: list[Connection], work: Work) -> None:
    """Run the task of a child and send its result."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__  # not those of a live table of the parent's
    for other in others:  # else the end of the parent would not be heard by those who wait for it
        other.close()
    try:
        with warnings.catch_warnings(), single_threaded():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = lambda message, category, *_: pipe.send(("warned", str(message)))
            found = work(Line(pipe))
        pipe.send(("done", found))
    except (BrokenPipeError, EOFError):
        os._exit(1)  # the parent has gone
    except BaseException as error:
        pipe.send(("failed", (_portable(error), traceback.format_exc())))


def _portable(error: BaseException) -> BaseException:
    """Return the error, or a picklable error with the same message."""
    try:
        return error if type(pickle.loads(pickle.dumps(error))) is type(error) else RuntimeError(str(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
