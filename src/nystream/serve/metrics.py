"""The numbers of a server for Prometheus."""

from __future__ import annotations

import os
import shutil
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from nystream.serve.models import QUARANTINED

if TYPE_CHECKING:
    from nystream.serve.service import Service

__all__ = ["Timings", "describe_health", "join_health", "write_metrics"]

RECENT = 1000
"""Times of which the page shows quantiles."""
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
        self.recent: dict[str, deque[float]] = {name: deque(maxlen=RECENT) for name in ("learn", "commit")}
        """The last of these times, for the page."""
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

    def note(self, name: str, seconds: float) -> None:
        """Record the time of a commit or of a learning request."""
        getattr(self, name).observe(seconds)
        self.recent[name].append(seconds)

    def quantiles(self, name: str) -> tuple[float | None, float | None]:
        """Return the median and the 99% quantile of the last times; None where there are none."""
        found = sorted(self.recent[name])
        return (found[len(found) // 2], found[int(0.99 * (len(found) - 1))]) if found else (None, None)

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
        for name, copier in self.service.copiers.items():
            seconds = _family(f"{name}_lag_seconds", "gauge", f"Seconds since the {name} had everything", [])
            seconds.add_metric([], copier.lag_seconds)
            events = _family(
                f"{name}_lag_events", "gauge", f"Events of a model that the {name} lacks, at most", ["model"]
            )
            for model, lag in copier.lag.items():
                events.add_metric([model], lag)
            failing = _family(f"{name}_failing", "gauge", f"Whether the {name} could not be copied just now", [])
            failing.add_metric([], float(copier.error is not None))
            states = _family(f"{name}_states_total", "counter", f"Whole states of models copied to the {name}", [])
            states.add_metric([], copier.states)
            yield from (seconds, events, failing, states)
        refused = _family("refused_total", "counter", "Requests refused, by reason", ["reason"])
        for reason, count in {**writer.refused, **self.service.refused, **self.service.connections_refused}.items():
            refused.add_metric([reason], count)
        yield refused


def write_metrics(service: Service) -> bytes:
    """Return all numbers of a server as Prometheus text."""
    registry = CollectorRegistry()
    registry.register(_State(service))
    return generate_latest(registry) + generate_latest(service.timings.registry)


def describe_health(service: Service) -> dict[str, Any]:
    """Return what the page shows of the server: what waits, how long things take, the disk, the memory."""
    writer, store = service.writer, service.store
    rows, size = writer.backlog
    learn, commit = (service.timings.quantiles(name) for name in ("learn", "commit"))
    return {
        "queue": writer.depth,
        "queue_rows": rows,
        "queue_bytes": size,
        "learn_median": learn[0],
        "learn_p99": learn[1],
        "commit_median": commit[0],
        "commit_p99": commit[1],
        "disk_free": _free(store.folder),
        "log_bytes": store.log.bytes,
        "snapshot_bytes": store.snapshot_bytes,
        "process_bytes": _memory(),
        "quarantined": [entry.name for entry in store.models if entry.state == QUARANTINED],
        "copies": {name: copier.described() for name, copier in service.copiers.items()},
    }


def join_health(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the page shows of several workers: sums, and of times the slowest worker's."""
    joined: dict[str, Any] = {"quarantined": [], "copies": {}}
    for each in found:
        for name, value in each.items():
            if name == "quarantined":
                joined[name] += value
            elif name == "copies":
                joined[name] |= value
            elif name.endswith(("_median", "_p99")):
                joined[name] = max((v for v in (joined.get(name), value) if v is not None), default=None)
            elif name == "disk_free":
                joined[name] = min(joined.get(name, value), value)
            else:
                joined[name] = joined.get(name, 0) + value
    return joined


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
