"""The client for programs that await."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any, Self

import numpy as np

from nystream.client.blocks import extra, failure, place, predictions
from nystream.client.keys import Keys, single
from nystream.client.requests import (
    AGAIN,
    ATTEMPTS,
    LONGEST,
    PAUSE,
    REPLAYED,
    Answer,
    Ask,
    blocks,
    labelled,
    learning,
    predicting,
)

__all__ = ["AsyncClient", "AsyncModel"]


class AsyncClient:
    """As `Client`, with methods that are awaited."""

    def __init__(self, url: str, token: str | None = None, *, timeout: float = 60.0, attempts: int = ATTEMPTS) -> None:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self.url, self._attempts = url, attempts
        httpx = extra("httpx")
        self._broken = httpx.TransportError
        self._keys = Keys()
        self._http = httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout, trust_env=False)

    def model(self, name: str, key: str | None = None) -> AsyncModel:
        """Return the model of that name, or of one key of it."""
        return AsyncModel(self, name, key)

    async def models(self) -> list[dict[str, Any]]:
        """Return all models, a few numbers of each."""
        found: list[dict[str, Any]] = (await self.ask(Ask("GET", "/models")))["models"]
        return found

    async def ask(self, ask: Ask) -> Any:
        """Send a request, which may be repeated, and return its answer."""
        return json.loads((await self._sent(ask)).content)

    async def call(self, asks: Iterable[Ask], key: str | None = None) -> AsyncIterator[dict[str, Any]]:
        """Yield the answers to the requests of one call, whose keys stay the same when the call is repeated."""
        call = self._keys.call(key)
        for ask in asks:
            answer = await self._sent(call.keyed(ask))
            call.answered(ask.rows, repeated=answer.repeated)
            yield json.loads(answer.content)
        call.complete()

    async def _sent(self, ask: Ask) -> Answer:
        pause = PAUSE
        for attempt in range(self._attempts):
            last = attempt + 1 == self._attempts
            try:
                answer = await self._http.request(
                    ask.method, ask.path, content=ask.content, headers=ask.headers, params=ask.query
                )
            except self._broken as error:
                if last:
                    raise ConnectionError(f"{self.url}: {error}") from error
            else:
                if answer.status_code < 400:
                    return Answer(answer.content, not attempt and REPLAYED in answer.headers)
                if last or answer.status_code not in AGAIN:
                    raise failure(answer.status_code, answer.content)
                after = answer.headers.get("retry-after", "")
                pause = max(pause, float(after)) if after.isdigit() else pause
            await asyncio.sleep(min(pause, LONGEST))
            pause = min(2 * pause, LONGEST)
        raise AssertionError("unreachable")

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncModel:
    """As `RemoteModel`, with methods that are awaited."""

    def __init__(self, client: AsyncClient, name: str, key: str | None = None) -> None:
        self._client, self.name, self.key = client, name, key
        self._path = place(name, key)

    async def create(self, config: dict[str, Any] | None = None) -> None:
        """Make it, from a configuration (learner, settings, columns, target, task)."""
        content = json.dumps(config or {}).encode()
        await self._client.ask(Ask("PUT", self._path, content, {"Content-Type": "application/json"}))

    async def predict(self, rows: Any, ahead: int | None = None) -> Any:
        """Return predictions: numbers (n,), (n, K) for several targets, or names of classes.

        ahead=None: each row is some later row; ahead=1: each is the next one, as in `step`.
        """
        options = {} if ahead is None else {"ahead": ahead}
        return predictions((await self.ask(rows, **options))["predictions"])

    async def ask(self, rows: Any, **options: Any) -> dict[str, Any]:
        """Predict with more answers: probabilities=True, interval=0.9, quantiles=[0.1, 0.9], explain=True, snapshot=ID,
        ahead=1.

        With ids=[...] or remember=True labels may come later.
        """
        found: dict[str, Any] = await self._client.ask(predicting(self._path, rows, options))
        return found

    async def learn(self, rows: Any, y: Any = None, weights: Any = None, *, key: str | None = None) -> int:
        """Learn rows; return how many the model has learnt in all. See `RemoteModel.learn` on repeating it."""
        row = 0
        async for answer in self._client.call(self._asks(rows, y, weights, step=False), key):
            row = answer["row"]
        return row

    async def run(self, rows: Any, y: Any = None, weights: Any = None, *, key: str | None = None) -> Any:
        """Return predictions for the rows in order, each made before its label is read; learn those that have one."""
        found: list[Any] = []
        async for answer in self._client.call(self._asks(rows, y, weights, step=True), key):
            found += answer["predictions"]
        return predictions(found)

    def _asks(self, rows: Any, y: Any, weights: Any, *, step: bool) -> Iterator[Ask]:
        return (learning(self._path, *block, step=step) for block in blocks(rows, y, weights))

    async def step(self, row: Any, y: Any = None, weight: float = 1.0, *, key: str | None = None) -> Any:
        """Call `run` on one row. Equal rows each count; a failed one is repeated safely only with its own `key`."""
        rows = [row] if isinstance(row, dict) else row[None] if isinstance(row, np.ndarray) and row.ndim == 1 else row
        weights = None if weight == 1.0 else [weight]
        ask = learning(self._path, rows, None if y is None else [y], weights, step=True)
        return (await self._client.ask(single(ask, key)))["predictions"][0]

    async def label(self, id: str, y: Any) -> int:
        """Send the label of a prediction that was remembered under that id."""
        content = json.dumps({"id": id, "label": y}).encode()
        row: int = (await self._client.ask(labelled(self._path, content)))["row"]
        return row

    async def describe(self) -> dict[str, Any]:
        """Return the server's description of the model."""
        found: dict[str, Any] = await self._client.ask(Ask("GET", self._path))
        return found
