"""The same measurement in another installation of nystream, such as one of an earlier commit."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["measured"]


def measured(work: Callable[[], Any], description: str | None) -> tuple[Any, Any]:
    """(what `work` gives here, what it gives under the interpreter of --before, or None), as JSON knows them."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--before", metavar="PYTHON", help="interpreter of an environment with an earlier nystream")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        print(json.dumps(work()))
        sys.exit()
    earlier = None
    if arguments.before:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        command = [arguments.before, sys.argv[0], "--worker"]
        answer = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        earlier = json.loads(answer.stdout.splitlines()[-1])
    return work(), earlier
