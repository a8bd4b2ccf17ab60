"""What holds for every test of the server."""

from __future__ import annotations

from contextlib import ExitStack

import pytest


@pytest.fixture(autouse=True)
def _no_process_is_left_behind():
    """Kill the servers that a test has started and, because it failed, has not ended."""
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    from serving import Process

    before = set(Process.running)
    yield
    with ExitStack() as left:  # all of them, even if one does not end
        for process in Process.running - before:
            left.callback(process.kill)
