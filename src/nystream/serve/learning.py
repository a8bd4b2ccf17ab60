"""All calls of `nystream.Model`: build it from a configuration or from first rows, learn, predict, save and load."""

from __future__ import annotations

import copy
import threading
from typing import Any

import numpy as np

from nystream import persist
from nystream.data.batch import NUMERIC, Batch
from nystream.data.reading import Table, read
from nystream.data.schema import Schema
from nystream.data.targets import class_names, first_label
from nystream.data.targets import target_columns as label_columns
from nystream.data.task import choose_task
from nystream.learners.base import Learner
from nystream.model import Model
from nystream.model.building import build
from nystream.runtime.lock import ReadWriteLock
from nystream.runtime.version import installed_version
from nystream.serve import series
from nystream.serve.form import Form, one_line
from nystream.serve.refusals import Refusal
from nystream.serve.rows import WORDS, LoggedRows, batch_of, first_piece

__all__ = [
    "answer",
    "can_unlearn",
    "challenger",
    "check",
    "copied",
    "declared",
    "described",
    "form_of",
    "fresh",
    "is_heavy",
    "learn",
    "loaded",
    "made",
    "opened",
    "relied_on",
    "reported",
    "saved",
    "try_rows",
    "unlearn",
    "versions",
]

LARGE = 50_000
"""Settings beyond this are tried in another process first."""
FAILURES = (ValueError, TypeError, AttributeError, ArithmeticError, MemoryError, LookupError)
"""Exceptions of a learner, a schema or an encoder that cannot be made as the configuration asks."""


def check(config: dict[str, Any]) -> None:
    """Refuse a configuration of which no model can be made. Its fields were checked before (`bodies.Config`)."""
    if config.get("settings") is not None and config.get("learner") is None:
        raise Refusal(422, "settings must be an object of parameters, together with the name of a learner")
    if config.get("forecast") is not None and config.get("learner") is not None:
        raise Refusal(422, "a model is a series to forecast, or has a learner: leave out forecast or learner")
    try:
        declared = _declared(config)
        learner = _learner(config, config.get("task"), declared)
        if declared is not None and declared.task is not None:
            declared.check_learner(Model(learner, declared).inner.takes_tables)
    except FAILURES as error:
        raise Refusal(422, one_line(error)) from None


def _declared(config: dict[str, Any]) -> Schema | None:
    if config.get("columns") is None:
        if config.get("task") is not None:
            Schema(["x"], task=config["task"])  # refuses a task that there is not
        return None
    formats = config.get("formats")
    return Schema(config["columns"], config.get("target"), config.get("task"), config.get("classes"), formats=formats)


def _learner(config: dict[str, Any], task: str | None, schema: Schema | None = None) -> Learner | None:
    """Build the learner of a configuration; for numbers alone unless the schema has other columns."""
    if config.get("forecast") is not None:
        return series.learner_of(config["forecast"])
    if config.get("learner") is None:
        return None
    standardize = config.get("standardize", True) is not False
    if task == "novelty":
        return build(config["learner"], None, config.get("settings"))
    kinds = ("number",) if schema is None else schema.kinds
    return build(config["learner"], task, config.get("settings"), standardize=standardize, kinds=kinds)


def made(config: dict[str, Any]) -> Model:
    """Return an untrained model of a configuration that declares columns and task, or raise a Refusal."""
    check(config)
    schema = _declared(config)
    return Model(_learner(config, config["task"], schema), schema)


def challenger(config: dict[str, Any], form: Form) -> Model:
    """Return an untrained model of the same rows with another learner."""
    schema = form.schema
    described = {"columns": dict(schema.columns), "target": schema.target, "task": schema.task}
    allowed: dict[str, Any] = {name: config[name] for name in ("learner", "settings", "standardize") if name in config}
    try:
        model: Model = made({**allowed, **described, "classes": schema.classes})
        form_of(model, form.outputs)
    except (ValueError, TypeError) as error:
        raise Refusal(422, f"this learner cannot be a challenger here: {one_line(error)}") from None
    return model


def is_heavy(config: dict[str, Any]) -> bool:
    """Return whether a setting is so large that the learner may take more memory or time than there is."""
    values = [*(config.get("settings") or {}).values(), *(config.get("forecast") or {}).values()]
    numbers = [number for value in values for number in (value if isinstance(value, list) else [value])]
    return any(isinstance(number, int | float) and abs(number) > LARGE for number in numbers)


def declared(config: dict[str, Any]) -> tuple[Model, Form] | tuple[None, None]:
    """Return the untrained model and its form if a configuration says all about rows; else the first rows will."""
    if config.get("columns") is None:
        return None, None
    try:
        schema = _declared(config)
        model = Model(_learner(config, config.get("task"), schema), schema)
        if model.task is None or (model.task == "classification" and not model.classes):
            return None, None  # whether classes are names or numbers the first label says
        targets = config.get("target")
        form = form_of(model, len(targets) if isinstance(targets, list) else 1)
        try_rows(model, form)
    except FAILURES as error:
        raise Refusal(422, one_line(error)) from None
    return model, form


def try_rows(model: Model, form: Form) -> None:
    """Learn two made-up rows with a copy, save it and load it: a model that cannot do so is never entered."""
    trial = loaded(saved(model))
    numeric = [name for name, kind in form.kinds.items() if kind in NUMERIC]
    inputs = batch_of(
        np.array([[0.0] * len(numeric), [1.0] * len(numeric)]),
        {name: ["a", "b"] for name, kind in form.kinds.items() if kind in WORDS},
        {name: [0, 86_400_000_000] for name, kind in form.kinds.items() if kind == "time"},
        form.kinds,
    )
    batch = LoggedRows(inputs)
    if form.task == "classification":
        names = model.classes or (["a", "b"] if form.fractions is None else [0, 1])
        batch.labels = [names[0], names[-1]]
    elif form.task == "regression":
        batch.labels = np.array([[0.0] * form.outputs, [1.0] * form.outputs])
    _run(trial, batch)
    loaded(saved(trial))


def opened(config: dict[str, Any], table: Any, labels: Any) -> tuple[Model, Form]:
    """Return the untrained model and its form, from the configuration and from the first rows with a label."""
    try:
        declared = _declared(config)
        found = read(table)
        target = config.get("target")
        if declared is None:
            there = [] if target is None else [target] if isinstance(target, str) else list(target)
            inside = [name for name in there if name in found.columns]
            if inside and len(inside) < len(there):
                raise ValueError(f"rows have the target {inside[0]!r} and not {set(there) - set(inside)}")
            declared = Schema.of(found, inside or None, drop=config.get("drop"))
            declared = declared.described(task=config.get("task"), target=target, classes=config.get("classes"))
            if config.get("formats"):
                declared = declared.described(formats={**(declared.formats or {}), **config["formats"]})
        if labels is None and declared.targets and all(name in found.columns for name in declared.targets):
            parts = {name: found.labels(name) for name in declared.targets}
            labels = next(iter(parts.values())) if len(parts) == 1 else Table(parts, found.n)
        parts_of = None if labels is None else label_columns(labels, found.n)
        label = None if parts_of is None else first_label(parts_of[0])
        task = declared.task
        if task is None:
            task = _task_of(config, declared, parts_of, label)
        schema = declared.described(task=task)
        outputs = len(parts_of) if parts_of is not None else max(1, len(schema.targets))
        model = Model(_learner(config, task, schema), schema)
        form = form_of(model, 1 if task != "regression" else outputs, label)
        trial = model.clone()  # whatever a learner refuses at its first row, it refuses now
        batch = form.batch(table, labels, None, lambda names: None).part(slice(0, first_piece(len(form.names))))
        _run(trial, batch)
        loaded(saved(model))
    except FAILURES as error:
        raise Refusal(422, one_line(error)) from None
    return model, form


def _task_of(config: dict[str, Any], schema: Schema, parts: list[Any] | None, label: Any) -> str:
    """Return the task of the first labels, by the rule of `choose_task`; to a learner of classes all are classes."""
    if Model(_learner(config, None, schema), schema).task == "novelty":
        return "novelty"
    choice = None if parts is None else choose_task(parts)
    if label is None or choice is None:
        raise ValueError("no row has a label, and neither the model's task nor its target was declared")
    if choice.task == "classification":
        return "classification"
    try:
        _learner(config, "regression", schema)
    except ValueError:
        return "classification"
    return "regression"


def form_of(model: Model, outputs: int = 1, label: Any = None) -> Form:
    """Return the form of the rows of a model whose schema is known."""
    schema = model.schema_ or model.schema
    if schema is None or model.task is None:
        raise Refusal(422, "the model file has learnt nothing and declares no columns and task: nobody knows its rows")
    schema = schema.described(task=model.task)
    learner = model.inner
    if learner.d_ and model.task == "regression":
        outputs = learner.outputs_
    fractions = None
    if model.task == "classification":
        known = [*model.classes, *class_names([] if label is None else [label])]
        if known and not isinstance(known[0], str):
            fractions = not all(isinstance(name, int) for name in known)
    if outputs > 1 and not learner.multi_output:
        raise ValueError(f"{type(learner).__name__} has one output; labels have {outputs} columns")
    return Form(schema, outputs, learner.missing, learner.weighted, fractions)


def fresh(pattern: Model) -> Model:
    """Return an untrained model like this one."""
    return pattern.clone()


def copied(model: Model) -> Model:
    """Return a copy of the model, in memory of its own."""
    return copy.deepcopy(model)


def saved(model: Model) -> bytes:
    """Return the model as a file that `nystream.load` reads."""
    return persist.to_bytes(model)


def loaded(content: bytes) -> Model:
    """Return the model of a file, or raise a ValueError."""
    found = persist.from_bytes(content)
    if isinstance(found, Model):
        return found
    if isinstance(found, Learner):
        return Model.around(found)
    raise ValueError(f"the file holds a {type(found).__name__}, and no model")


def learn(model: Model, batch: LoggedRows, gate: ReadWriteLock) -> Any:
    """Return the predictions for the rows, each made before its label was read, and learn the rows.

    Predictions for other requests wait meanwhile, so `batch` should be one piece of an event.
    """
    with gate.writing():
        return _run(model, batch)


def _run(model: Model, batch: LoggedRows) -> Any:
    labels = batch.labels
    if batch.n == 1 and batch.weights is None and labels is not None:
        label = labels[0] if isinstance(labels, list) else float(labels[0, 0]) if labels.shape[1] == 1 else None
        if label is not None and label == label:
            answer = model.step(batch.inputs, label)
            if model.task != "classification":
                return np.array([answer])
            found = np.empty(1, dtype=object)
            found[0] = answer
            return found
    return model.run(batch.inputs, _flat(labels), batch.weights)


def _flat(labels: Any) -> Any:
    """Labels as the model takes them: of one target without a second axis."""
    if isinstance(labels, np.ndarray) and labels.shape[1] == 1:
        return np.ascontiguousarray(labels[:, 0])
    return labels


def unlearn(model: Model, batch: LoggedRows, gate: ReadWriteLock) -> None:
    """Forget rows that were learnt, exactly."""
    if batch.labels is None:
        raise ValueError("to forget rows their labels are needed, as they were learnt")
    with gate.writing():
        model.unlearn(batch.inputs, _flat(batch.labels), batch.weights)


def can_unlearn(model: Model) -> None:
    """Refuse where the learner cannot forget rows."""
    learner = model.learner_
    if learner is None:
        raise Refusal(422, "the model has learnt nothing that could be forgotten")
    if not learner.can("unlearn"):
        try:
            learner.unlearn(None, None)
        except TypeError as error:  # says which learners can
            raise Refusal(422, one_line(error)) from None


def answer(model: Model, batch: LoggedRows, wishes: dict[str, Any], gate: ReadWriteLock) -> dict[str, Any]:
    """Predictions, and what else was wished for: probabilities, intervals, quantiles, explanations. Changes nothing."""
    rows, ahead = batch.inputs, wishes.get("ahead")
    found: dict[str, Any] = {}
    try:
        with gate.reading():
            found["predictions"] = model.predict(rows, ahead)
            found["row"] = model.n_seen
            if wishes.get("probabilities"):
                found["classes"] = model.classes
                found["probabilities"] = model.probabilities(rows, ahead)
            if wishes.get("interval"):
                low, high = model.predict_interval(rows, wishes["interval"], ahead)
                found["low"], found["high"] = low, high
            if wishes.get("quantiles"):
                found["quantiles"] = model.predict_quantile(rows, wishes["quantiles"], ahead)
            if wishes.get("explain"):
                found["explanation"] = _explained(model, rows)
    except (ValueError, TypeError) as error:
        raise Refusal(422, one_line(error)) from None
    return found


def _explained(model: Model, rows: Batch) -> Any:
    """Contributions of the columns to each prediction where the learner knows them; else what it relies on."""
    if model.can("explain_row"):
        return model.explain_rows(rows)
    if model.can("weights"):
        return {"weights": model.weights()}
    raise ValueError(f"{name_of(model)} cannot explain its predictions; Auto can")


def name_of(model: Model) -> str:
    """Return the learner's name."""
    learner = model.learner_ if model.learner_ is not None else model.learner
    return "Auto" if learner is None else repr(learner)


def described(model: Model | None) -> dict[str, Any]:
    """Return the description of a model, cheap enough to be asked at any time."""
    if model is None:
        return {"rows": 0, "unlabelled": 0, "size": 0, "bytes": 0, "classes": [], "abilities": []}
    return {
        "learner": name_of(model)[:300],
        "rows": model.n_seen,
        "unlabelled": model.n_unlabelled,
        "size": model.size,
        "bytes": model.nbytes,
        "classes": model.classes,
        "abilities": sorted(model.abilities),
    }


def relied_on(model: Model) -> dict[str, dict[str, float]]:
    """Return shares of the experts in the next prediction and of the columns, where the learner knows them.

    The measured importance of columns takes thousands of predictions, too many for a reading along the stream.
    """
    found: dict[str, dict[str, float]] = {}
    if model.learner_ is None:
        return found
    if model.can("weights"):
        found["weights"] = model.weights()
    columns = model.learnt_shares()
    return found | ({"columns": columns} if columns else {})


def reported(model: Model) -> list[Any]:
    """Return the drift alarms of the learner so far."""
    return model.alarms() if model.learner_ is not None and model.can("alarms") else []


_versions: dict[str, str] = {}
_versions_lock = threading.Lock()


def versions() -> dict[str, str]:
    """Return the versions that computed a model: another build replays to rounding, not to the bit."""
    with _versions_lock:
        if not _versions:
            config: Any = np.show_config(mode="dicts")
            blas = config.get("Build Dependencies", {}).get("blas", {})
            _versions.update(nystream=installed_version(), numpy=np.__version__)
            _versions["blas"] = f"{blas.get('name')} {blas.get('version')}"
    return dict(_versions)
