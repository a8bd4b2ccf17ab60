"""The twelve streams: the ten of accuracy/auto_streams.py, and two tables of hourly counts and measurements."""

from __future__ import annotations

import csv
import lzma
from pathlib import Path

import numpy as np
from auto_streams import DATA, READERS, REGRESSION
from auto_streams import read as read_one_of_ten
from peers.running import Stream

__all__ = ["STREAMS", "Stream", "lag_columns", "read"]

CALENDAR = ("season", "yr", "mnth", "hr", "holiday", "weekday", "workingday")
BIKE = (*CALENDAR, "weathersit", "temp", "atemp", "hum", "windspeed")
BEIJING = ("month", "day", "hour", "DEWP", "TEMP", "PRES", "Iws", "Is", "Ir")
WIND = "cbwd"
STREAMS = (*READERS, "bike", "beijing")
MEANS = (5, 50)
"""Lags: the last label, and the means of so many labels."""


def read(name: str, rows: int) -> Stream:
    """The first rows of a stream."""
    if name == "bike":
        return Stream(name, *_bike(rows), 0)
    if name == "beijing":
        return Stream(name, *_beijing(rows), 0)
    X, y = read_one_of_ten(name, rows)
    return Stream(name, X, y, 0 if name in REGRESSION else int(y.max()) + 1)


def lag_columns(y: np.ndarray, classes: int) -> np.ndarray:
    """What is known of the labels before each row: (n, 3), or (n, 3 K) for K > 2 classes; nan in the first row."""
    labels = y[:, None] if classes <= 2 else np.eye(classes)[y.astype(int)]
    sums = np.vstack([np.zeros(labels.shape[1]), labels.cumsum(axis=0)])
    t = np.arange(1, len(y))
    parts = []
    for length in (1, *MEANS):
        start = np.maximum(t - length, 0)
        means = (sums[t] - sums[start]) / (t - start)[:, None]
        parts.append(np.vstack([np.full(labels.shape[1], np.nan), means]))
    return np.hstack(parts)


def _lines(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        raise SystemExit(f"no file {path}; set NYSTREAM_DATA to the folder that has {path.parent.name}/{path.name}")
    with lzma.open(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _bike(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Hires per hour."""
    lines = _lines(DATA / "bike-sharing" / "hour.csv.xz")[:rows]
    X = np.array([[float(line[name]) for name in BIKE] for line in lines])
    return X, np.array([float(line["cnt"]) for line in lines])


def _beijing(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Fine dust per hour, without the hours at which it was not measured; the wind's direction one-hot."""
    lines = _lines(DATA / "beijing-pm25" / "PRSA_data_2010.1.1-2014.12.31.csv.xz")
    lines = [line for line in lines if line["pm2.5"] != "NA"]
    winds = sorted({line[WIND] for line in lines})
    lines = lines[:rows]
    X = np.array(
        [[*(float(line[name]) for name in BEIJING), *(float(line[WIND] == w) for w in winds)] for line in lines]
    )
    return X, np.array([float(line["pm2.5"]) for line in lines])
