"""Prometheus text, by hand: counters, gauges and the histogram of the commits."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nystream.serve.service import Service

__all__ = ["Histogram", "text"]

BOUNDS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 4.096)
PER_MODEL = (
    ("rows_learnt_total", "counter", "Rows learnt since the start", lambda e: e.counts["learnt"]),
    ("predictions_total", "counter", "Rows predicted since the start", lambda e: e.counts["predicted"]),
    ("labels_total", "counter", "Late labels learnt since the start", lambda e: e.counts["labelled"]),
    ("rows_unlearnt_total", "counter", "Rows forgotten on request", lambda e: e.counts["unlearnt"]),
    ("alarms_total", "counter", "Alarms since the start", lambda e: e.counts["alarms"]),
    ("expired_labels_total", "counter", "Predictions whose label never came", lambda e: e.counts["expired"]),
    ("open_labels", "gauge", "Predictions that wait for their label", lambda e: e.waiting),
    ("keys", "gauge", "Keyed models", lambda e: e.keys),
    ("snapshots", "gauge", "Snapshots of the model", lambda e: len(e.snapshots)),
)
PER_PART = (
    ("rows", "Rows that the model has learnt in its life", lambda p: p.model.n_seen),
    ("error", "Error so far", lambda p: p.meter.reading()["error"]),
    ("window_error", "Error over the last rows", lambda p: p.meter.reading()["window"]),
    ("window_error_mean", "The same of the mean label", lambda p: p.meter.reading()["window_mean"]),
    ("window_error_last", "The same of the label before", lambda p: p.meter.reading()["window_last"]),
    ("model_bytes", "Bytes of the model", lambda p: p.bytes),
    ("raised_alarms", "Alarms that have not ended", lambda p: len(p.watch.raised)),
)


class Histogram:
    """Seconds in buckets."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = [0] * (len(BOUNDS) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        place = next((i for i, bound in enumerate(BOUNDS) if seconds <= bound), len(BOUNDS))
        with self._lock:
            self._counts[place] += 1
            self._sum += seconds

    def lines(self, name: str, about: str) -> Iterator[str]:
        with self._lock:
            counts, total = list(self._counts), self._sum
        yield f"# HELP {name} {about}"
        yield f"# TYPE {name} histogram"
        so_far = 0
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), counts, strict=True):
            so_far += count
            yield f'{name}_bucket{{le="{bound}"}} {so_far}'
        yield f"{name}_sum {total:.6f}"
        yield f"{name}_count {so_far}"


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: Any) -> str:
    return "NaN" if value is None else repr(value)


def text(service: Service) -> str:
    """All numbers of a server."""
    return "\n".join(_lines(service)) + "\n"


def _lines(service: Service) -> Iterator[str]:
    writer, store = service.writer, service.store
    for name, kind, about, read in PER_MODEL:
        yield from _head(name, kind, about)
        for entry in store.models:
            yield f'nystream_{name}{{model="{_escaped(entry.name)}"}} {_number(read(entry))}'
    for name, about, read in PER_PART:
        yield from _head(name, "gauge", about)
        for entry in store.models:
            for part in entry.parts:
                if part.model is not None:
                    role = "champion" if part is entry.champion else part.name
                    labels = f'model="{_escaped(entry.name)}",part="{_escaped(role)}"'
                    yield f"nystream_{name}{{{labels}}} {_number(read(part))}"
    plain = (
        ("models", "gauge", "Models", len(store.models)),
        ("queue", "gauge", "Requests that wait to be learnt", writer.depth),
        ("log_bytes", "gauge", "Bytes of the log", store.log.bytes),
        ("snapshot_bytes", "gauge", "Bytes of all snapshots", store.snapshot_bytes),
        ("keyed_in_memory", "gauge", "Keyed models in memory", len(store.keyed)),
        ("keyed_bytes", "gauge", "Bytes of keyed models in memory", store.keyed.bytes),
        ("keyed_parked_total", "counter", "Keyed models written to disk to make room", store.keyed.parked),
        ("keyed_brought_total", "counter", "Keyed models brought back from disk", store.keyed.brought),
        ("snapshots_taken_total", "counter", "Snapshots taken", writer.checkpoints.taken),
        ("event", "gauge", "Number of the last event in the log", store.log.seq),
        ("subscribers", "gauge", "Listeners to the event stream", service.bus.listeners),
        ("webhook_failures_total", "counter", "Alarms that the webhook did not take", service.webhook.failures),
    )
    for name, kind, about, value in plain:
        yield from _head(name, kind, about)
        yield f"nystream_{name} {value}"
    yield from _head("refused_total", "counter", "Requests refused, by reason")
    for reason, count in {**writer.refused, **service.refused}.items():
        yield f'nystream_refused_total{{reason="{reason}"}} {count}'
    yield from writer.commits.lines("nystream_commit_seconds", "Time of a commit with its sync")
    yield from service.latency.lines("nystream_learn_seconds", "Time from a learning request to its answer")


def _head(name: str, kind: str, about: str) -> Iterator[str]:
    yield f"# HELP nystream_{name} {about}"
    yield f"# TYPE nystream_{name} {kind}"
