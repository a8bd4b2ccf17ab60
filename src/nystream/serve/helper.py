"""Processes beside the server for work that takes long. They have their own interpreter, and can be killed.

They read large bodies of requests, explain predictions over very many columns, try learners with very large settings,
and load files that people upload, which may be forged. They have half of the memory that is free when they start.
In a thread of the server such work would keep the interpreter from the threads that learn and answer.
"""

from __future__ import annotations

import gc
import os
import pickle
import queue
import resource
import select
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from nystream.runtime.lock import ReadWriteLock
from nystream.serve import learning
from nystream.serve.form import Form, one_line
from nystream.serve.json_text import to_json
from nystream.serve.refusals import Refusal
from nystream.serve.row_formats import decoded
from nystream.serve.rows import LoggedRows
from nystream.serve.settings import Limits

__all__ = ["Helpers"]

_SIZE = struct.Struct("<Q")
START_SECONDS = 60.0
"""Time that a process may take to start."""
LOOK = 1.0
"""Seconds between looks at whether the server is still there."""
LEAST_MEMORY = 2**29
"""Bytes that it may take beside its own code, however little is free."""
NICE = 5
"""By how much it gives way to the server where processors are scarce."""


def check_file(content: bytes) -> None:
    """Load the file of a model; raise Refusal where that fails."""
    try:
        model = learning.loaded(content)
        learning.form_of(model)
    except (ValueError, TypeError, KeyError, LookupError, ArithmeticError, MemoryError) as error:
        raise Refusal(422, f"the model file cannot be used: {one_line(error) or type(error).__name__}") from None


def answer(content: bytes, form: bytes, rows: bytes, wishes: dict[str, Any]) -> bytes:
    """Answer a prediction request with a model of a file; return the answer as JSON."""
    model, described = learning.loaded(content), Form.from_described(orjson.loads(form))
    return to_json(learning.answer(model, LoggedRows.unpack(rows, described.kinds), wishes, ReadWriteLock()))


def read_rows(
    form: bytes, kind: str, body: bytes, query: dict[str, str], limits: Limits, is_labelled: bool
) -> tuple[bytes, dict[str, Any], list[str]]:
    """Read the body of a request and check its rows; return them packed, the options, and the unknown columns."""
    described = Form.from_described(orjson.loads(form))
    rows = decoded(kind, body, query, limits, described)
    unknown: list[str] = []
    labels, weights = (rows.labels, rows.weights) if is_labelled else (None, None)
    batch = described.batch(rows.table, labels, weights, unknown.extend, labelled=is_labelled)
    return batch.pack(), rows.options, unknown


def try_config(config: dict[str, Any]) -> None:
    """Make the model of a configuration, as `PUT /models/NAME` does; raise Refusal where that fails."""
    learning.check(config)
    learning.declared(config)


def try_challenger(config: dict[str, Any], form: bytes) -> None:
    """Make a challenger for the rows of a model and let it learn two rows; raise Refusal where that fails."""
    described = Form.from_described(orjson.loads(form))
    learning.try_rows(learning.challenger(config, described), described)


def try_first_rows(config: dict[str, Any], table: Any, labels: Any) -> None:
    """Make the model of a configuration and of its first rows; raise Refusal where that fails."""
    learning.opened(config, table, labels)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (check_file, answer, read_rows, try_config, try_challenger, try_first_rows)
}


class _Helper:
    """One process. It takes one call at a time."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", "from nystream.serve.helper import main; main()"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        try:
            self._read(START_SECONDS)
        except BaseException:
            self.close()
            raise

    def call(self, name: str, arguments: tuple[Any, ...], seconds: float) -> Any:
        """Return the result; raise what the function raised, TimeoutError when it is late, EOFError when it died."""
        content = pickle.dumps((name, arguments))
        assert self._process.stdin is not None
        try:
            for part in (_SIZE.pack(len(content)), content):
                view = memoryview(part)
                while view:
                    view = view[self._process.stdin.write(view) or 0 :]
        except BrokenPipeError:
            raise EOFError("the process ended") from None
        found = self._read(seconds)
        if isinstance(found, Exception):
            raise found
        return found

    def _read(self, seconds: float) -> Any:
        end = time.monotonic() + seconds
        size = _SIZE.unpack(self._read_bytes(_SIZE.size, end))[0]
        return pickle.loads(self._read_bytes(size, end))

    def _read_bytes(self, count: int, end: float) -> bytes:
        assert self._process.stdout is not None
        found = bytearray()
        handle = self._process.stdout.fileno()
        while len(found) < count:
            if not select.select([handle], [], [], max(end - time.monotonic(), 0.0))[0]:
                raise TimeoutError("the time for this computation is over")
            part = os.read(handle, min(count - len(found), 2**20))
            if not part:
                raise EOFError("the process ended")
            found += part
        return bytes(found)

    def kill(self) -> None:
        """End the process; the thread that waits for its answer is told so, and closes the rest."""
        self._process.kill()

    def close(self) -> None:
        self.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait()


class Helpers:
    """Processes that are started when they are needed, and kept. Threads call them."""

    def __init__(self) -> None:
        self._idle: queue.LifoQueue[_Helper] = queue.LifoQueue()
        self._all: set[_Helper] = set()
        self._is_closed = False

    def call(self, name: str, *arguments: Any, seconds: float) -> Any:
        """Call a function of this module in a process; raise TimeoutError when it is late. A late process is killed."""
        try:
            helper = self._idle.get_nowait()
        except queue.Empty:
            helper = _Helper()
            self._all.add(helper)
            if self._is_closed:
                helper.kill()
        try:
            found = helper.call(name, arguments, seconds)
        except Refusal:
            self._give_back(helper)
            raise
        except BaseException as error:
            self._all.discard(helper)
            helper.close()
            if isinstance(error, EOFError):
                raise Refusal(422, "the computation ended its process, perhaps for want of memory") from None
            raise
        self._give_back(helper)
        return found

    def _give_back(self, helper: _Helper) -> None:
        self._idle.put(helper)
        if self._is_closed:
            self.close()

    def close(self) -> None:
        """End all processes, whatever they do."""
        self._is_closed = True
        for helper in list(self._all):
            helper.kill()
        while True:
            try:
                self._idle.get_nowait().close()
            except queue.Empty:
                return


def main() -> None:
    """Answer calls until the server closes the pipe."""
    end_with(os.getppid())
    os.nice(NICE)
    limit_memory()
    given, told = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a learner prints is no answer
    _tell(told, None)
    gc.disable()  # a large body is millions of objects, none of them in a cycle
    while head := given.read(_SIZE.size):
        name, arguments = pickle.loads(given.read(_SIZE.unpack(head)[0]))
        try:
            found = FUNCTIONS[name](*arguments)
        except MemoryError as error:
            found = Refusal(507, f"this needs more memory than a request may take: {one_line(error)}".rstrip(": "))
        except Exception as error:
            found = error if isinstance(error, Refusal) else RuntimeError(f"{type(error).__name__}: {error}")
        _tell(told, found)
        gc.collect()


def limit_memory() -> None:
    """Bound the memory of this process, so that one request cannot take what the server needs."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, StopIteration):
        return  # no Linux
    most = pages * resource.getpagesize() + max(LEAST_MEMORY, free // 2)
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    with suppress(OSError, ValueError):  # where this is not allowed
        resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def end_with(parent: int) -> None:
    """Let this process end soon after its parent, also in the middle of a computation that does not end."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK)
        os._exit(0)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def _tell(told: Any, found: Any) -> None:
    content = pickle.dumps(found)
    told.write(_SIZE.pack(len(content)) + content)
    told.flush()
