"""Which columns of a frame are learnt, checked on the driver before anything runs."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

from pyspark.sql import functions as sql
from pyspark.sql.types import BooleanType, DataType, NumericType, TimestampType

from nystream.learners.base import Learner
from nystream.model import Model
from nystream.spark.roles import Roles

__all__ = [
    "column",
    "in_utc",
    "is_number",
    "named_roles",
    "names_of",
    "numbered",
    "one_name",
    "refuse_dots",
    "refuse_stream",
    "require",
    "require_names",
    "roles",
]


def one_name(value: Any, what: str) -> str:
    """Return the name of a column; refuse everything else."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"{what} must be the name of a column, got {value!r}")
    return value


def names_of(value: str | Sequence[str] | None, what: str) -> tuple[str, ...]:
    """Return one name or several as a tuple; refuse everything else."""
    names = () if value is None else (value,) if isinstance(value, str) else tuple(value)
    if not names or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{what} must be the name of a column, or a list of names; got {value!r}")
    if len(set(names)) < len(names):
        raise ValueError(f"{what} names a column twice: {', '.join(names)}")
    return names


def column(name: str) -> Any:
    """Return the column of exactly this name, dots and all."""
    return sql.col("`" + name.replace("`", "``") + "`")


def numbered(df: Any, names: Sequence[str]) -> Any:
    """Return these columns of a frame under the names c0, c1 and so on.

    The functions of Spark that send batches to Python find no column whose name has a dot. Workers get the names back
    by `rename_columns`.
    """
    return df.select(*[column(name).alias(f"c{i}") for i, name in enumerate(names)])


def refuse_dots(names: Iterable[str], what: str) -> None:
    """Refuse column names with dots for the function `what`: Spark cannot group rows that have such columns."""
    name = next((name for name in names if "." in name or "`" in name), None)
    if name is not None:
        raise ValueError(
            f"column {name!r} has a dot or a backtick in its name, with which {what} cannot work; rename it: "
            f"df.withColumnRenamed({name!r}, {name.replace('.', '_').replace('`', '_')!r})"
        )


def in_utc(df: Any, name: str) -> Any:
    """Return a column as pandas on a worker reads it: timestamps without a zone, in UTC.

    Without the conversion, timestamps would arrive in the time zone of the session, where one hour occurs twice every
    autumn. Arrow delivers instants, which models read as UTC.
    """
    if not isinstance(df.schema[name].dataType, TimestampType):
        return column(name)
    seconds = (sql.unix_micros(column(name)).cast("decimal(18, 0)") / 1_000_000).cast("decimal(18, 6)")
    zero = sql.lit(0)
    since = sql.make_dt_interval(zero, zero, zero, seconds)
    return (sql.expr("timestamp_ntz '1970-01-01 00:00:00'") + since).alias(name)


def require(df: Any, names: Iterable[str]) -> None:
    """Refuse a frame without one of these columns, or with two of that name."""
    if not hasattr(df, "sparkSession"):
        raise TypeError(f"df must be a DataFrame of Spark, got {type(df).__name__}; spark.createDataFrame makes one")
    require_names(df.columns, names)


def refuse_stream(df: Any, what: str, instead: str) -> None:
    """Refuse a streaming frame for the function `what`, and name those that take one."""
    if df.isStreaming:
        raise ValueError(f"{what} needs a frame that does not stream; for a stream use {instead}")


def require_names(columns: list[str], names: Iterable[str]) -> None:
    """Refuse columns among which one of these is not, or is twice."""
    for name in names:
        found = columns.count(name)
        if found > 1:
            raise ValueError(f"the frame has {found} columns named {name!r}; rename or drop all but one")
        if not found:
            near = difflib.get_close_matches(name, columns, 1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise ValueError(f"the frame has no column {name!r}; {hint}there are {', '.join(columns)}")


def roles(
    df: Any,
    pattern: Learner | Model | None,
    features: Any,
    target: Any,
    weight: str | None = None,
    *,
    numbers: bool = False,
) -> Roles:
    """Return the columns that the pattern learns from, checked against the frame's names and types.

    A model with a schema knows its columns: features and target may then be None. `numbers`: the target must be one.
    """
    schema = (pattern.schema_ or pattern.schema) if isinstance(pattern, Model) else None
    if schema is not None:
        features = schema.names if features is None else features
        target = schema.targets or None if target is None else target
        _same("features", features, schema.names)
    if features is None:
        raise ValueError("features is missing: give the names of the columns to learn from")
    if target is None:
        raise ValueError("target is missing: give the name of the column to predict")
    found = named_roles(df, features, target, weight)
    if schema is not None and schema.targets:
        _same("target", found.targets, schema.targets)
    _check_types(df, found, {} if schema is None else schema.columns, numbers or len(found.targets) > 1)
    return found


def named_roles(df: Any, features: Any, target: Any, weight: str | None, validation: str | None = None) -> Roles:
    """Return the columns by role; refuse a column with two roles, and a frame without one of the columns."""
    found = Roles(names_of(features, "features"), names_of(target, "target"), weight)
    uses = [(name, "a feature") for name in found.features] + [(name, "the target") for name in found.targets]
    for what, name in (("weight", weight), ("validation", validation)):
        if name is not None:
            uses.append((one_name(name, what), f"the {what}"))
    first: dict[str, str] = {}
    for name, use in uses:
        if name in first:
            raise ValueError(f"column {name!r} is {first[name]} and also {use}; leave it out of one")
        first[name] = use
    require(df, first)
    return found


def _same(what: str, given: Any, known: list[str]) -> None:
    if list(names_of(given, what)) != known:
        raise ValueError(f"{what} is {given!r}, but the model's schema has {known!r}; leave {what} out")


def _check_types(df: Any, found: Roles, kinds: dict[str, str], numbers: bool) -> None:
    for name in found.all:
        free = kinds.get(name, "number") not in ("number", "boolean") or (name in found.targets and not numbers)
        dtype = df.schema[name].dataType
        if not free and not is_number(dtype):
            what = "weight" if name == found.weight else "target" if name in found.targets else "feature"
            raise ValueError(
                f"column {name!r}, a {what}, is {dtype.simpleString()}, not a number; cast or encode it, leave it out, "
                "or pass a nystream.Model whose schema says its kind"
            )


def is_number(dtype: DataType) -> bool:
    """Return whether values of this type are numbers as they are."""
    return isinstance(dtype, (NumericType, BooleanType))
