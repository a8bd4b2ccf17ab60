"""What a model can be asked over HTTP, as requests; how they are sent is for the two clients to say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from uuid import uuid4

from nystream.client.blocks import JSON, Body, body
from nystream.data.reading import Table, read
from nystream.data.targets import columns_of as label_columns

__all__ = ["Ask", "blocks", "labelled", "learning", "predicting"]

BLOCK = 4096
"""Rows of a request of `run`."""
ATTEMPTS = 8
PAUSE = 0.1
"""Seconds before the second attempt; doubled each time, at most `LONGEST`."""
LONGEST = 5.0
AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses after which the same request, with the same idempotency key, is worth another attempt."""


class Ask(NamedTuple):
    """One request. It is safe to repeat: it changes nothing, or carries a key under which it is learnt once."""

    method: str
    path: str
    content: bytes = b""
    headers: dict[str, str] = {}  # noqa: RUF012  (a NamedTuple's default, never changed)
    query: dict[str, str] = {}  # noqa: RUF012


def learning(path: str, rows: Any, labels: Any, weights: Any, *, step: bool) -> Ask:
    """Learn rows, or predict and then learn them."""
    found = body(rows, labels, weights)
    return _posted(f"{path}/{'step' if step else 'learn'}", found, key=True)


def predicting(path: str, rows: Any, options: dict[str, Any]) -> Ask:
    """Predict rows. One that is to be remembered gets ids here, so that a repeat is known as such."""
    if options.pop("remember", False) and not options.get("ids"):
        options["ids"] = [uuid4().hex for _ in range(read(rows).n)]
    return _posted(f"{path}/predict", body(rows, options=options), key=False)


def labelled(path: str, content: bytes) -> Ask:
    return _posted(f"{path}/label", Body(content, JSON, {}, 1), key=True)


def _posted(path: str, found: Body, *, key: bool) -> Ask:
    headers = {"Content-Type": found.kind}
    if key:
        headers["Idempotency-Key"] = uuid4().hex
    return Ask("POST", path, found.content, headers, found.query)


def blocks(rows: Any, labels: Any, weights: Any, size: int = BLOCK) -> Iterator[tuple[Any, Any, Any]]:
    """Rows, labels and weights in blocks."""
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
