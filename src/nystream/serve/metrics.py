"""The numbers of a server for Prometheus."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

if TYPE_CHECKING:
    from nystream.serve.service import Service

__all__ = ["Timings", "write_metrics"]

BOUNDS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 4.096)
"""Upper ends of the buckets of times, in seconds."""
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


class Timings:
    """Histograms of the times that the server measures itself."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.commit = self._histogram("nystream_commit_seconds", "Time of a commit with its sync")
        self.learn = self._histogram("nystream_learn_seconds", "Time from a learning request to its answer")

        self._routes = Histogram(
            "nystream_request_seconds",
            "Time from a request to its answer, by what was asked",
            ["request"],
            buckets=BOUNDS,
            registry=self.registry,
        )
        self._answers = Counter(
            "nystream_requests",
            "Requests, by what was asked and the status",
            ["request", "status"],
            registry=self.registry,
        )

    def of_route(self, name: str) -> Histogram:
        """Return the histogram of one kind of request."""
        return self._routes.labels(name)

    def count(self, name: str, status: int) -> None:
        """Count an answer."""
        self._answers.labels(name, status).inc()

    def _histogram(self, name: str, about: str) -> Histogram:
        return Histogram(name, about, buckets=BOUNDS, registry=self.registry)


class _State:
    """Reads counters and gauges from the state of a server when Prometheus asks."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def collect(self) -> Iterator[Metric]:
        writer, store = self.service.writer, self.service.store
        for name, kind, about, read in PER_MODEL:
            family = _family(name, kind, about, ["model"])
            for entry in store.models:
                family.add_metric([entry.name], _number(read(entry)))
            yield family
        for name, about, read in PER_PART:
            family = _family(name, "gauge", about, ["model", "part"])
            for entry in store.models:
                for part in entry.parts:
                    if part.model is not None:
                        role = "champion" if part is entry.champion else part.name
                        family.add_metric([entry.name, role], _number(read(part)))
            yield family
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
            ("queue_bytes", "gauge", "Bytes of the requests that wait to be learnt", writer.bytes),
            ("disk_free_bytes", "gauge", "Free bytes of the disk", _free(store.folder)),
            ("process_bytes", "gauge", "Memory of the process", _memory()),
            ("subscribers", "gauge", "Listeners to the event stream", self.service.bus.listeners),
            ("webhook_failures_total", "counter", "Alarms that the webhook refused", self.service.webhook.failures),
        )
        for name, kind, about, value in plain:
            family = _family(name, kind, about, [])
            family.add_metric([], value)
            yield family
        refused = _family("refused_total", "counter", "Requests refused, by reason", ["reason"])
        for reason, count in {**writer.refused, **self.service.refused, **self.service.connections_refused}.items():
            refused.add_metric([reason], count)
        yield refused


def write_metrics(service: Service) -> bytes:
    """Return all numbers of a server as Prometheus text."""
    registry = CollectorRegistry()
    registry.register(_State(service))
    return generate_latest(registry) + generate_latest(service.timings.registry)


def _free(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def _memory() -> int:
    """Return the resident memory of this process, where the system tells it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def _family(name: str, kind: str, about: str, labels: list[str]) -> Any:
    make = CounterMetricFamily if kind == "counter" else GaugeMetricFamily
    return make(f"nystream_{name.removesuffix('_total')}", about, labels=labels)


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)
