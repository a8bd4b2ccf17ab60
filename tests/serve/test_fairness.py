"""One heavy request never blocks the others: the order in which things happen, without clocks."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from serving import CONFIG, Running, learn, rows

from nystream.runtime.deadline import check_time
from nystream.serve import answering, learning
from nystream.serve.models import Entry
from nystream.serve.parts import Part
from nystream.serve.scheduling import Turns
from nystream.serve.settings import Limits

WAIT = 300
"""Seconds after which a test that hangs fails."""


@pytest.fixture
def server(tmp_path):
    with Running(tmp_path) as running:
        yield running


class Background(threading.Thread):
    """A request in a thread."""

    def __init__(self, call, *arguments):
        super().__init__(daemon=True)
        self._call, self._arguments = call, arguments
        self.start()

    def run(self):
        self.answer = self._call(*self._arguments)

    def result(self):
        self.join(WAIT)
        assert not self.is_alive()
        return self.answer


def commands(entry, slices, order):
    def apply(command):
        for i in range(command.slices):
            if i:
                yield
            order.append(command.entry.name)
        return command.entry.name

    return apply, SimpleNamespace(entry=entry, line=entry, rows=1, slices=slices, seq=1)


def test_a_light_model_comes_after_one_slice_of_a_heavy_one():
    heavy, light = Entry(1, "heavy", {}, 0.0), Entry(2, "light", {}, 0.0)
    order: list[str] = []
    turns = Turns()
    apply, long = commands(heavy, 100, order)
    turns.add(long)
    for _ in range(10):
        assert turns.take(apply) is None
    assert heavy.halfway
    turns.add(commands(light, 1, order)[1])
    done = []
    while turns.waiting:
        found = turns.take(apply)
        done += [] if found is None else [found[1]]
    assert done == ["light", "heavy"]
    assert order.index("light") <= 11
    assert len(order) == 101
    assert not heavy.halfway
    assert not heavy.pending


def test_the_commands_of_one_model_keep_their_order():
    entry, order = Entry(1, "m", {}, 0.0), []
    turns = Turns()
    for k in range(3):
        turns.add(SimpleNamespace(entry=entry, line=entry, rows=1, slices=2, seq=k))

    def apply(command):
        yield
        order.append(command.seq)

    while turns.waiting:
        turns.take(apply)
    assert order == [0, 1, 2]


def test_a_light_learn_is_answered_while_a_long_one_is_applied(server, monkeypatch):
    server.create("heavy")
    server.create("light")
    reached, answered, pieces = threading.Event(), threading.Event(), []
    real, heavy = learning.learn, server.service.store.models.find("heavy").champion

    def slow(model, batch, gate):
        if model is heavy.model:
            pieces.append(batch.n)
            if len(pieces) == 3:
                reached.set()
                while not server.service.writer._queue.qsize():
                    answered.wait(0.01)
            if sum(pieces) == 20_000:  # the last piece: the light one must have been answered by now
                assert answered.wait(WAIT)
        return real(model, batch, gate)

    monkeypatch.setattr(learning, "learn", slow)
    long = Background(learn, server, "/models/heavy", 20_000)
    assert reached.wait(WAIT)
    assert server.post("/models/light/learn", {"row": {"a": 1.0, "b": 2.0}, "label": 1.0})["row"] == 1
    answered.set()
    assert long.result()["row"] == 20_000
    assert len(pieces) > 10


def test_a_snapshot_asked_for_in_the_middle_waits_for_its_own_model_alone(server, monkeypatch):
    server.create("heavy")
    server.create("light")
    entry = server.service.store.models.find("heavy")
    reached, answered, pieces = threading.Event(), threading.Event(), []
    real = learning.learn

    def slow(model, batch, gate):
        if model is entry.champion.model:
            pieces.append(batch.n)
            if len(pieces) == 3:
                reached.set()
                while not server.service.writer._queue.qsize():
                    answered.wait(0.01)
            if sum(pieces) == 3000:
                assert answered.wait(WAIT)
        return real(model, batch, gate)

    monkeypatch.setattr(learning, "learn", slow)
    long = Background(learn, server, "/models/heavy", 3000)
    assert reached.wait(WAIT)
    saved = Background(server.post, "/models/heavy/snapshots", {})
    assert learn(server, "/models/light", 1)["row"] == 1
    answered.set()
    assert long.result()["row"] == 3000
    assert saved.result()["snapshot"]["rows"] == 3000


def test_an_explanation_blocks_neither_its_own_model_nor_the_others(server, monkeypatch):
    server.create("m")
    learn(server, "/models/m", 50)
    inside, leave = threading.Event(), threading.Event()
    real = learning._explained

    def slow(*arguments):
        inside.set()
        assert leave.wait(WAIT)
        return real(*arguments)

    monkeypatch.setattr(learning, "_explained", slow)
    asked = {"row": {"a": 1.0, "b": 2.0}, "explain": True}
    explained = Background(server.post, "/models/m/predict", asked)
    assert inside.wait(WAIT)
    assert server.call("GET", "/healthz") == (200, {"status": "alive"})
    assert learn(server, "/models/m", 10)["row"] == 60
    assert server.post("/models/m/predict", {"row": {"a": 1.0, "b": 2.0}})["row"] == 60
    assert server.call("GET", "/models/m")[1]["champion"]["rows"] == 60
    leave.set()
    found = explained.result()
    assert found["row"] == 50  # all of the answer is of the model as it was
    assert set(found["explanation"][0]) == {"a", "b"}


def test_a_long_computation_ends_when_the_time_of_its_request_is_over(tmp_path, monkeypatch):
    ended = threading.Event()

    def endless(*arguments):
        try:
            while True:
                check_time()
        finally:
            ended.set()

    with Running(tmp_path) as server:
        server.create("m")
        learn(server, "/models/m", 5)
    with Running(tmp_path, limits=Limits(seconds=3.0)) as server:
        monkeypatch.setattr(learning, "_explained", endless)
        status, found = server.call("POST", "/models/m/predict", {"row": {"a": 1.0, "b": 2.0}, "explain": True})
        assert status == 503
        assert "3 s" in found["error"]
        assert ended.wait(WAIT)


def test_too_many_long_requests_are_refused(server, monkeypatch):
    server.create("m")
    learn(server, "/models/m", 5)
    monkeypatch.setattr(answering, "MOST_LONG", 0)
    status, found = server.call("POST", "/models/m/predict", {"row": {"a": 1.0, "b": 2.0}, "explain": True})
    assert status == 429
    assert "long requests" in found["error"]
    assert server.post("/models/m/predict", {"row": {"a": 1.0, "b": 2.0}})["row"] == 5


def test_a_long_prediction_in_slices_is_that_of_the_whole(server, monkeypatch):
    server.create("m")
    learn(server, "/models/m", 50)
    some = rows(301, seed=3)[0]
    monkeypatch.setattr(answering, "GUESSED", 10**9)
    asked = {"rows": some, "interval": 0.8, "quantiles": [0.1, 0.5]}
    if not server.service.store.models.find("m").champion.model.can("predict_interval"):
        asked = {"rows": some}
    whole = server.post("/models/m/predict", asked)
    monkeypatch.setattr(answering, "IN_PLACE", 0.0)
    monkeypatch.setattr(answering, "SLICE", 20)
    sliced = server.post("/models/m/predict", asked)
    assert sliced.keys() == whole.keys()
    for name in whole:
        np.testing.assert_allclose(sliced[name], whole[name], rtol=1e-10, atol=1e-12)


def test_pieces_become_as_long_as_a_few_milliseconds_of_learning():
    model, form = learning.declared(CONFIG)
    part = Part("main", model, form)
    first = part.piece
    found, labels = rows(2000)
    batch = form.batch(found, labels, None, lambda names: None)
    batch.piece = 500
    part.learn(batch, 0.0, 1)
    assert first == 8
    assert part.piece > first
    assert part.seq == 1
