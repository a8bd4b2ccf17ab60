"""The evaluation loop: every row is predicted before its label is used, then learnt from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from nystream.data.batch import Batch
from nystream.data.items import is_iterator
from nystream.data.places import BadCell
from nystream.data.reading import Table
from nystream.data.sparse_rows import SparseRows, as_sparse_rows, is_sparse
from nystream.evaluate.metrics.base import Metric
from nystream.evaluate.metrics.meters import Meter
from nystream.evaluate.metrics.names import as_metrics
from nystream.evaluate.pairs import are_names_with_gaps, are_tables, items, tables
from nystream.evaluate.result import Result
from nystream.evaluate.task import settle_tasks, usual_metric
from nystream.evaluate.trial import Snapshot, Trial
from nystream.learners.base import Learner
from nystream.model import Model
from nystream.runtime.deferred import Deferred
from nystream.runtime.params import at_least
from nystream.runtime.types import Array, Stream
from nystream.streams.in_memory import as_stream

if TYPE_CHECKING:
    from nystream.evaluate.sharing import Given

__all__ = ["Every", "MetricsLike", "evaluate", "prequential"]

sharing: Any = Deferred("nystream.evaluate.sharing")
processes: Any = Deferred("nystream.runtime.processes")

Every: TypeAlias = "int | Literal['doubling', 'logarithmic']"
MetricsLike: TypeAlias = "str | Metric | Meter | Iterable[str | Metric | Meter]"


def prequential(
    stream: Stream | tuple[Any, Any] | Iterator[Any],
    learner: Learner | Model,
    metrics: MetricsLike | None = None,
    *,
    every: Every = 1000,
    block: int = 256,
    delay: int = 0,
    limit: int | None = None,
    progress: Callable[[Snapshot], None] | None = None,
    name: str | None = None,
    learn: bool = True,
    watch: Callable[[Array], None] | None = None,
) -> Result:
    """Evaluate a learner on a stream: predict each row, then learn it, and read metrics.

    Each row is predicted before its label is used. Rows before the first learnt label do not count in metrics. Readings
    are at the same rows, and have the same bits, for every `block`. Only the time of the learner is measured. The
    learner is trained in place; pass `learner.clone()` to keep the original. After Ctrl-C the result has the readings
    so far, and `interrupted` is True.

    Parameters
    ----------
    stream : Stream or (X, Y)
        An object with `blocks(size)`; a pair of arrays, lists or frames; for a model also dicts, or a frame with
        columns of any kinds. They are converted a part at a time. An iterator of pairs (row, label), or for a model of
        dicts that contain its target, also works, and so does (iterator of dicts, name of the target).
    learner : Learner or Model
        It is trained in place. A model gets blocks of tables or numbers as they come, with labels that are numbers or
        names. If neither the model nor its schema has a task, the first 1,000 labels decide it; `Model(task=...)` sets
        it.
    metrics : str, Metric, Meter or several of them; None: mse, or accuracy for classes
        Names are those of `nystream.evaluate.metrics.METRICS`; "mse@1000" is the metric over the last 1000 rows.
    every : int, "doubling" or "logarithmic", default 1000
        Rows between readings; "doubling" reads at rows 1, 2, 4, 8, ..., "logarithmic" there and at 63 rows between each
        of them and the next, enough for a curve of a stream of any length. The last row is always read.
    block : int, default 256
        Number of rows that the learner gets at once. Up to a point, larger blocks are faster; nothing else changes.
    delay : int, default 0
        The label of a row arrives only after that many further rows were predicted. A row then counts in the metrics
        when it is predicted. Labels that have not arrived when the stream ends are learnt after the last reading. Rows
        are learnt one by one, which is slower than `delay=0`. A learner that has a parameter `delay`, such as `Auto`,
        gets this value.
    limit : int, optional
        Stop after that many rows.
    progress : callable, optional
        Called at every reading with a `Snapshot` (name, n, seconds, values).
    name : str, optional
        Name in tables and plots; the learner's class otherwise.
    learn : bool, default True
        False: the learner predicts and learns nothing.
    watch : callable, optional
        Called with the predictions of each block, as the learner gave them.

    Examples
    --------
    >>> import nystream
    >>> X, y = nystream.streams.sine(2000, seed=0)
    >>> learner = nystream.FOGD(nystream.Gaussian(0.5), dim=100, loss="squared", seed=0)
    >>> result = nystream.prequential((X, y), learner, ["mse", "mse@500", "size"], every=500)
    >>> result["n"].tolist()
    [500, 1000, 1500, 2000]
    >>> bool(result.final["mse@500"] < 0.5 * y.var())
    True

    References
    ----------
    Dawid. Present position and potential developments: some personal views; statistical theory; the prequential
    approach. Journal of the Royal Statistical Society A 147(2), 1984.
    Gama, Sebastiao, Rodrigues. On evaluating stream learning algorithms. Machine Learning 90(3), 2013 (windows).
    """
    title = name or type(learner).__name__
    stream = settle_tasks(stream, [learner], at_least("block", block, 1))
    metrics = usual_metric(learner) if metrics is None else metrics
    trial = Trial(title, learner, as_metrics(metrics), at_least("delay", delay, 0), learn=learn, watch=watch)
    return evaluate(stream, [trial], every=every, block=block, limit=limit, progress=progress)[0]


def evaluate(
    stream: Stream | tuple[Any, Any] | Iterator[Any],
    trials: Sequence[Trial],
    *,
    every: Every,
    block: int,
    limit: int | None,
    progress: Callable[[Snapshot], None] | None,
    jobs: int = 1,
) -> list[Result]:
    """Run one pass over the stream for all trials. A block is read once and given to each.

    With `jobs` > 1 this number of processes works at the same time.
    """
    if every not in ("doubling", "logarithmic"):
        at_least("every", every, 1)
    at_least("block", block, 1)
    if min(jobs, len(trials)) > 1 and processes.FORK:

        def one(rows: Given, trial: Trial, tell: Callable[[Snapshot], None]) -> Result:
            return evaluate(rows, [trial], every=every, block=block, limit=None, progress=tell)[0]

        cut = _cut(_blocks(stream, trials, block), every, limit)
        found: list[Result] = sharing.shared_out(cut, trials, one, jobs=jobs, progress=progress)
        return found
    rows, interrupted = 0, False
    try:
        for X, Y in _cut(_blocks(stream, trials, block), every, limit):
            for trial in trials:
                _feed(trial, X, Y)
            rows += len(X)
            if rows == _next_reading(rows - 1, every):
                _read(trials, progress)
        if rows == 0:
            raise ValueError("the stream gave no rows")
        _read([trial for trial in trials if not trial.is_read], progress)
        for trial in trials:
            trial.finish()
    except KeyboardInterrupt:
        interrupted = True
        _read([trial for trial in trials if not trial.is_read], None)
    return [trial.result(every=every, block=block, interrupted=interrupted) for trial in trials]


def _read(trials: Sequence[Trial], progress: Callable[[Snapshot], None] | None) -> None:
    for trial in trials:
        snapshot = trial.read()
        if progress is not None:
            progress(snapshot)


def _feed(trial: Trial, X: Any, Y: Any) -> None:
    try:
        trial.feed(X, Y)
    except BadCell:
        raise  # the message has file, row and column already
    except ValueError as error:
        where = f"in the block that starts at row {trial.n} of the stream"
        raise ValueError(f"{trial.name}: {error} ({where})") from error


def _next_reading(n: int, every: Every) -> int:
    """Return the first row count after n at which metrics are read."""
    if every == "doubling":
        return 1 << n.bit_length()
    step = 1 << max(0, n.bit_length() - 7) if every == "logarithmic" else every
    return (n // step + 1) * step


def _cut(blocks: Iterable[tuple[Any, Any]], every: Every, limit: int | None) -> Iterator[tuple[Any, Any]]:
    """Yield blocks that are cut at readings and end at `limit`."""
    n, end = 0, at_least("limit", limit, 1) if limit is not None else None
    for X, Y in blocks:
        start = 0
        while start < len(X):
            stop = start + _next_reading(n, every) - n
            stop = min(stop, len(X)) if end is None else min(stop, len(X), start + end - n)
            yield X[start:stop], None if Y is None else Y[start:stop]
            n += stop - start
            if n == end:
                return
            start = stop


def _check_names(names: Sequence[Any] | None, trials: Sequence[Trial]) -> None:
    """Refuse labels that are names for a learner of numbers: their codes 0, 1, ... are no quantities."""
    numeric = next((trial.name for trial in trials if trial.takes_numbers), None)
    if names and numeric is not None:
        shown = ", ".join(map(str, names[:3])) + (", ..." if len(names) > 3 else "")
        raise ValueError(
            f"the labels are names ({shown}), and {numeric} "
            'learns numbers; use a learner of classes, as Auto(task="classification") or Classifier(...), or Model()'
        )


def _blocks(stream: Any, trials: Sequence[Trial], size: int) -> Iterator[tuple[Any, Any]]:
    """Yield blocks of at most `size` rows, converted once for all learners where that is simple (they check the rest).

    A stream's own blocks are taken as they come, however short: rows that have arrived are never held back.
    """
    if isinstance(stream, tuple) and is_sparse(stream[0]):
        rows = as_sparse_rows(stream[0])
        for i in range(0, len(rows), size):
            yield rows[i : i + size], None if stream[1] is None else np.asarray(stream[1])[i : i + size]
        return
    models = [trial.learner for trial in trials if isinstance(trial.learner, Model)]
    if isinstance(stream, tuple) and len(models) == len(trials):
        rows, y = stream
        if are_tables(rows, models) or are_names_with_gaps(y, len(rows)):
            yield from tables(rows, y, models, size)
            return
    if is_iterator(stream):
        yield from items(iter(stream), models, size)
        return
    if isinstance(stream, tuple) or not callable(getattr(stream, "blocks", None)):
        stream = as_stream(stream)
        _check_names(stream.labels, trials)
    blocks: Iterator[tuple[Any, Any]] = stream.blocks(size)
    for X, Y in blocks:
        if isinstance(X, (Table, Batch, SparseRows)):
            yield X, Y
            continue
        X, Y = np.asarray(X), None if Y is None else np.asarray(Y)
        yield np.ascontiguousarray(X, dtype=np.float64) if X.dtype.kind in "fiu" else X, Y
