"""Several learners on one stream, in one pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from nystream.evaluate.comparison import Comparison
from nystream.evaluate.metrics.names import as_metrics
from nystream.evaluate.prequential import Every, MetricsLike, evaluate
from nystream.evaluate.task import settle_tasks, usual_metric
from nystream.evaluate.trial import Snapshot, Trial
from nystream.learners.base import Learner
from nystream.model import Model
from nystream.runtime.params import at_least
from nystream.runtime.types import Stream

__all__ = ["compare"]


def compare(
    stream: Stream | tuple[Any, Any],
    learners: Mapping[str, Learner | Model] | Iterable[Learner | Model],
    metrics: MetricsLike | None = None,
    *,
    every: Every = 1000,
    block: int = 256,
    delay: int = 0,
    limit: int | None = None,
    progress: Callable[[Snapshot], None] | None = None,
    jobs: int = 1,
) -> Comparison:
    """Evaluate several learners on one stream, each as in `prequential`.

    The stream is read once and each block is given to every learner, so a pipe or a sensor works too. The learners are
    trained in place.

    Parameters
    ----------
    learners : dict of name to learner, or list of learners
        A list is named by class, with a number added where classes repeat.
    stream, metrics, every, block, delay, limit, progress
        As in `prequential`; `progress` is called for each learner at every reading.
    jobs : int, default 1
        Number of processes for the learners. A block is still read once. Everything but the time is the same bits as
        with jobs=1 and one BLAS thread (`OPENBLAS_NUM_THREADS=1`). Seconds are processor time, so they can be compared.
        Without fork (Windows, macOS) it is 1.

    Returns
    -------
    Comparison
        `print` it, take one result with `comparison["FOGD"]`, save it, or hand it to `nystream.plot.curves`.

    Examples
    --------
    >>> import nystream
    >>> narrow, wide = (nystream.FOGD(nystream.Gaussian(s), loss="squared", seed=0) for s in (0.5, 50.0))
    >>> stream = nystream.streams.sine(2000, seed=0)
    >>> result = nystream.compare(stream, {"narrow": narrow, "wide": wide}, metrics=["mse", "seconds"], every=500)
    >>> result.names, result.best("mse")
    (['narrow', 'wide'], 'narrow')
    """
    named = dict(learners) if isinstance(learners, Mapping) else _named(list(learners))
    if not named:
        raise ValueError("learners is empty; give at least one")
    if len({id(learner) for learner in named.values()}) < len(named):
        raise ValueError("one learner object occurs twice and would learn every row twice; pass learner.clone()")
    at_least("delay", delay, 0)
    at_least("jobs", jobs, 1)
    stream = settle_tasks(stream, named.values(), at_least("block", block, 1))
    metrics = usual_metric(next(iter(named.values()))) if metrics is None else metrics
    trials = [Trial(name, learner, as_metrics(metrics), delay) for name, learner in named.items()]
    return Comparison(evaluate(stream, trials, every=every, block=block, limit=limit, progress=progress, jobs=jobs))


def _named(learners: list[Learner | Model]) -> dict[str, Learner | Model]:
    totals = Counter(type(learner).__name__ for learner in learners)
    seen: Counter[str] = Counter()
    named = {}
    for learner in learners:
        name = type(learner).__name__
        seen[name] += 1
        named[f"{name} {seen[name]}" if totals[name] > 1 else name] = learner
    return named
