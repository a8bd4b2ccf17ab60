"""Schemas of the bodies of requests: every field is checked before anything is done or written."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from nystream.serve.form import LARGEST_CLASS
from nystream.serve.refusals import Refusal
from nystream.serve.settings import Limits

__all__ = ["Challenge", "Clone", "Config", "Labels", "Rollback", "Unlearn", "read_body"]

LONGEST_NAME = 200
"""Characters of the name of a column, a target, a class or a setting."""
LARGEST_SETTING = 1e100
"""Settings beyond this, or nearer to 0 than its inverse, overflow or vanish when they are squared."""


def _check_name(value: str) -> str:
    if not value.strip() or len(value) > LONGEST_NAME or not value.isprintable():
        raise PydanticCustomError("name", "a name is 1 to 200 printable characters")
    return value


def _check_number(value: Any) -> Any:
    """Check a setting: no object, and no number that arithmetic cannot handle."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if not math.isfinite(value) or (value and not 1 / LARGEST_SETTING <= abs(value) <= LARGEST_SETTING):
        raise PydanticCustomError("number", "a number is 0, or between 1e-100 and 1e100 in size")
    return value


def _check_class(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise PydanticCustomError("class", "a class is a text or a number")
    if not isinstance(value, str) and not abs(value) <= LARGEST_CLASS:
        raise PydanticCustomError("class", "a class that is a number is at most 2**53 in size")
    return _check_name(value) if isinstance(value, str) else value


def _check_distinct(values: list[Any]) -> list[Any]:
    if len(set(values)) < len(values):
        raise PydanticCustomError("distinct", "no value may be there twice")
    return values


Name = Annotated[str, AfterValidator(_check_name)]
Scalar = Annotated[bool | int | float | str | None, AfterValidator(_check_number)]
Class = Annotated[Any, BeforeValidator(_check_class)]
Names = Annotated[list[Name], AfterValidator(_check_distinct)]


class Body(BaseModel):
    """A JSON object with these fields and no others, each of its own type."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Config(Body):
    """A new model."""

    learner: Name | None = Field(None, description="a name")
    settings: dict[Name, Scalar | list[Scalar]] | None = Field(None, description="an object of parameters")
    columns: Annotated[dict[Name, Name], Field(min_length=1)] | Annotated[Names, Field(min_length=1)] | None = Field(
        None,
        description="an object of name to kind (number, category, time, ...), or a list of names",
    )
    target: Name | Annotated[Names, Field(min_length=1, max_length=100)] | None = Field(
        None, description="a name, or a list of at most 100 names"
    )
    task: Literal["regression", "classification", "novelty"] | None = Field(
        None, description="regression, classification or novelty"
    )
    classes: Annotated[list[Class], Field(min_length=1), AfterValidator(_check_distinct)] | None = Field(
        None, description="a list of different texts or numbers"
    )
    drop: Names | None = Field(None, description="a list of names of columns")
    formats: dict[Name, Name] | None = Field(None, description="an object of name to format, as in day-first")
    standardize: bool | None = Field(None, description="true or false")
    forecast: dict[Name, Any] | None = Field(
        None, description="an object of horizon, time, season, frequency, holidays"
    )
    alarm_error: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        None, description="a number greater than 0"
    )


class Challenge(Body):
    """A challenger: another learner, or a copy of the champion."""

    learner: Name | None = Field(None, description="a name")
    settings: dict[Name, Scalar | list[Scalar]] | None = Field(None, description="an object of parameters")
    standardize: bool | None = Field(None, description="true or false")
    copy_champion: bool = Field(False, alias="copy", description="true or false")


class Clone(Body):
    """The name of a copy."""

    name: str = Field(description="the name of the new model")


class Rollback(Body):
    """The snapshot to go back to."""

    snapshot: Annotated[int, Field(ge=0, lt=2**62)] = Field(description="the id of one in the list of snapshots")


class Labels(Body):
    """Late labels of one prediction, or of several."""

    id: str | None = Field(None, description="a text")
    ids: list[str] | None = Field(None, description="a list of texts")
    label: Any = Field(None, description="a number or a name")
    labels: list[Any] | None = Field(None, description="a list of numbers or names")


class Unlearn(Body):
    """What is said beside the rows that are to be forgotten."""

    drop_snapshots: bool = Field(False, description="true or false")


Found = TypeVar("Found", bound=Body)


def read_body(kind: type[Found], body: dict[str, Any], limits: Limits | None = None) -> Found:
    """Return the checked body, or raise a Refusal that names the first field that is wrong and what it must be."""
    try:
        found = kind.model_validate(body)
    except ValidationError as error:
        raise Refusal(422, _explain(kind, body, error)) from None
    if limits is not None:
        for name, most in (("columns", limits.columns), ("drop", limits.columns), ("classes", limits.classes)):
            values = getattr(found, name, None)
            if values is not None and len(values) > most:
                raise Refusal(422, f"{name} has {len(values)} entries; at most {most} are allowed")
    return found


def _explain(kind: type[Body], body: dict[str, Any], error: ValidationError) -> str:
    fields = {field.alias or name: field for name, field in kind.model_fields.items()}
    found = error.errors(include_url=False, include_context=False)
    name = str(found[0]["loc"][0]) if found[0]["loc"] else ""
    if name not in fields and kind is Config:
        return f"a model has no setting {name[:60]!r}; it has {', '.join(fields)}"
    if name not in fields:
        return f"{name[:60]!r} is not known here; the body has {', '.join(fields)}"
    if found[0]["type"] == "missing":
        return f'the body has "{name}", {fields[name].description}'
    own = [each["msg"] for each in found if each["type"] in ("name", "number", "class", "distinct")]
    detail = f" ({own[0]})" if own else ""
    return f"{name} must be {fields[name].description}{detail}, got {body.get(name)!r:.60}"
