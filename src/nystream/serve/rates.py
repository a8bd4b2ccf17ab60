"""How many requests a second each token, or each address without tokens, may make."""

from __future__ import annotations

import time
from collections import OrderedDict

from nystream.serve.refusals import Refusal

__all__ = ["Rates"]

BURST = 2.0
"""Seconds of the rate that may come at once."""
KNOWN = 10_000
"""Callers that are remembered; the oldest give way."""


class Rates:
    """A bucket for each caller, which fills at the rate and pays one for each request; None: no limit."""

    def __init__(self, rate: float | None) -> None:
        self._rate = rate
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def check(self, who: str) -> None:
        """Count a request, or refuse it."""
        if self._rate is None:
            return
        now, most = time.monotonic(), max(1.0, BURST * self._rate)
        left, at = self._buckets.pop(who, (most, now))
        left = min(most, left + (now - at) * self._rate)
        self._buckets[who] = (left - 1.0 if left >= 1.0 else left, now)
        while len(self._buckets) > KNOWN:
            self._buckets.popitem(last=False)
        if left < 1.0:
            after = max(1, round((1.0 - left) / self._rate))
            raise Refusal(429, f"more than {self._rate:g} requests a second", {"Retry-After": str(after)})
