"""A model with names for whatever was given: what is kept for a key, written for a batch, and asked by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql.types import ArrayType, BooleanType, DataType, DoubleType, IntegralType, StringType

from nystream.auto.learner import Auto
from nystream.data.schema import Schema
from nystream.data.task import LABELS, choose_task
from nystream.learners.base import Learner
from nystream.model import Model
from nystream.spark.columns import column
from nystream.spark.errors import clear_errors
from nystream.spark.roles import Roles

__all__ = ["named_model", "prediction_type", "task_of", "trained_model"]


def named_model(df: Any, pattern: Learner | Model | None, found: Roles) -> Model:
    """Return a fresh model for these columns, whose task is known: the schema's, the learner's, or told by the target.

    A learner alone gets a model that keeps no rows for explanations: states are read and written whole, so they had
    better be small.
    """
    model = pattern.clone() if isinstance(pattern, Model) else Model(Auto() if pattern is None else pattern, keep=0)
    schema = model.schema or Schema(list(found.features))
    if found.targets and not schema.targets:
        schema = schema.described(target=found.targets[0] if len(found.targets) == 1 else list(found.targets))
    if schema.task is None:
        task = model.task
        if task is None:
            task = task_of(df, found.targets)
        schema = schema.described(task=task)
    return Model(**{**model.get_params(deep=False), "schema": schema})


def task_of(df: Any, targets: Sequence[str]) -> str:
    """Return the task that the target tells, by the rule of `choose_task`: by its type, or by its first whole numbers.

    The values of a streaming frame cannot be looked at beforehand: whole numbers are quantities there.
    """
    kind = df.schema[targets[0]].dataType
    if len(targets) > 1 or not isinstance(kind, (StringType, BooleanType, IntegralType)):
        return "regression"
    if not isinstance(kind, IntegralType):
        return "classification"
    if df.isStreaming:
        return "regression"
    first = df.select(column(targets[0]).alias("label")).where("label is not null").limit(LABELS)
    with clear_errors():
        choice = choose_task([[row.label for row in first.collect()]])
    return "regression" if choice is None else choice.task


def trained_model(model: Learner | Model, features: Any = None) -> Model:
    """Return a model that knows its columns by name, made of one that has learnt something."""
    if isinstance(model, Model):
        if model.learner_ is None or not model.learner_.d_:
            raise ValueError("the model has learnt nothing yet; fit it first")
        return model
    if not isinstance(model, Learner):
        raise TypeError(f"model must be a nystream Model or learner, got {model!r}")
    if not model.d_:
        raise ValueError("the learner has learnt nothing yet; fit it first")
    if features is None:
        raise ValueError("features is missing: a learner does not know its columns by name; give them, or a Model")
    classes = list(range(model.outputs_)) if model.labels == "class" else None
    if model.labels == "sign":
        raise ValueError(
            f"{model!r} learnt labels -1/+1: give a nystream.Model around it, which knows its classes by name"
        )
    return Model.around(model, Schema(list(features)), classes)


def prediction_type(model: Model, df: Any, targets: tuple[str, ...]) -> DataType:
    """Return the type of a column of predictions: that of the classes, or numbers."""
    if model.task == "classification":
        if targets and all(name in df.columns for name in targets):
            return df.schema[targets[0]].dataType
        known = model.classes
        if known and all(isinstance(name, bool) for name in known):
            return BooleanType()
        if known and all(isinstance(name, (int, float)) and not isinstance(name, bool) for name in known):
            return DoubleType()
        return StringType()
    outputs = model.inner.outputs_ if model.learner_ is not None else max(1, len(targets))
    return DoubleType() if outputs == 1 else ArrayType(DoubleType())
