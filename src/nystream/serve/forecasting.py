"""`POST /models/NAME/forecast`: the next rows of a served series."""

from __future__ import annotations

from typing import Any

import numpy as np
from starlette.responses import Response

from nystream.forecast import Forecaster, SeriesLearner
from nystream.model import Model
from nystream.runtime.lock import ReadWriteLock
from nystream.serve.app import Call, Handler, answered
from nystream.serve.form import one_line
from nystream.serve.refusals import Refusal
from nystream.serve.row_formats import parsed
from nystream.serve.series import BODY
from nystream.serve.settings import checked_key

__all__ = ["TABLE"]

MOST_HISTORY = 2048
"""Labels that a forecaster keeps."""


async def forecast(call: Call) -> Response:
    """Return the next rows of a series, with an interval; changes nothing."""
    entry = call.service.store.models.find(call.path["name"])
    key = call.path.get("key")
    asked = parsed(call.body)
    unknown = [name for name in asked if name not in BODY]
    if unknown:
        raise Refusal(422, f"{unknown[0][:60]!r} is not known here; the body has {', '.join(BODY)}")
    if entry.form is None:
        raise Refusal(409, "the model has learnt nothing yet: there is nothing to forecast from")
    _, model, gate = await call.service._asked(entry, None if key is None else checked_key(key), {})
    return answered(await call.service.aside(_answer, model, gate, asked))


def _answer(model: Model, gate: ReadWriteLock, asked: dict[str, Any]) -> dict[str, Any]:
    learner = model.inner
    if not isinstance(learner, SeriesLearner):
        raise Refusal(422, 'the model is no series; create one with {"forecast": {"horizon": 24, "time": "when"}}')
    steps, coverage = _whole(asked, "steps", 1, learner.horizon), asked.get("interval", 0.9)
    history = _whole(asked, "history", 0, MOST_HISTORY) or 0
    if isinstance(coverage, bool) or not isinstance(coverage, int | float) or not 0 < coverage < 1:
        raise Refusal(422, f"interval must be a coverage between 0 and 1, got {coverage!r:.60}")
    with gate.reading():
        forecaster: Forecaster | None = learner.forecaster_ if learner.d_ else None
        if forecaster is None or not forecaster.n_seen:
            raise Refusal(409, "the model has learnt nothing yet: there is nothing to forecast from")
        try:
            X = _inputs(learner, forecaster, asked.get("rows"), steps)
            made = forecaster.forecast(steps, X)
            low, high = (end[: len(made)] for end in forecaster.forecast_interval(float(coverage), X))
            past = forecaster.history(history) if history else np.zeros(0)
            rows = np.arange(forecaster.n_seen - len(past), forecaster.n_seen + len(made))
            times = forecaster.times(rows)
        except (ValueError, TypeError) as error:
            raise Refusal(422, one_line(error)) from None
        shown = None if times is None else [str(t).removesuffix(".000000") for t in times]
        found: dict[str, Any] = {"forecast": made, "low": _finite(low), "high": _finite(high), "interval": coverage}
        found |= {"times": None if shown is None else shown[len(past) :], "row": forecaster.n_seen}
        if history:
            found["history"] = {"labels": _finite(past), "times": None if shown is None else shown[: len(past)]}
        found["score"] = {name: _finite([value])[0] for name, value in forecaster.score_.overall().items()}
    return found


def _inputs(learner: SeriesLearner, forecaster: Forecaster, rows: Any, steps: int | None) -> Any:
    """Return the inputs of the next rows as the forecaster takes them; None where the series has none."""
    if forecaster.inputs_ is None:
        if rows:
            raise ValueError("the series has no inputs; leave out rows, and say how many with steps")
        return None
    names = [name for name in learner.kinds_ or [] if name != learner.time_]
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise ValueError(
            f"the series has inputs: rows must be objects with {', '.join(names)}; {{}} if nothing is known"
        )
    unknown = next((name for row in rows for name in row if name not in (*names, learner.time_)), None)
    if unknown is not None:
        raise ValueError(f"{unknown!r} is no input of the series; it has {', '.join(names)}")
    part = rows if steps is None else rows[:steps]
    if steps is not None and len(part) < steps:
        raise ValueError(f"rows has {len(part)} rows; {steps} are needed")
    return [{name: row.get(name) for name in names} for row in part]


def _whole(asked: dict[str, Any], name: str, least: int, most: int) -> int | None:
    value = asked.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise Refusal(422, f"{name} must be a whole number from {least} to {most}, got {value!r:.60}")
    return value


def _finite(values: Any) -> list[float | None]:
    """Return numbers as JSON has them: null for those that are not finite."""
    return [float(v) if np.isfinite(v) else None for v in values]


TABLE: list[tuple[str, str, Handler, str | None]] = [
    ("POST", "/models/{name}/forecast", forecast, "read"),
    ("POST", "/models/{name}/keys/{key}/forecast", forecast, "read"),
]
"""Method, path, handler and the role that it needs."""
