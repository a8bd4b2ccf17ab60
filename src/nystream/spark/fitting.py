"""One model of a whole frame: partial models of its partitions, merged exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from nystream.learners.abilities import Unable
from nystream.learners.base import Learner
from nystream.model import Model
from nystream.persist import to_bytes
from nystream.runtime.params import at_least
from nystream.spark.columns import column, refuse_stream, roles
from nystream.spark.dictionaries import sampler_of, with_common_dictionary
from nystream.spark.errors import clear_errors
from nystream.spark.jobs import Fold
from nystream.spark.merging import collected, merge_states
from nystream.spark.patterns import named_model
from nystream.spark.progress import Progress, Stages
from nystream.spark.refused import OnError
from nystream.spark.roles import Roles

__all__ = ["MODELS", "check_mergeable", "check_seeded", "classes_of", "fit", "fitted", "fitted_good_rows"]

MODELS = TypeVar("MODELS", Learner, Model)
MOST_CLASSES = 1000
"""Classes that are looked up in a target; more are something else."""


def fit(
    df: Any,
    learner: MODELS,
    features: Sequence[str] | None = None,
    target: str | Sequence[str] | None = None,
    *,
    weight: str | None = None,
    depth: int | None = None,
    progress: Progress = None,
) -> MODELS:
    """Learn all rows of a frame on the workers, exactly: the model of one machine that saw all of them.

    Every partition learns its own rows; the partial models travel as bytes and are merged in the order of the
    partitions. With a learner on a fixed map (`PKRR`, `PKAWV` with `Fourier`, `Taylor`, `Nystrom` of given landmarks)
    the result differs from one pass on one machine by rounding alone. Its regret is that of forecasters which each saw
    one partition, against the best function of all rows: what `merge` of the same parts gives on one machine.

    `NystromPKRR` and `NystromPKAWV` with dictionary="kors" take two passes: each partition samples a dictionary,
    seeded by its number, these are merged by sampling again, and the second pass learns over the common dictionary,
    which the result then has as its `dictionary`.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Of a classic session or of Spark Connect.
    learner : Learner or Model
        The pattern; it stays as it is. What comes back is of the same kind. A map that draws at random without a seed
        is drawn once, here. A `Model` matches columns by name and may have classes, which are looked up first where
        its schema does not declare them.
    features : list of str
        Columns of numbers; None with a `Model` that has a schema.
    target : str or list of str
        What is predicted; several for learners with several outputs.
    weight : str or None
        A column of weights >= 0, for learners that take them.
    depth : int or None
        Rounds in which workers merge partial models by eights before the driver merges the rest. None: none for small
        models; for larger ones as many as keep the driver's memory below 64 MB, whatever the number of partitions.
    progress : callable or None
        Called with a line after each pass over the rows, `print` for example. The log `nystream.spark` has the same
        lines.

    Raises
    ------
    Unable
        For a learner without `merge`; one model for each key (`per_key`) needs none.
    ValueError
        For columns that are not there or not numbers, nulls and values that are not finite, by name, and a frame
        without rows.
    """
    if depth is not None:
        at_least("depth", depth, 0)
    found = roles(df, _checked(learner), features, target, weight, numbers=isinstance(learner, Learner))
    refuse_stream(df, "fit", "fit_stream")
    pattern: Any = _ready(df, learner, found)
    is_sampled = sampler_of(pattern) is not None
    stages = Stages(df.sparkSession, "fit", 1 + is_sampled, progress)
    if is_sampled:
        with stages.stage("dictionary"):
            pattern = with_common_dictionary(df, pattern, found)
    with stages.stage("learn and merge") as notes:
        model = None if pattern is None else fitted(df, pattern, found, depth)
        if model is None:
            raise ValueError("the frame has no rows, so that nothing can be learnt")
        notes.append(f"{model.n_seen:,} rows")
    return model


def fitted(df: Any, pattern: Learner | Model, found: Roles, depth: int | None = None) -> Any:
    """Return the model of a frame whose columns are checked, or None for a frame without rows."""
    return fitted_good_rows(df, pattern, found, depth, None)[0]


def fitted_good_rows(
    df: Any, pattern: Learner | Model, found: Roles, depth: int | None, on_error: OnError | None
) -> tuple[Any, int]:
    """Return the model of a frame, None without rows to learn, and the number of rows that cannot be learnt."""
    ready = pattern if sampler_of(pattern) is None else with_common_dictionary(df, pattern, found, on_error)
    if ready is None:
        return None, 0
    states = collected(df, Fold(to_bytes(ready), found, on_error), depth, _nbytes(ready, found))
    learnt = [state.content for state in states if state.rows]
    return merge_states(learnt) if learnt else None, sum(state.refused for state in states)


def _nbytes(pattern: Learner | Model, found: Roles) -> float:
    """Return the bytes of a partial model, 0 where a model's learner cannot be started without rows."""
    if isinstance(pattern, Model):
        learner = pattern.inner.clone()
        try:
            learner.reserve(len(found.features), max(len(found.targets), len(pattern.classes)))
        except (ValueError, TypeError):
            return 0.0
        return float(learner.nbytes)
    return float(pattern.nbytes)


def check_mergeable(learner: Learner | Model) -> None:
    """Refuse a learner whose partial models do not add up, with the way out."""
    if learner.can("merge"):
        return
    inner = learner.inner if isinstance(learner, Model) else learner
    raise Unable(
        f"{inner._kind} cannot merge: {inner.why_not('merge')}; so partial models of it cannot become one. Learn one "
        "model for each key (nystream.spark.per_key), let nystream.spark.fit_auto choose a model, or use a learner "
        "that merges: PKRR or PKAWV on a fixed map, NystromPKRR or NystromPKAWV"
    )


def check_seeded(model: Model) -> None:
    """Refuse a model whose partial models would each draw a map of their own."""
    if model.learner is None or sampler_of(model) is not None:
        return
    for name, value in model.learner.get_params(deep=True).items():
        if name.rpartition("__")[2] == "seed" and value is None:
            raise ValueError(
                f"{name} is None in {model.learner!r}, so that every partition would draw a map of its own; give a seed"
            )


def _checked(learner: Any) -> Any:
    if not isinstance(learner, (Learner, Model)):
        raise TypeError(f"learner must be a nystream learner or Model, got {learner!r}")
    check_mergeable(learner)
    return learner


def _ready(df: Any, learner: Learner | Model, found: Roles) -> Learner | Model:
    """Return a fresh pattern that starts alike in every partition: maps drawn, classes known."""
    if isinstance(learner, Model):
        return _model(df, learner, found)
    fresh = learner.clone()
    if fresh.labels == "real" and sampler_of(fresh) is None:
        fresh.reserve(len(found.features), len(found.targets))
    return fresh


def _model(df: Any, model: Model, found: Roles) -> Model:
    fresh = named_model(df, model, found)
    assert fresh.schema is not None
    if fresh.task == "classification" and fresh.schema.classes is None:
        classes = model.classes or classes_of(df, found.targets[0])
        fresh = Model(**{**fresh.get_params(deep=False), "schema": fresh.schema.described(classes=classes)})
    check_mergeable(fresh)
    check_seeded(fresh)
    return fresh


def classes_of(df: Any, target: str) -> list[Any]:
    """Return the values of the target, in their order; this reads its column once more."""
    values = df.select(column(target).alias("label")).where("label is not null").distinct().limit(MOST_CLASSES + 1)
    with clear_errors():
        found = sorted(row.label for row in values.collect())
    if len(found) > MOST_CLASSES:
        raise ValueError(
            f"column {target!r} has more than {MOST_CLASSES} values; declare the classes in the schema if it is one of "
            "classes, or use a learner of numbers"
        )
    return found
