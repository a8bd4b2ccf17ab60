"""What a server is started with: where it listens, what it keeps, and the limits on what it takes."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from nystream.serve.refusals import Refusal

__all__ = ["Limits", "Retention", "Settings", "bytes_of", "checked_key", "checked_name", "is_loopback", "seconds_of"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_TIMES = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
LONGEST_KEY = 200
"""Characters of the key of a keyed model, of the id of a prediction and of an idempotency key."""


@dataclass(frozen=True)
class Limits:
    """The most of everything that one request, or all together, may ask for."""

    body: int = 32 * 2**20
    """Bytes of a request."""
    rows: int = 100_000
    """Rows of a request."""
    columns: int = 4096
    text: int = 100_000
    """Characters of one value."""
    models: int = 1000
    shadows: int = 8
    """Challengers of one model."""
    keys: int = 1_000_000
    """Keys of one model."""
    classes: int = 1000
    """Classes of one model."""
    open_labels: int = 100_000
    """Predictions of one model that wait for their label; the oldest give way."""
    open_age: float = 30 * 86400.0
    """Seconds that a prediction waits for its label."""
    answers: int = 1_000_000
    """Idempotency keys that are remembered; the oldest give way."""
    connections: int = 1000
    per_address: int = 256
    """Connections of one address; a proxy in front of the server counts as one."""
    header_bytes: int = 32_768
    headers: int = 100
    header_seconds: float = 10.0
    """Time that the headers of a request may take."""
    rate: float | None = None
    """Requests a second of one token, or of one address where there are no tokens."""
    model_bytes: int | None = None
    """Memory of one model; one that has more learns no more."""
    subscribers: int = 64
    """Listeners to the event stream."""
    seconds: float = 30.0
    """Time that a request may take."""
    queue: int = 4096
    """Requests that wait to be learnt."""
    queue_rows: int = 500_000
    """Rows that are accepted and not learnt yet."""
    queue_bytes: int = 256 * 2**20
    """Bytes of the requests that are accepted and not learnt yet."""


@dataclass(frozen=True)
class Retention:
    """Which snapshots are kept: all of the last `all_for` seconds, then one an hour, then one a day."""

    every: float = 300.0
    """Seconds between snapshots that are kept, while a model learns."""
    all_for: float = 3600.0
    hourly_for: float = 86400.0
    daily_for: float = 30 * 86400.0


@dataclass(frozen=True)
class Settings:
    """Everything that a server is started with."""

    folder: Path
    host: str = "127.0.0.1"
    port: int = 8470
    tokens: Path | None = None
    memory: int = 10**9
    """Bytes of keyed models held in memory."""
    log_bytes: int | None = None
    """The most that the log file may grow to; None: what the disk has."""
    webhook: str | None = None
    """Where alarms are posted to."""
    origins: tuple[str, ...] = ()
    """Web pages elsewhere that may call the server (CORS)."""
    answers_for: float = 86400.0
    """Seconds that an idempotency key is remembered."""
    replay: float = 0.5
    """Seconds of learning that a restart may have to repeat; snapshots are taken so that it is not more."""
    drain: float = 30.0
    """Seconds that the server may take to end after SIGTERM."""
    workers: int = 0
    """Processes that the models are spread over; 0: this process serves them itself."""
    follow: str | None = None
    """URL of the server that this one is a replica of."""
    follow_token: Path | None = None
    """File with the token that the primary is asked with."""
    archive: Path | None = None
    """Folder that gets everything that models learn, for `nystream restore`."""
    audit: str = "changes"
    """Which requests the audit log has: "changes" (and refusals of access), "all", or "off"."""
    log_format: str = "text"
    log_requests: bool = False
    limits: Limits = field(default_factory=Limits)
    retention: Retention = field(default_factory=Retention)
    synchronous: str = "FULL"
    """SQLite's setting; anything else is for the negative control of the fsync test."""


def checked_name(name: str, what: str = "name") -> str:
    """Check a name: letters, digits, dot, dash and underscore, at most 64, no dot in front."""
    if not _NAME.match(name):
        shown = repr(name if len(name) <= 60 else name[:57] + "...")
        raise Refusal(
            422, f"{what} {shown} is not allowed: use 1 to 64 letters, digits, '.', '-' or '_', the first no sign"
        )
    return name


def checked_key(key: str, what: str = "key") -> str:
    """Check a key: 1 to 200 printable characters, no slash, and not dots alone."""
    if not 0 < len(key) <= LONGEST_KEY or not key.isprintable() or "/" in key or key in (".", ".."):
        raise Refusal(422, f"{what} must be 1 to {LONGEST_KEY} printable characters without '/', and not dots alone")
    try:
        key.encode()
    except UnicodeEncodeError:
        raise Refusal(422, f"{what} has characters that cannot be written as UTF-8") from None
    return key


@lru_cache(maxsize=1000)
def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bytes_of(text: str) -> int:
    """Parse a number of bytes, as in 500MB or 2GiB."""
    found = re.fullmatch(r"\s*([0-9.]+)\s*([a-zA-Z]*)\s*", text)
    unit = _UNITS.get(found.group(2).lower()) if found else None
    try:
        size = int(float(found.group(1)) * unit) if found and unit else 0
    except ValueError:
        size = 0
    if size <= 0:
        raise ValueError(f"{text!r} is no size; write it as 500MB or 2GiB")
    return size


def seconds_of(text: str) -> float:
    """Parse a time, as in 90s, 10min, 24h or 30d."""
    found = re.fullmatch(r"\s*([0-9.]+)\s*([a-zA-Z]*)\s*", text)
    unit = _TIMES.get(found.group(2).lower()) if found else None
    try:
        seconds = float(found.group(1)) * unit if found and unit else 0.0
    except ValueError:
        seconds = 0.0
    if seconds <= 0:
        raise ValueError(f"{text!r} is no time; write it as 90s, 10min, 24h or 30d")
    return seconds
