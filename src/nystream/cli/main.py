"""The `nystream` command: exit code 0 is good, 2 wrong usage or bad input, 1 a fault of ours."""

from __future__ import annotations

import gc
import importlib
import os
import sys

__all__ = ["main"]

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


def main() -> None:
    """Run the command line. Errors that the user can correct give one line and exit code 2."""
    gc.disable()  # imports create no garbage worth collecting
    try:
        app = importlib.import_module("nystream.cli.app")
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich", "click"):
            raise
        print("nystream: the command line needs two more packages: pip install 'nystream[cli]'", file=sys.stderr)
        sys.exit(2)
    sys.exit(app.call(sys.argv[1:], loaded=_collect_garbage))


def _collect_garbage() -> None:
    """Collect garbage from now on, except what was loaded until now, whose scan takes a tenth of a short run."""
    gc.freeze()
    gc.enable()


def silence_stdout() -> None:
    """Send standard output to nowhere, so that the interpreter's last flush does not fail after a broken pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
