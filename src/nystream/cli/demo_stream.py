"""The story of `nystream demo`: a building whose heating is replaced, a model that learns its load, and the figures.

The rows are quarters of an hour. The load follows from the temperature, the wind and whether people are at work; the
humidity does not matter. When the heating is replaced, the same weather leads to another load. Beside the model there
are two others: a copy of it that stops learning after 1,000 rows, and the load of the row before.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from typing import Any

import numpy as np

import nystream

__all__ = ["BLOCK", "COLUMNS", "NOISE", "Building", "Demo"]

COLUMNS = ("temperature", "hour", "wind", "people at work", "humidity")
NOISE = 0.7
"""Standard deviation of the noise of the load, in kW: no model can have a lower error in the long run."""
BLOCK = 10
"""Rows that are predicted and learnt at once."""
PERIOD = 1500
"""Rows after which the heating is replaced, unless somebody has asked for it earlier."""
FROZEN_AT = 1000
"""Rows that the copy learns."""
WINDOW, COVERED = 200, 500
"""Rows over which errors are averaged, and over which labels inside the interval are counted."""
FEWEST = 20
"""Errors of the copy over fewer rows are not shown."""
COVERAGE = 0.9
"""Share of labels that the intervals shown should contain."""
SHOWN = 160
"""Rows of predictions that a page shows."""
KEPT = 2000
"""Readings that are kept for pages that are opened later."""
EXPLAINED = 150
"""Rows between two measurements of the columns' importance."""


class Building:
    """Rows of a simulated building: inputs and loads in kW."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._row = 0
        self._weather = 0.0
        self.new_heating = False

    def next_rows(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the inputs and the loads of the next rows."""
        rows = [self._next_row() for _ in range(n)]
        return np.array([x for x, _ in rows]), np.array([y for _, y in rows])

    def _next_row(self) -> tuple[list[float], float]:
        rng, t = self._rng, self._row
        self._row += 1
        hour = (t / 4) % 24
        self._weather = 0.97 * self._weather + 0.6 * rng.normal()
        temperature = 13 + 7 * math.sin(t / 140) + 5 * math.sin((hour - 9) / 24 * 2 * math.pi) + self._weather
        wind, humidity = rng.gamma(2.0, 2.0), rng.uniform(30, 95)
        at_work = float(7 < hour < 19)
        cold = max(0.0, 19 - temperature)
        if self.new_heating:
            load = 8 + 6 * at_work + 0.25 * cold + 1.1 * max(0.0, temperature - 13)
        else:
            load = 8 + 6 * at_work + cold * (0.5 + 0.04 * wind)
        return [temperature, hour, wind, at_work, humidity], load + NOISE * rng.normal()


class Demo:
    """The model, its rivals, and the updates that pages read.

    An update is a dictionary that JSON can hold. `updates_since` gives those that a page has not had; the first
    thing that a page gets is one update with everything that it shows.
    """

    def __init__(self, seed: int = 0) -> None:
        self.model: Any = nystream.Auto(task="regression")
        self._building = Building(seed)
        self._frozen: Any = None
        self._last = math.nan
        self._replaced_at = 0
        self._asked = threading.Event()
        self._losses: dict[str, deque[float]] = {name: deque(maxlen=WINDOW) for name in ("model", "frozen", "last")}
        self._inside: deque[bool] = deque(maxlen=COVERED)
        self._times: deque[float] = deque(maxlen=COVERED // BLOCK)
        self._shares: dict[str, float] = {}
        self._explained = 0
        # What pages show, under a condition that tells them of news.
        self._news = threading.Condition()
        self._readings: deque[dict[str, Any]] = deque(maxlen=KEPT)
        self._rows: deque[dict[str, Any]] = deque(maxlen=SHOWN)
        self._changes: list[int] = []
        self._alarms: list[dict[str, Any]] = []
        self._count = 0
        self.stopped = False

    # -- learning -----------------------------------------------------------------------------------------------------

    def replace_heating(self) -> None:
        """Replace the heating before the next block: what the button of the page does."""
        self._asked.set()

    def learn_block(self) -> None:
        """Predict the next rows, learn them, and tell the pages."""
        row = self.model.n_seen if self._count else 0
        if self._asked.is_set() or row - self._replaced_at >= PERIOD:
            self._asked.clear()
            self._building.new_heating = not self._building.new_heating
            self._replaced_at = row
            with self._news:
                self._changes.append(row)
        X, y = self._building.next_rows(BLOCK)
        frozen = np.full(BLOCK, np.nan) if self._frozen is None else self._frozen.predict(X)
        start = time.perf_counter()
        p, low, high = self._learn(X, y)
        self._times.append((time.perf_counter() - start) / BLOCK)
        last = np.concatenate([[self._last], y[:-1]])
        self._last = float(y[-1])
        self._inside.extend(((low <= y) & (y <= high))[np.isfinite(low)].tolist())
        for name, predictions in (("model", p), ("frozen", frozen), ("last", last)):
            self._losses[name].extend(((predictions - y) ** 2)[np.isfinite(predictions)].tolist())
        if self._frozen is None and self.model.n_seen >= FROZEN_AT:
            self._frozen = nystream.from_bytes(nystream.to_bytes(self.model))
        if self.model.n_seen - self._explained >= EXPLAINED:
            self._explained = self.model.n_seen
            shares = self.model.importance()
            self._shares = {COLUMNS[int(place)]: max(0.0, float(share)) for place, share in shares.items()}
        rows = [
            {"row": row + i + 1, "y": plain(y[i]), "p": plain(p[i]), "low": plain(low[i]), "high": plain(high[i])}
            for i in range(BLOCK)
        ]
        alarms = [{"row": alarm.row, "text": str(alarm)} for alarm in self.model.alarms()]
        with self._news:
            self._alarms = alarms
            self._rows.extend(rows)
            self._readings.append(self._reading())
            self._count += 1
            self._news.notify_all()

    def _learn(self, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the prediction and the interval of each row, made right after the label of the row before."""
        p, low, high = np.full((3, len(y)), np.nan)
        for i, label in enumerate(y.tolist()):
            if self._count or i:
                (low[i],), (high[i],) = self.model.predict_interval(X[i : i + 1], coverage=COVERAGE, ahead=1)
            p[i] = self.model.step(X[i], label)
        return p, low, high

    def _reading(self) -> dict[str, Any]:
        reading: dict[str, Any] = {"row": self.model.n_seen}
        for name, losses in self._losses.items():
            enough = len(losses) >= (FEWEST if name == "frozen" else 1)
            reading[name] = plain(math.sqrt(sum(losses) / len(losses)) if enough else math.nan)
        reading["inside"] = sum(self._inside) / len(self._inside) if self._inside else None
        reading["milliseconds"] = 1000 * float(np.median(self._times))
        reading["bytes"] = self.model.nbytes
        return reading

    # -- what pages read ----------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Tell the pages that nothing more comes."""
        with self._news:
            self.stopped = True
            self._news.notify_all()

    def wait(self, count: int, seconds: float) -> bool:
        """Wait until there are more than `count` updates, or the end, or the time is over; is there news?"""
        with self._news:
            return self._news.wait_for(lambda: self._count > count or self.stopped, seconds)

    def update(self, count: int) -> tuple[int, dict[str, Any]]:
        """Return the number of updates so far, and what a page that has had `count` of them does not know yet."""
        with self._news:
            new = self._count - count
            readings, rows = list(self._readings), list(self._rows)
            found: dict[str, Any] = {
                "readings": readings[max(0, len(readings) - new) :] if new else [],
                "rows": rows[max(0, len(rows) - BLOCK * new) :] if new else [],
                "changes": list(self._changes),
                "alarms": self._alarms,
                "shares": dict(self._shares),
                "stopped": self.stopped,
            }
            if not count:
                found |= {"noise": NOISE, "window": WINDOW, "frozen_at": FROZEN_AT, "shown": SHOWN, "kept": KEPT}
            return self._count, found

    def summary(self) -> str:
        """Return what happened, in a few lines."""
        if not self._readings:
            return "No row was learnt."
        end = self._readings[-1]
        lines = [
            f"{end['row']:,} rows learnt. Root mean squared error over the last {WINDOW} rows: {end['model']:.2f} kW; "
            f"of repeating the last value: {end['last']:.2f} kW. The noise alone is {NOISE} kW.",
            f"The heating was replaced {len(self._changes)} times; drift alarms: {len(self._alarms)}.",
        ]
        return "\n".join(lines)


def plain(value: float) -> float | None:
    """Return a number that JSON can hold: three digits, None for nan."""
    return round(float(value), 3) if math.isfinite(value) else None
