"""`nystream demo`: a live page of a model that learns a stream whose law changes; nothing is downloaded."""

from __future__ import annotations

import threading
import time
import webbrowser
from typing import Annotated

import typer

from nystream.cli import options as opt
from nystream.cli.demo_page import DemoServer
from nystream.cli.demo_stream import BLOCK, Demo

__all__ = ["demo"]

NEXT = """\
What next:
  nystream run FILE.csv --target COLUMN -f model.nys    learn your own file, and save the model
  nystream race FILE.csv --target COLUMN                compare learners on it
  nystream serve models/                                a server with pages like this one"""


def demo(
    seconds: Annotated[
        float | None, typer.Option(min=0.0, help="Stop after so many seconds. Without it: until Ctrl-C.")
    ] = None,
    speed: Annotated[int, typer.Option(min=1, max=10_000, help="Rows per second, at most.")] = 40,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page; 0 takes a free one.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address and open no browser.")] = False,
    seed: opt.Seed = 0,
) -> None:
    """Watch a model learn: a live page with its predictions, its error and its alarms on a stream that changes.

    The page is served on this machine alone, and everything on it comes from this machine.
    """
    started = Demo(seed=seed)
    with DemoServer(started, port) as server:
        print(f"A model learns here: {server.address}\nCtrl-C stops it.", flush=True)
        if not no_browser:
            threading.Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
        try:
            learn(started, speed, seconds)
        except KeyboardInterrupt:
            pass
        finally:
            started.stop()
    print(f"\n{started.summary()}\n\n{NEXT}")


def learn(started: Demo, speed: int, seconds: float | None) -> None:
    """Learn blocks of rows at the given speed until the time is over."""
    begin = time.monotonic()
    due = begin
    while seconds is None or time.monotonic() - begin < seconds:
        started.learn_block()
        due = max(due + BLOCK / speed, time.monotonic() - 1.0)  # what was missed by more than a second is not made up
        end = due if seconds is None else min(due, begin + seconds)
        time.sleep(max(0.0, end - time.monotonic()))
