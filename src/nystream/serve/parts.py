"""One model in the server: its lock, its meter, its watch, and the number of the last event it has learnt."""

from __future__ import annotations

import time
from collections import deque
from itertools import islice
from typing import Any

import numpy as np

from nystream.model import Model
from nystream.runtime.lock import ReadWriteLock
from nystream.serve import learning
from nystream.serve.alarms import Alarm, Watch
from nystream.serve.form import Form
from nystream.serve.meters import Meter, Rate
from nystream.serve.rows import LoggedRows, first_piece
from nystream.serve.scheduling import Slices, complete

__all__ = ["Part"]

TAIL = 20
"""Last rows that are shown with their predictions. Kept in memory alone: a restart has those it learnt again."""
SHOWN_COLUMNS, SHOWN_TEXT = 100, 200
"""Columns of a last row that are shown, and characters of a value."""
KEYED_WINDOW = 100
"""Rows of the meter's window of a keyed model: there may be many thousands of them."""
COVERAGE = 0.9
"""Share of labels that intervals should contain, in the count of labels outside."""
PAUSE = 0.005
"""Seconds that a prediction should wait for rows that are being learnt, at most."""
MEMORY, LARGEST = 64, 4096
"""Rows over which the time of a row is averaged, about, and rows of the largest piece."""
TIMED = 8
"""Of pieces of a single row one in so many is timed."""
OVERHEAD = 30_000
"""Bytes of a model in memory beside its arrays, about."""


class Part:
    """The champion, a challenger or the model of one key.

    Parameters
    ----------
    model : Model or None
        None while nobody knows its columns.
    seq : int
        The last event that it has learnt.
    """

    def __init__(
        self,
        name: str,
        model: Model | None,
        form: Form | None,
        *,
        id: int = 0,
        seq: int = 0,
        meter: Meter | None = None,
        keyed: bool = False,
        level: float | None = None,
    ) -> None:
        self.name, self.id, self.seq, self.keyed, self.level = name, id, seq, keyed, level
        self.config: dict[str, Any] = {}
        self.gate = ReadWriteLock()
        self.rate = Rate()
        self.broken: str | None = None
        """Why it learns no more: of challengers alone."""
        self.saved = seq
        """The last event that a snapshot covers."""
        self.replay_seconds = 0.0
        self.save_seconds = 0.0
        self.piece = first_piece(0 if form is None else len(form.names))
        """Rows that it learns in about `PAUSE` seconds."""
        self.row_seconds = PAUSE / self.piece
        self.answer_seconds: dict[tuple[str, ...], float] = {}
        """Seconds that the prediction of a row takes, by what is asked beside it."""
        self.tail: deque[tuple[LoggedRows, Any, float]] = deque(maxlen=TAIL)
        self.model: Model | None = None
        self.form: Form | None = None
        if model is not None and form is not None:
            self.open(model, form, meter)

    def open(self, model: Model, form: Form, meter: Meter | None = None) -> None:
        """Set what the rows are, from now on."""
        self.model, self.form = model, form
        self.piece = first_piece(len(form.names))
        self.row_seconds = PAUSE / self.piece
        small = {"window": KEYED_WINDOW, "points": 0} if self.keyed else {}
        self.meter = meter or Meter(form.task, **small)
        self.watch = Watch(form, self.level)
        self._bytes = 0
        self._next_count = 0

    @property
    def dirty(self) -> bool:
        """Whether it has learnt something that no snapshot covers."""
        return self.seq > self.saved and self.model is not None

    @property
    def bytes(self) -> int:
        """Memory, counted anew whenever the rows have grown by a tenth, or by a thousand."""
        if self.model is None:
            return OVERHEAD
        if self.model.n_seen >= self._next_count:
            self._bytes = self.model.nbytes + OVERHEAD
            self._next_count = self.model.n_seen + min(max(self.model.n_seen // 10, 1), 1000)
        return self._bytes

    @property
    def known_bytes(self) -> int:
        """Memory when it was last counted; any thread may ask."""
        return 0 if self.model is None else self._bytes

    def learn(self, batch: LoggedRows, at: float, seq: int) -> tuple[Any, list[Alarm]]:
        """Learn the rows; return the predictions that were made before the labels were read, and alarms."""
        return complete(self.learn_in_slices(batch, at, seq))

    def learn_in_slices(self, batch: LoggedRows, at: float, seq: int) -> Slices[tuple[Any, list[Alarm]]]:
        """Learn the pieces of the batch one after the other, and pause between them."""
        alarms = self.watch.rows(batch, self.meter) if not self.keyed else []
        if batch.n <= batch.piece:
            predictions, raised = self._learn_piece(batch, at)
            alarms += raised
        else:
            parts: list[Any] = []
            for piece in batch.pieces():
                if parts:
                    yield
                some, raised = self._learn_piece(piece, at)
                parts.append(some)
                alarms += raised
            predictions = np.concatenate(parts)
        if not self.keyed:
            alarms += self.watch.errors(self.meter)
        self.seq = seq
        return predictions, alarms

    def _learn_piece(self, batch: LoggedRows, at: float) -> tuple[Any, list[Alarm]]:
        assert self.model is not None
        began = time.perf_counter()
        used = time.thread_time() if self._times_next(batch.n) else None
        meter, watch = self.meter, self.watch
        alarms: list[Alarm] = []
        look = self._look(batch) if meter.wants_look and batch.labels is not None else None
        predictions = learning.learn(self.model, batch, self.gate)
        shown = predictions if batch.predictions is None else batch.predictions
        meter.update(batch.labels, shown)
        if look is not None:
            meter.looked(**look)
        self.rate.add(batch.n)
        if not self.keyed:
            self._keep_tail(batch, shown, at)
            if meter.wants_point:
                meter.point(at, self.rate.value, learning.relied_on(self.model), self.bytes)
                alarms += watch.reported(learning.reported(self.model))
        self.replay_seconds += time.perf_counter() - began
        if used is not None:
            each = (time.thread_time() - used) / batch.n
            share = max(batch.n, TIMED)
            self.row_seconds += (each - self.row_seconds) * share / (share + MEMORY)
            self.piece = min(2 ** int(np.log2(max(PAUSE / max(self.row_seconds, 1e-9), 1.0))), LARGEST)
        return predictions, alarms

    def _times_next(self, rows: int) -> bool:
        """Return whether the next piece is timed: of single rows only some are, since the clock of a thread is slow."""
        assert self.model is not None
        return rows > 1 or self.model.n_seen % TIMED == 0

    def unlearn(self, batch: LoggedRows, seq: int) -> None:
        """Forget rows."""
        assert self.model is not None
        learning.unlearn(self.model, batch, self.gate)
        self.tail.clear()  # what is to be forgotten is not to be shown
        self.seq = seq

    def replace(self, model: Model, meter: Meter, seq: int) -> None:
        """Become another model of the same form: the one of a snapshot."""
        with self.gate.writing():
            self.model, self.meter, self.seq, self.saved = model, meter, seq, seq
            self.replay_seconds, self._next_count = 0.0, 0

    def _look(self, batch: LoggedRows) -> dict[str, Any] | None:
        """Return what the interval or the probability of the first row says, before it is learnt."""
        assert self.model is not None
        assert self.form is not None
        row = batch.part(slice(0, 1))
        try:
            if self.form.task == "regression" and self.model.n_seen and self.model.can("predict_interval"):
                low, high = self.model.predict_interval(row.inputs, COVERAGE, 1)
                y = row.labels[0]
                inside = bool(((low.reshape(-1) <= y) & (y <= high.reshape(-1))).all())
                return {"inside": inside} if (y == y).all() else None
            if self.form.task == "classification" and self.model.n_seen and self.model.can("probabilities"):
                P = self.model.probabilities(row.inputs, 1)[0]
                k = int(P.argmax())
                return {"probability": float(P[k]), "right": self.model.classes[k] == row.labels[0]}
        except ValueError:  # too early for this learner
            pass
        return {}

    def _keep_tail(self, batch: LoggedRows, predictions: Any, at: float) -> None:
        if batch.n == 1:
            self.tail.append((batch, predictions[0], at))
            return
        for i in range(max(0, batch.n - TAIL), batch.n):
            self.tail.append((batch.part(slice(i, i + 1)), predictions[i], at))

    def last_rows(self) -> list[dict[str, Any]]:
        """Return the last rows with predictions and labels, cut to what can be shown."""
        found = []
        for batch, predicted, at in list(self.tail):
            assert self.form is not None
            label = None if batch.labels is None else batch.labels[0]
            label = label.tolist() if isinstance(label, np.ndarray) else label
            label = label[0] if isinstance(label, list) and len(label) == 1 else label
            row = {name: _short(value) for name, value in islice(self.form.rows(batch)[0].items(), SHOWN_COLUMNS)}
            found.append({"at": at, "row": row, "prediction": predicted, "label": _short(label)})
        return found

    def described(self) -> dict[str, Any]:
        """Return the description of the part."""
        with self.gate.reading():
            found = learning.described(self.model)
        if self.model is not None:
            found |= {"errors": self.meter.reading(), "rows_per_second": self.rate.value}
            found["alarms"] = [
                {"cause": cause, "about": about, "message": text}
                for (cause, about), text in list(self.watch.raised.items())
            ]
        found |= {"name": self.name, "event": self.seq, "broken": self.broken, "config": self.config}
        return found


def _short(value: Any) -> Any:
    return value[: SHOWN_TEXT - 1] + "…" if isinstance(value, str) and len(value) > SHOWN_TEXT else value
