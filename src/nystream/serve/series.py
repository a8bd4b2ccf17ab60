"""Models that are a series to forecast: their configuration, and what may be asked of them."""

from __future__ import annotations

from typing import Any

from nystream.forecast import SeriesLearner

__all__ = ["BODY", "learner_of"]

MOST_AHEAD = 4096
"""Rows ahead, at most: a forecaster's memory grows with their square."""
BODY = {
    "steps": {"type": "integer", "minimum": 1, "description": "at most the horizon, which is the default"},
    "rows": {
        "type": "array",
        "items": {"type": "object"},
        "description": "inputs of the next rows, where the series has inputs; {} where nothing is known",
    },
    "interval": {
        "type": "number",
        "description": "coverage of the interval, at most 0.99; 0.9 if not given",
    },
    "history": {"type": "integer", "minimum": 0, "description": "so many of the last labels too"},
}
"""What the body of a request may have."""


def learner_of(config: Any) -> SeriesLearner:
    """Return the learner of a model's configuration "forecast", or raise a ValueError that says what is wrong."""
    if not isinstance(config, dict):
        raise ValueError('forecast must be an object, as {"horizon": 24, "time": "when"}')
    names = ("horizon", "time", "season", "frequency", "holidays")
    unknown = [name for name in config if name not in names]
    if unknown:
        raise ValueError(f"forecast has no setting {unknown[0]!r}; it has {', '.join(names)}")
    if "horizon" not in config:
        raise ValueError("forecast needs horizon, the number of rows ahead")
    if isinstance(config["horizon"], int) and config["horizon"] > MOST_AHEAD:
        raise ValueError(f"horizon is {config['horizon']:,}; the server forecasts at most {MOST_AHEAD:,} rows ahead")
    return SeriesLearner(**config)
