"""The client for programs that await."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Self

import numpy as np

from nystream.client.blocks import extra, failure, place, predictions
from nystream.client.requests import AGAIN, ATTEMPTS, LONGEST, PAUSE, Ask, blocks, labelled, learning, predicting

__all__ = ["AsyncClient", "AsyncModel"]


class AsyncClient:
    """As `Client`, with methods that are awaited."""

    def __init__(self, url: str, token: str | None = None, *, timeout: float = 60.0, attempts: int = ATTEMPTS) -> None:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self.url, self._attempts = url, attempts
        httpx = extra("httpx")
        self._broken = httpx.TransportError
        self._http = httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout, trust_env=False)

    def model(self, name: str, key: str | None = None) -> AsyncModel:
        """The model of that name, or of one key of it."""
        return AsyncModel(self, name, key)

    async def models(self) -> list[dict[str, Any]]:
        """All models, a few numbers of each."""
        found: list[dict[str, Any]] = (await self.ask(Ask("GET", "/models")))["models"]
        return found

    async def ask(self, ask: Ask) -> Any:
        """The answer to a request, which may be repeated."""
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
                    return json.loads(answer.content)
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
        """Predictions: numbers (n,), (n, K) of several targets, or names of classes.

        ahead=None: each row is some later row; ahead=1: each is the next one, as in `step`.
        """
        options = {} if ahead is None else {"ahead": ahead}
        return predictions((await self.ask(rows, **options))["predictions"])

    async def ask(self, rows: Any, **options: Any) -> dict[str, Any]:
        """Predictions with probabilities=True, interval=0.9, quantiles=[0.1, 0.9], explain=True, snapshot=ID, ahead=1.

        With ids=[...] or remember=True labels may come later.
        """
        found: dict[str, Any] = await self._client.ask(predicting(self._path, rows, options))
        return found

    async def learn(self, rows: Any, y: Any = None, weights: Any = None) -> int:
        """Learn rows; how many the model has learnt in all."""
        row = 0
        for some, labels, w in blocks(rows, y, weights):
            row = (await self._client.ask(learning(self._path, some, labels, w, step=False)))["row"]
        return row

    async def run(self, rows: Any, y: Any = None, weights: Any = None) -> Any:
        """Predictions for the rows in order, each made before its label is read; and learn those that have one."""
        found: list[Any] = []
        for some, labels, w in blocks(rows, y, weights):
            found += (await self._client.ask(learning(self._path, some, labels, w, step=True)))["predictions"]
        return predictions(found)

    async def step(self, row: Any, y: Any = None, weight: float = 1.0) -> Any:
        """`run` on one row."""
        rows = [row] if isinstance(row, dict) else row[None] if isinstance(row, np.ndarray) and row.ndim == 1 else row
        weights = None if weight == 1.0 else [weight]
        ask = learning(self._path, rows, None if y is None else [y], weights, step=True)
        return (await self._client.ask(ask))["predictions"][0]

    async def label(self, id: str, y: Any) -> int:
        """The label of a prediction that was remembered under that id."""
        content = json.dumps({"id": id, "label": y}).encode()
        row: int = (await self._client.ask(labelled(self._path, content)))["row"]
        return row

    async def describe(self) -> dict[str, Any]:
        """What the server says of it."""
        found: dict[str, Any] = await self._client.ask(Ask("GET", self._path))
        return found
