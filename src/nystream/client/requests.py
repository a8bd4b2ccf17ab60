"""What a model can be asked over HTTP, as requests; how they are sent is for the two clients to say."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, NamedTuple
from uuid import uuid4

from nystream.client.blocks import JSON, Body, body
from nystream.data.reading import Table, read
from nystream.data.targets import target_columns as label_columns

__all__ = ["Answer", "Ask", "blocks", "labelled", "learning", "predicting"]

BLOCK = 4096
"""Rows of a request of `run`."""
ATTEMPTS = 8
"""Attempts at a request before its error is raised; their pauses take 11 seconds together, enough for a restart."""
PAUSE = 0.1
"""Seconds before the second attempt; doubled each time, at most `LONGEST`."""
LONGEST = 5.0
"""Longest pause in seconds between two attempts."""
REPLAYED = "idempotency-replayed"
"""Header of an answer to a request that was answered before."""
AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses after which the same request, with the same idempotency key, is worth another attempt."""


class Ask(NamedTuple):
    """One request. It is safe to repeat: it changes nothing, or carries a key under which it is learnt once."""

    method: str
    path: str
    content: bytes = b""
    headers: dict[str, str] = {}  # noqa: RUF012  (a NamedTuple's default, never changed)
    query: dict[str, str] = {}  # noqa: RUF012
    rows: int = 0


class Answer(NamedTuple):
    """The bytes of an answer, and whether the server had answered the same request before this call."""

    content: bytes
    repeated: bool


def learning(path: str, rows: Any, labels: Any, weights: Any, *, step: bool) -> Ask:
    """Learn rows, or predict and then learn them. It needs an idempotency key: see `nystream.client.keys`."""
    return _posted(f"{path}/{'step' if step else 'learn'}", body(rows, labels, weights))


def predicting(path: str, rows: Any, options: dict[str, Any]) -> Ask:
    """Predict rows. One that is to be remembered gets ids here, so that a repeat is known as such."""
    if options.pop("remember", False) and not options.get("ids"):
        options["ids"] = [uuid4().hex for _ in range(read(rows).n)]
    return _posted(f"{path}/predict", body(rows, options=options))


def labelled(path: str, content: bytes) -> Ask:
    """Label a remembered prediction. A prediction has one label, so that the same label always has the same key."""
    ask = _posted(f"{path}/label", Body(content, JSON, {}, 1))
    key = blake2b(path.encode() + b"\0" + content, digest_size=16).hexdigest()
    return ask._replace(headers={**ask.headers, "Idempotency-Key": key})


def _posted(path: str, found: Body) -> Ask:
    return Ask("POST", path, found.content, {"Content-Type": found.kind}, found.query, found.n)


def blocks(rows: Any, labels: Any, weights: Any, size: int = BLOCK) -> Iterator[tuple[Any, Any, Any]]:
    """Yield rows, labels and weights in blocks."""
    table = read(rows)
    parts = None if labels is None else label_columns(labels, table.n)
    for start in range(0, table.n, size):
        cut = slice(start, min(start + size, table.n))
        some = Table({n: v[cut] for n, v in table.columns.items()}, cut.stop - start, table.named, table.kinds)
        ys = None
        if parts is not None:
            cuts = [part[cut] for part in parts]
            names = [str(k) for k in range(len(cuts))]
            ys = cuts[0] if len(cuts) == 1 else Table(dict(zip(names, cuts, strict=True)), some.n)
        yield some, ys, None if weights is None else weights[cut]
