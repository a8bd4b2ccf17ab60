"""The description of the HTTP interface, written by hand; a test holds it against the routes."""

from __future__ import annotations

from typing import Any

from nystream.serve.series import BODY as FORECAST

__all__ = ["described"]

_ERROR = {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}}
_VALUE = {"type": ["number", "string", "boolean", "null"]}
_LABEL = {"oneOf": [{"type": ["number", "string", "boolean", "null"]}, {"type": "array", "items": {"type": "number"}}]}
_ROW = {
    "oneOf": [
        {"type": "object", "minProperties": 1, "additionalProperties": _VALUE},
        {"type": "array", "minItems": 1, "items": _VALUE},
    ]
}
_ROWS = {
    "row": _ROW,
    "rows": {"type": "array", "minItems": 1, "items": _ROW},
}
_LABELLED = {
    **_ROWS,
    "label": _LABEL,
    "labels": {"type": "array", "items": _LABEL},
    "weights": {"type": "array", "items": {"type": "number", "minimum": 0}},
}
_NAME = {
    "name": "name",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"},
}
_KEY = {
    "name": "key",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "minLength": 1, "maxLength": 200},
}
_CHALLENGER = {**_NAME, "name": "challenger"}
_FILE = {**_NAME, "name": "file"}
_PARAMETERS = {"name": _NAME, "key": _KEY, "challenger": _CHALLENGER, "file": _FILE}
_IDEMPOTENCY = {
    "name": "Idempotency-Key",
    "in": "header",
    "schema": {"type": "string", "maxLength": 200},
    "description": "A repeated request with the same key is answered from the log and learns once.",
}
_TABLE = {"schema": {"type": "string", "contentMediaType": "text/csv"}}
_ARROW = {"schema": {"type": "string", "format": "binary"}}


def _query(name: str, about: str, kind: str = "string") -> dict[str, Any]:
    return {"name": name, "in": "query", "description": about, "schema": {"type": kind}}


_COLUMNS = [
    _query("label", "CSV and Arrow: the column, or columns with commas, that hold the labels"),
    _query("weight", "CSV and Arrow: the column that holds the weights"),
]
_SOURCE = [
    _query("source", "name of the stream that the rows belong to: each row of it is learnt once"),
    _query("position", "with source: the number of rows of that stream before these", "integer"),
    _query("mark", "with source: any text, kept with the position, by which a sender knows its last row again"),
]
_WISHES = {
    "probabilities": {"type": "boolean"},
    "interval": {"type": ["number", "boolean"], "description": "coverage of the interval, between 0 and 1"},
    "quantiles": {
        "type": "array",
        "items": {"type": "number"},
        "description": "levels between 0 and 1: what such shares of the labels are below",
    },
    "explain": {"type": "boolean"},
    "ahead": {
        "type": ["integer", "null"],
        "enum": [1, None],
        "description": "null, the default: each row is some later row. 1: each row is the next one, right after the "
        "last label that was learnt; the prediction is what `step` would return",
    },
    "snapshot": {"type": "integer", "description": "predict with this snapshot"},
    "remember": {"type": "boolean", "description": "wait for the label; the answer has ids"},
    "ids": {"type": "array", "items": {"type": "string"}, "description": "remember under these ids"},
}


def _object(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**found, "required": required} if required else found


def _tables(properties: dict[str, Any]) -> dict[str, Any]:
    one = {**_object(properties), "oneOf": [{"required": ["rows"]}, {"required": ["row"]}]}
    several = {"type": "array", "minItems": 1, "items": _ROW}
    return {
        "application/json": {"schema": {"oneOf": [one, several]}},
        "text/csv": _TABLE,
        "application/vnd.apache.arrow.stream": _ARROW,
    }


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


_CONFIG = _object(
    {
        "learner": {"type": "string", "description": "a name of `nystream list`; without it the automatic learner"},
        "settings": {"type": "object", "description": "parameters of that learner"},
        "standardize": {"type": "boolean"},
        "columns": {
            "oneOf": [
                {"type": "object", "additionalProperties": {"type": "string"}},
                {"type": "array", "items": {"type": "string"}},
            ]
        },
        "target": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
        "task": {"enum": ["regression", "classification", "novelty"]},
        "classes": {"type": "array"},
        "drop": {"type": "array", "items": {"type": "string"}},
        "formats": {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "description": 'how texts of a column are written: "day-first" for dates, "," for decimal commas',
        },
        "forecast": {
            "type": "object",
            "description": "the rows are a series to forecast: horizon, time, season, frequency, holidays",
        },
        "alarm_error": {"type": "number", "description": "raise an alarm while the windowed error is above this"},
    }
)
_CHALLENGE = _object(
    {
        "learner": {"type": "string"},
        "settings": {"type": "object"},
        "standardize": {"type": "boolean"},
        "copy": {"type": "boolean", "description": "begin as a copy of the champion"},
    }
)
_LATE = {
    "oneOf": [
        _object({"id": {"type": "string"}, "label": _LABEL}, ["id", "label"]),
        _object({"ids": {"type": "array"}, "labels": {"type": "array"}}, ["ids", "labels"]),
    ]
}
_RECORDS = "application/octet-stream"
_UNLEARN = {**_LABELLED, "drop_snapshots": {"type": "boolean", "description": "delete earlier snapshots too"}}


def _operation(
    about: str,
    role: str | None,
    *,
    body: dict[str, Any] | None = None,
    more: list[dict[str, Any]] | None = None,
    good: str = "200",
    kind: str = "application/json",
    needed: bool = True,
) -> dict[str, Any]:
    responses: dict[str, Any] = {good: {"description": "done", "content": {kind: {}}}}
    codes = [] if role is None else ["400", "401", "403", "404", "408", "409", "413", "415", "422", "429", "503", "507"]
    for code in codes:
        responses[code] = {"description": "refused", "content": _json(_ERROR)}
    found: dict[str, Any] = {"summary": about, "responses": responses, "parameters": more or []}
    if body is not None:
        found["requestBody"] = {"required": needed, "content": body}
    found["security"] = [] if role is None else [{"token": []}]
    return {**found, "x-role": role} if role else found


def _learning(keyed: str) -> dict[str, dict[str, Any]]:
    learn: dict[str, Any] = {"body": _tables(_LABELLED), "more": [_IDEMPOTENCY, *_COLUMNS, *_SOURCE]}
    wishes = [_query(name, "as in the body") for name in _WISHES]
    return {
        "learn": _operation(f"Learn rows{keyed}", "learn", **learn),
        "step": _operation(f"Predict rows{keyed}, each as the next row, then learn them", "learn", **learn),
        "predict": _operation(f"Predict rows{keyed}", "read", body=_tables({**_LABELLED, **_WISHES}), more=wishes),
        "forecast": _operation(
            f"Forecast the next rows of a series{keyed}", "read", body=_json(_object(FORECAST)), needed=False
        ),
        "label": _operation(
            f"Labels of remembered predictions{keyed}", "learn", body=_json(_LATE), more=[_IDEMPOTENCY]
        ),
        "unlearn": _operation(
            f"Forget rows{keyed} exactly", "admin", body=_tables(_UNLEARN), more=[_IDEMPOTENCY, *_COLUMNS]
        ),
    }


def _paths() -> dict[str, dict[str, Any]]:
    model, keyed = "/models/{name}", "/models/{name}/keys/{key}"
    file = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    confirm = [_query("confirm", "the name once more")]
    of_one = [_query("model", "hear of this model alone")]
    listing = [_query("after", "keys after this one"), _query("most", "so many", "integer")]
    follower = [_query("follower", "name of the copy, for which events are kept")]
    found: dict[str, dict[str, Any]] = {
        "/models": {"get": _operation("All models", "read")},
        "/backup": {"post": _operation("Copy everything into a new folder of DIR/backups", "admin", good="201")},
        model: {
            "get": _operation("Describe a model", "read"),
            "put": _operation(
                "Create a model: from a configuration, or from a model file",
                "admin",
                body={**_json(_CONFIG), **file},
                good="201",
                needed=False,
            ),
            "delete": _operation("Delete a model and all it learnt", "admin", more=confirm),
        },
        f"{model}/history": {"get": _operation("Errors, baselines and weights over time", "read")},
        f"{model}/importance": {"get": _operation("Shares of the columns in what is predicted now", "read")},
        f"{model}/file": {"get": _operation("Download", "read", kind="application/octet-stream")},
        f"{model}/clone": {
            "post": _operation(
                "A new model that begins as this one is",
                "admin",
                good="201",
                body=_json(_object({"name": {"type": "string"}}, ["name"])),
            )
        },
        f"{model}/snapshots": {
            "get": _operation("Snapshots", "read"),
            "post": _operation("Take a snapshot now", "admin", good="201"),
        },
        f"{model}/rollback": {
            "post": _operation(
                "Go back to a snapshot", "admin", body=_json(_object({"snapshot": {"type": "integer"}}, ["snapshot"]))
            )
        },
        f"{model}/challengers": {"get": _operation("Champion and challengers", "read")},
        f"{model}/challengers/{{challenger}}": {
            "put": _operation("Add a challenger", "admin", body=_json(_CHALLENGE), good="201", needed=False),
            "delete": _operation("Remove a challenger", "admin"),
        },
        f"{model}/challengers/{{challenger}}/promote": {"post": _operation("Make it the champion", "admin")},
        f"{model}/sources": {"get": _operation("Sources of rows and how far each is learnt", "read")},
        f"{keyed}/sources": {"get": _operation("The same of the model of a key", "read")},
        f"{model}/keys": {"get": _operation("Keys of a model", "read", more=listing)},
        keyed: {
            "get": _operation("Describe the model of a key", "read"),
            "delete": _operation("Delete the model of a key", "admin", more=confirm),
        },
        f"{keyed}/file": {"get": _operation("Download it", "read", kind="application/octet-stream")},
        "/replication": {"get": _operation("Models and their last events, for replicas", "read")},
        f"{model}/state": {"get": _operation("State of a model, for replicas", "read", more=follower, kind=_RECORDS)},
        f"{model}/state/keys": {
            "get": _operation("States of keys, for replicas", "read", more=listing[:1], kind=_RECORDS)
        },
        f"{model}/changes": {
            "get": _operation(
                "Events after one, for replicas; 410: begin with the state",
                "read",
                more=[*follower, _query("after", "event", "integer"), _query("mark", "its checksum", "integer")],
                kind=_RECORDS,
            )
        },
        "/healthz": {"get": _operation("Whether the process lives", None)},
        "/readyz": {"get": _operation("Whether it takes requests", None)},
        "/metrics": {"get": _operation("Prometheus text", "read", kind="text/plain")},
        "/health": {"get": _operation("What waits, latencies, disk and memory, as the page shows it", "read")},
        "/access": {"get": _operation("What the token may do", "read")},
        "/events": {"get": _operation("Server-sent events", "read", more=of_one, kind="text/event-stream")},
        "/openapi.json": {"get": _operation("This description", None)},
        "/": {"get": _operation("The page of all models", None, kind="text/html")},
        "/view/{name}": {"get": _operation("The page of a model", None, kind="text/html")},
        "/assets/{file}": {"get": _operation("Files of the pages", None, kind="*/*")},
    }
    for start, about in ((model, ""), (keyed, " by key")):
        for verb, operation in _learning(about).items():
            found[f"{start}/{verb}"] = {"post": operation}
    for path, operations in found.items():
        names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
        if names:
            operations["parameters"] = [_PARAMETERS[name] for name in names]
    return found


def described() -> dict[str, Any]:
    """Return the description of the interface as OpenAPI 3.1."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "nystream serve",
            "version": "1",
            "description": "Models that learn from streams. Rows are JSON objects by column name, lists in the "
            'order of the columns, CSV or Arrow IPC. Refusals are {"error": one sentence}.',
        },
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "paths": _paths(),
    }
