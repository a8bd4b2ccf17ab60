"""How many tasks learn a frame, and in how many rounds workers merge what they learnt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import functions as sql

__all__ = ["LIMITS", "Limits", "count_cores", "merge_rounds", "task_count"]


@dataclass(frozen=True)
class Limits:
    """Sizes that decide how partial results travel."""

    tasks_a_core: int = 2
    """Tasks at least for each core of the cluster, so that one slow task does not hold up all others."""
    most_tasks: int = 256
    """Tasks of small results, beyond what the cores need."""
    fewest_tasks: int = 32
    """Tasks that are always allowed: a cluster that grows on demand says at first that it has few cores."""
    shuffled_bytes: float = 2e9
    """Bytes of partial sums of all tasks. Beyond that, a task reads several partitions one after the other."""
    small_model: float = 16e3
    """Bytes of a partial model that is not worth a round on workers: 10,000 of them are 160 MB on the driver."""
    collected_bytes: float = 64e6
    """Bytes of partial models that the driver receives after the last round, at most: Spark refuses beyond 1 GB."""
    groups: int = 64
    """Groups of partitions that the first round on workers merges into one partial model each."""
    fan: int = 8
    """Groups of a round that the next round merges into one."""
    group_bytes: float = 64e6
    """Bytes of the pieces of sums that a worker adds up at a time."""


LIMITS = Limits()


def count_cores(session: Any) -> int:
    """Return the cores of the cluster, as far as Spark knows them now."""
    context = getattr(session, "sparkContext", None)  # a client of Spark Connect has none
    if context is not None:
        return int(context.defaultParallelism)
    return int(session.range(100_000).select(sql.spark_partition_id()).distinct().count())


def task_count(session: Any, nbytes: float) -> int:
    """Return the largest number of tasks that each return a partial sum of so many bytes.

    It depends on the cluster and the size of the sum, not on the number of partitions. A task reads several partitions
    of a frame that has more of them (`coalesce`).
    """
    wanted = LIMITS.tasks_a_core * count_cores(session)
    affordable = min(LIMITS.most_tasks, int(LIMITS.shuffled_bytes / max(nbytes, 1.0)))
    return max(wanted, LIMITS.fewest_tasks, affordable)


def merge_rounds(nbytes: float) -> int:
    """Return in how many rounds workers merge partial models of so many bytes before the driver merges the rest."""
    if nbytes <= LIMITS.small_model:
        return 0
    rounds, groups = 1, LIMITS.groups
    while groups > LIMITS.fan and groups * nbytes > LIMITS.collected_bytes:
        rounds, groups = rounds + 1, groups // LIMITS.fan
    return rounds
