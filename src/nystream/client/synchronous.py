"""The client: models of a server, used as if they were here."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any, Self

import numpy as np

from nystream.client.blocks import extra, failure, place, predictions
from nystream.client.requests import AGAIN, ATTEMPTS, LONGEST, PAUSE, Ask, blocks, labelled, learning, predicting

__all__ = ["Client", "RemoteModel"]


class Client:
    """A server of models (`nystream serve`).

    A request that gets no answer is repeated with the same idempotency key, so that the server learns it once.

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
        self._http = httpx.Client(base_url=url, headers=headers, timeout=timeout, trust_env=False)

    def model(self, name: str, key: str | None = None) -> RemoteModel:
        """The model of that name, or of one key of it; whether there is one shows when it is used."""
        return RemoteModel(self, name, key)

    def models(self) -> list[dict[str, Any]]:
        """All models, a few numbers of each."""
        found: list[dict[str, Any]] = self.ask(Ask("GET", "/models"))["models"]
        return found

    def names(self) -> list[str]:
        """The names of the models that the server has."""
        return [found["name"] for found in self.models()]

    def ask(self, ask: Ask) -> Any:
        """The answer to a request, which may be repeated."""
        return json.loads(self.content(ask))

    def content(self, ask: Ask) -> bytes:
        """The same as bytes."""
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
                    content: bytes = answer.content
                    return content
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
        """Predictions: numbers (n,), (n, K) of several targets, or names of classes.

        ahead=None: each row is some later row; ahead=1: each is the next one, as in `step`.
        """
        options = {} if ahead is None else {"ahead": ahead}
        return predictions(self.ask(rows, **options)["predictions"])

    def ask(self, rows: Any, **options: Any) -> dict[str, Any]:
        """Predictions with probabilities=True, interval=0.9, quantiles=[0.1, 0.9], explain=True, snapshot=ID, ahead=1.

        With ids=[...] or remember=True labels may come later.
        """
        found: dict[str, Any] = self._client.ask(predicting(self._path, rows, options))
        return found

    def learn(self, rows: Any, y: Any = None, weights: Any = None) -> int:
        """Learn rows; how many the model has learnt in all."""
        row = 0
        for some, labels, w in blocks(rows, y, weights):
            row = self._client.ask(learning(self._path, some, labels, w, step=False))["row"]
        return row

    def run(self, rows: Any, y: Any = None, weights: Any = None) -> Any:
        """Predictions for the rows in order, each made before its label is read; and learn those that have one."""
        found: list[Any] = []
        for some, labels, w in blocks(rows, y, weights):
            found += self._client.ask(learning(self._path, some, labels, w, step=True))["predictions"]
        return predictions(found)

    def step(self, row: Any, y: Any = None, weight: float = 1.0) -> Any:
        """`run` on one row."""
        rows = [row] if isinstance(row, dict) else row[None] if isinstance(row, np.ndarray) and row.ndim == 1 else row
        weights = None if weight == 1.0 else [weight]
        return self.send(rows, None if y is None else [y], weights, step=True)["predictions"][0]

    def send(self, rows: Any, y: Any = None, weights: Any = None, *, step: bool = False) -> dict[str, Any]:
        """One request; all that the server answers."""
        found: dict[str, Any] = self._client.ask(learning(self._path, rows, y, weights, step=step))
        return found

    def label(self, id: str, y: Any) -> int:
        """The label of a prediction that was remembered under that id."""
        content = json.dumps({"id": id, "label": y}).encode()
        row: int = self._client.ask(labelled(self._path, content))["row"]
        return row

    def describe(self) -> dict[str, Any]:
        """What the server says of it."""
        found: dict[str, Any] = self._client.ask(Ask("GET", self._path))
        return found

    def download(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `nystream.load` reads."""
        Path(path).write_bytes(self._client.content(Ask("GET", f"{self._path}/file")))

    def __repr__(self) -> str:
        return f"<model {self.name}{'' if self.key is None else '/' + self.key} at {self._client.url}>"
