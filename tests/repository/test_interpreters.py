"""Sub-interpreters: the compiled core serves one interpreter of a process, and refuses the others."""

from __future__ import annotations

import subprocess
import sys

ASK = """
try:
    import nystream._core.losses
except ImportError as error:
    print("refused:", error, flush=True)
else:
    print("loaded twice", flush=True)
"""

PROGRAM = f"""
try:
    import _interpreters as interpreters  # Python 3.13
except ImportError:
    import _xxsubinterpreters as interpreters
import nystream._core.losses

run = getattr(interpreters, "exec", None) or interpreters.run_string
run(interpreters.create(), {ASK!r})
"""


def test_a_second_interpreter_that_imports_the_core_is_refused_and_told_why():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("refused:"), done.stdout
