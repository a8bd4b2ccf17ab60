"""The client: models of a server, used as if they were here."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
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

__all__ = ["Client", "RemoteModel"]


class Client:
    """A server of models (`nystream serve`).

    Rows are never learnt twice by mistake. A request that gets no answer is repeated with the same idempotency key. A
    call of `learn` or `run` that failed can be made again, also by another process: its keys are derived from its
    rows, so that the server goes on where it stopped. The server remembers keys for a day (`--keep-keys`).

    Parameters
    ----------
    url : str
        As in "http://127.0.0.1:8470".
    token : str or None
    timeout : float
        Seconds to wait for an answer.
    attempts : int
        How often a request is sent before the failure is reported.
    """

    def __init__(self, url: str, token: str | None = None, *, timeout: float = 60.0, attempts: int = ATTEMPTS) -> None:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self.url, self._attempts = url, attempts
        httpx = extra("httpx")
        self._broken = httpx.TransportError
        self._keys = Keys()
        self._http = httpx.Client(base_url=url, headers=headers, timeout=timeout, trust_env=False)

    def model(self, name: str, key: str | None = None) -> RemoteModel:
        """Return the model of that name, or of one key of it; a request shows whether it exists."""
        return RemoteModel(self, name, key)

    def models(self) -> list[dict[str, Any]]:
        """Return all models, a few numbers of each."""
        found: list[dict[str, Any]] = self.ask(Ask("GET", "/models"))["models"]
        return found

    def names(self) -> list[str]:
        """Return the names of the models that the server has."""
        return [found["name"] for found in self.models()]

    def ask(self, ask: Ask) -> Any:
        """Send a request, which may be repeated, and return its answer."""
        return json.loads(self.content(ask))

    def content(self, ask: Ask) -> bytes:
        """Send a request and return its answer as bytes."""
        return self._sent(ask).content

    def call(self, asks: Iterable[Ask], key: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield the answers to the requests of one call, whose keys stay the same when the call is repeated."""
        call = self._keys.call(key)
        for ask in asks:
            answer = self._sent(call.keyed(ask))
            call.answered(ask.rows, repeated=answer.repeated)
            yield json.loads(answer.content)
        call.complete()

    def _sent(self, ask: Ask) -> Answer:
        pause = PAUSE
        for attempt in range(self._attempts):
            last = attempt + 1 == self._attempts
            try:
                answer = self._http.request(
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
            time.sleep(min(pause, LONGEST))
            pause = min(2 * pause, LONGEST)
        raise AssertionError("unreachable")

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class RemoteModel:
    """A model on a server: `predict`, `step`, `run` and `learn` as those of `nystream.Model`, and late labels."""

    def __init__(self, client: Client, name: str, key: str | None = None) -> None:
        self._client, self.name, self.key = client, name, key
        self._path = place(name, key)

    def create(self, config: dict[str, Any] | None = None, *, file: str | os.PathLike[str] | None = None) -> None:
        """Make it: from a configuration (learner, settings, columns, target, task), or from a model file."""
        if file is not None:
            kind, content = "application/octet-stream", Path(file).read_bytes()
        else:
            kind, content = "application/json", json.dumps(config or {}).encode()
        self._client.ask(Ask("PUT", self._path, content, {"Content-Type": kind}))

    def predict(self, rows: Any, ahead: int | None = None) -> Any:
        """Return predictions: numbers (n,), (n, K) for several targets, or names of classes.

        ahead=None: each row is some later row; ahead=1: each is the next one, as in `step`.
        """
        options = {} if ahead is None else {"ahead": ahead}
        return predictions(self.ask(rows, **options)["predictions"])

    def ask(self, rows: Any, **options: Any) -> dict[str, Any]:
        """Predict with more answers: probabilities=True, interval=0.9, quantiles=[0.1, 0.9], explain=True, snapshot=ID,
        ahead=1.

        With ids=[...] or remember=True labels may come later.
        """
        found: dict[str, Any] = self._client.ask(predicting(self._path, rows, options))
        return found

    def learn(self, rows: Any, y: Any = None, weights: Any = None, *, key: str | None = None) -> int:
        """Learn rows; return how many the model has learnt in all.

        If the call fails, make it again: rows that the server has learnt are not learnt twice. `key` names the call
        where equal rows are to be learnt once more by another process; by default it is derived from the rows.
        """
        row = 0
        for answer in self._client.call(self._asks(rows, y, weights, step=False), key):
            row = answer["row"]
        return row

    def run(self, rows: Any, y: Any = None, weights: Any = None, *, key: str | None = None) -> Any:
        """Return predictions for the rows in order, each made before its label is read; learn those that have one.

        It can be repeated as `learn` can.
        """
        found: list[Any] = []
        for answer in self._client.call(self._asks(rows, y, weights, step=True), key):
            found += answer["predictions"]
        return predictions(found)

    def _asks(self, rows: Any, y: Any, weights: Any, *, step: bool) -> Iterator[Ask]:
        return (learning(self._path, *block, step=step) for block in blocks(rows, y, weights))

    def step(self, row: Any, y: Any = None, weight: float = 1.0, *, key: str | None = None) -> Any:
        """Call `run` on one row. Equal rows each count; a failed one is repeated safely only with its own `key`."""
        rows = [row] if isinstance(row, dict) else row[None] if isinstance(row, np.ndarray) and row.ndim == 1 else row
        weights = None if weight == 1.0 else [weight]
        return self.send(rows, None if y is None else [y], weights, step=True, key=key)["predictions"][0]

    def send(
        self,
        rows: Any,
        y: Any = None,
        weights: Any = None,
        *,
        step: bool = False,
        key: str | None = None,
        source: str | None = None,
        position: int = 0,
        mark: str = "",
    ) -> dict[str, Any]:
        """Send one request; return all that the server answers.

        With `source`, the name of a stream of rows, and `position`, the number of its rows before these, the server
        learns each row of that stream once, however often and in whatever blocks it is sent.
        """
        ask = learning(self._path, rows, y, weights, step=step)
        if source is not None:
            key = key or blake2b(f"{source}\0{position}\0{mark}".encode() + ask.content, digest_size=16).hexdigest()
            ask = ask._replace(query={**ask.query, "source": source, "position": str(position), "mark": mark})
        found: dict[str, Any] = self._client.ask(single(ask, key))
        return found

    def position(self, source: str) -> tuple[int, str]:
        """Return how many rows of a source the model has learnt, and the mark that was sent with the last of them."""
        for found in self._client.ask(Ask("GET", f"{self._path}/sources"))["sources"]:
            if found["source"] == source:
                return found["position"], found["mark"]
        return 0, ""

    def label(self, id: str, y: Any) -> int:
        """Send the label of a prediction that was remembered under that id."""
        content = json.dumps({"id": id, "label": y}).encode()
        row: int = self._client.ask(labelled(self._path, content))["row"]
        return row

    def describe(self) -> dict[str, Any]:
        """Return the server's description of the model."""
        found: dict[str, Any] = self._client.ask(Ask("GET", self._path))
        return found

    def download(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `nystream.load` reads."""
        Path(path).write_bytes(self._client.content(Ask("GET", f"{self._path}/file")))

    def __repr__(self) -> str:
        return f"<model {self.name}{'' if self.key is None else '/' + self.key} at {self._client.url}>"
