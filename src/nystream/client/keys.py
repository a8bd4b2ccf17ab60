"""Idempotency keys that stay the same when a call is repeated: after an error, in another process, after a restart.

A key is a digest of the rows of a request, of the rows of the call before them, and of the model. A call that was
completed counts: when the same client makes the same call once more, on purpose, its keys are new.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from hashlib import blake2b
from uuid import uuid4

from nystream.client.requests import Ask

__all__ = ["Keys", "RepeatedRows"]

REMEMBERED = 10_000
"""Completed calls that are counted; the oldest give way."""


class RepeatedRows(UserWarning):
    """The server had learnt these rows from an earlier call, and did not learn them again."""


class Keys:
    """The calls of one client: how often each was completed, and which were not."""

    def __init__(self) -> None:
        self._completed: OrderedDict[bytes, int] = OrderedDict()
        self._failed: set[bytes] = set()

    def call(self, key: str | None = None) -> Call:
        """Begin a call, with a key of the caller's own or one that is derived from its rows."""
        return Call(self, key)

    def count(self, first: bytes) -> int:
        """Return how often a call that begins with this request was completed."""
        return self._completed.get(first, 0)

    def is_repeat(self, first: bytes) -> bool:
        """Return whether such a call has failed here before, so that its repetition is expected."""
        return first in self._failed

    def begin(self, first: bytes) -> None:
        self._failed.add(first)

    def complete(self, first: bytes) -> None:
        self._failed.discard(first)
        self._completed[first] = self._completed.pop(first, 0) + 1
        while len(self._completed) > REMEMBERED:
            self._completed.popitem(last=False)


class Call:
    """The requests of one call, in order."""

    def __init__(self, keys: Keys, given: str | None) -> None:
        self._keys, self._given = keys, given
        self._first: bytes | None = None
        self._digest = b""
        self._number = 0
        self._expected = False
        self._repeated = self._rows = 0

    def keyed(self, ask: Ask) -> Ask:
        """Return the request with its key."""
        digest = blake2b(self._digest, digest_size=16)
        for part in (ask.path, *(f"{name}={ask.query[name]}" for name in sorted(ask.query))):
            digest.update(part.encode() + b"\0")
        digest.update(ask.content)
        self._digest = digest.digest()
        if self._first is None:
            self._first = self._digest
            self._expected = self._keys.is_repeat(self._first)
            self._keys.begin(self._first)
        if self._given is not None:
            key = f"{self._given}:{self._number}"
        else:
            count = self._keys.count(self._first)
            key = blake2b(self._digest, digest_size=16, salt=count.to_bytes(8, "little")).hexdigest()
        self._number += 1
        return ask._replace(headers={**ask.headers, "Idempotency-Key": key})

    def answered(self, rows: int, *, repeated: bool) -> None:
        """Count the rows of a request, and whether the server knew it from before this call."""
        self._rows += rows
        self._repeated += rows if repeated else 0

    def complete(self) -> None:
        """Finish the call; warn if the server knew some of its requests from a call that is unknown here."""
        if self._first is not None:
            self._keys.complete(self._first)
        if self._repeated and not self._expected and self._given is None:
            warnings.warn(
                f"{self._repeated:,} of {self._rows:,} rows had been learnt from an earlier call with the same rows, "
                "and were not learnt again; to learn them once more give the call a key of its own: key='second pass'",
                RepeatedRows,
                stacklevel=3,
            )


def single(ask: Ask, key: str | None = None) -> Ask:
    """Return a request of one row with a key of its own: equal rows may follow each other, and each one counts."""
    return ask._replace(headers={**ask.headers, "Idempotency-Key": key or uuid4().hex})
