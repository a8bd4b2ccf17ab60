"""What goes wrong on workers, said on the driver in one line: the column, or the remedy."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

try:
    from py4j.protocol import Py4JError
except ModuleNotFoundError:  # a client of Spark Connect alone has no Java beneath it
    Py4JError = PySparkException

__all__ = ["MARK", "SPARK_ERRORS", "Refusal", "WorkerError", "clear_errors", "explained", "one_line"]

SPARK_ERRORS = (PySparkException, Py4JError)
"""What Spark raises on the driver."""

MARK = "nystream.spark.errors.Refusal: "
"""What a refusal begins with in the reports of Spark."""
REFUSED = re.compile(r"(?<!errorMessage, )nystream\.spark\.errors\.Refusal: (.+?)(?: SQLSTATE: \w{5})*$", re.MULTILINE)
"""The last line of a traceback of a refusal, wherever Spark puts it; not the text in a plan that Spark prints."""
ABSENT = re.compile(r"No module named '([\w.]+)'")
EXTRA = ("nystream", "pyarrow", "pandas", "numpy", "scipy", "safetensors", "google")
"""Packages that workers need."""
PYTHON = (
    "set PYSPARK_PYTHON (or spark.pyspark.python) to a Python that has `pip install 'nystream[spark]'`, the same on "
    f"every worker as on the driver, which runs {sys.executable}"
)
LATE = (
    "a Python worker did not start in time: the machine is overloaded, or its Python cannot start; try again with less "
    f"beside it, and {PYTHON}"
)
REMEDIES = (
    ("PYTHON_VERSION_MISMATCH", f"workers run another Python than the driver: {PYTHON}"),
    ("Cannot run program", f"workers cannot start their Python: {PYTHON}"),
    ("failed to connect back", LATE),
    ("waiting for the Python worker to connect back", LATE),
    ("Can't get attribute", f"workers have another version of nystream than the driver: {PYTHON}"),
    (
        "maxResultSize",
        "the partial models are too large to be collected one by one: merge them on the workers first (depth=1 or "
        "more), use fewer features or partitions, or raise spark.driver.maxResultSize",
    ),
)
"""What Spark says, and what to do about it."""
OTHER_STATE = (
    ("VALUE_SCHEMA_NOT_COMPATIBLE", "the ttl: it was given at the first start and is not now, or the other way round"),
    ("KEY_SCHEMA_NOT_COMPATIBLE", "the types of the key's columns"),
)
"""What Spark says of a state that it does not read with this query, and what has changed."""
STACK = re.compile(r"\n\s+at [\w.$/]+\(|JVM stacktrace")
"""The sign of a stack of Java."""
RAISED = re.compile(r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit): .+$", re.MULTILINE)
"""The last line of a traceback of Python."""
CAUSE = re.compile(r"^\s*(?:Caused by: |: )(?:[a-z_]\w*\.)+(\S.*)$", re.MULTILINE)
"""A line of Java that names an error; its package is left out."""


class Refusal(ValueError):
    """Something on a worker that cannot be learnt or predicted; the message says what and where, in one line."""


class WorkerError(RuntimeError):
    """Workers could not do their work at all; the message says what to change, or what the cause was.

    `report` is all that Spark said.
    """

    report: str = ""


def one_line(error: BaseException) -> str:
    """Return the message of an error without line breaks; of a bad cell without the remedy, which is none on Spark."""
    return " ".join(str(getattr(error, "problem", error)).split()) or type(error).__name__


def explained(error: BaseException) -> Exception | None:
    """Return a one-line error for one that Spark raised; None where there is nothing better to say."""
    text = str(error)
    refused = REFUSED.search(text)
    if refused:
        return ValueError(refused.group(1).strip())
    absent = ABSENT.search(text)
    if absent and absent.group(1).partition(".")[0] in EXTRA:
        return WorkerError(f"a Python worker has no module {absent.group(1)!r}: {PYTHON}")
    for sign, change in OTHER_STATE:
        if f"STATE_STORE_{sign}" in text:
            return ValueError(
                f"the checkpoint has models of another query; what changed is {change}; go on with what it was, or "
                "start anew with a new checkpoint"
            )
    for sign, remedy in REMEDIES:
        if sign in text:
            return WorkerError(remedy)
    return None


def _in_one_line(error: BaseException) -> WorkerError | None:
    """Return the innermost cause of an error that Spark reports with a stack of Java; None for one that is readable."""
    text = str(error)
    if not STACK.search(text):
        return None
    raised = RAISED.findall(text.partition("JVM stacktrace")[0]) if "Traceback (most" in text else []
    causes = raised or CAUSE.findall(text) or [text.strip().partition("\n")[0]]
    return WorkerError(f"Spark could not run this: {' '.join(causes[-1].split())} (all of it: the error's `report`)")


@contextmanager
def clear_errors() -> Iterator[None]:
    """Reduce errors of workers to one line: `with clear_errors(): query.awaitTermination()`.

    `fit` and all else that runs at once says it by itself. What Spark runs later, a stream of `per_key` or the
    predictions of `predict`, fails at the action that runs it: put this around that action.
    """
    try:
        yield
    except SPARK_ERRORS as error:
        clear = explained(error) or _in_one_line(error)
        if clear is None:
            raise
        if isinstance(clear, WorkerError):
            clear.report = str(error)
        raise clear from None
