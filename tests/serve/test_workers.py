"""Several processes: models spread by name, workers that die alone, models that move when their number changes."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from serving import CONFIG, Process, Running, has_ended, learn, rows

from nystream.serve.front import Front
from nystream.serve.log import Full
from nystream.serve.placement import choose_worker, place_models
from nystream.serve.settings import Settings
from nystream.serve.tokens import added
from nystream.serve.verify import verify
from nystream.serve.workers import Reply

NAMES = [f"m{k}" for k in range(6)]


def worker_pids(server):
    return {worker["worker"]: worker["pid"] for worker in server.call("GET", "/readyz")[1]["workers"]}


def test_one_worker_more_takes_its_share_and_moves_nothing_else():
    names = [f"model-{k}" for k in range(2000)]
    before, after = ([choose_worker(name, n) for name in names] for n in (4, 5))
    assert all(b in (a, 4) for a, b in zip(before, after, strict=True))
    counts = np.bincount(after, minlength=5)
    assert counts.min() > 320
    assert counts.max() < 480


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("workers")
    server = Process(folder / "d", "--workers", "2")
    try:
        for name in NAMES:
            server.create(name)
            learn(server, f"/models/{name}", 5, key=f"first-{name}")
        yield server
    finally:
        code = server.terminate()[0]
    assert code == 0
    report = verify(folder / "d")
    assert report.is_good, report
    assert report.models >= len(NAMES)


def test_requests_about_all_models_join_the_answers_of_the_workers(served):
    assert {choose_worker(name, 2) for name in NAMES} == {0, 1}
    listed = served.call("GET", "/models")[1]
    assert set(NAMES) <= {model["name"] for model in listed["models"]}
    assert listed["workers_down"] == []
    assert served.call("GET", "/healthz") == (200, {"status": "alive"})
    text = served.raw("GET", "/metrics")[1].decode()
    for name in NAMES:
        line = f'nystream_rows_learnt_total{{model="{name}",worker="{choose_worker(name, 2)}"}} 5.0'
        assert line in text
    assert text.count("# TYPE nystream_rows_learnt counter") + text.count("# TYPE nystream_rows_learnt_total") == 1
    assert 'nystream_worker_up{worker="1"} 1.0' in text
    assert served.call("GET", "/models/nobody")[0] == 404
    assert served.call("PUT", "/models/m0", CONFIG)[0] == 409
    assert served.raw("GET", "/")[0] == 200
    repeated = learn(served, "/models/m0", 5, key="first-m0")
    assert repeated["row"] == 5


def test_a_worker_that_refuses_counts_as_down_and_the_others_are_told(tmp_path):
    class Fixed:
        def __init__(self, status, **body):
            self.reply = Reply(status, {}, json.dumps(body, separators=(",", ":")).encode())

        async def request(self, *_):
            return self.reply

    front = Front(Settings(tmp_path, workers=2))
    try:
        for name, ask in (("models", front.list_models), ("queue", front.describe_health)):
            front.workers = [Fixed(200, **{name: [] if name == "models" else 3}), Fixed(503, error="too slow")]
            found = asyncio.run(ask())
            assert (found[name], found["workers_down"]) == ([] if name == "models" else 3, [1])
        front.workers = [Fixed(503, models=2, ready=1)]
        assert list(asyncio.run(front.ask_all("GET", "/readyz")).replies) == [0]
    finally:
        front.workers = []
        asyncio.run(front.finish())


def test_a_clone_goes_to_the_worker_of_its_name(served):
    there = next(f"clone{k}" for k in range(99) if choose_worker(f"clone{k}", 2) != choose_worker("m0", 2))
    here = next(f"clone{k}" for k in range(99) if choose_worker(f"clone{k}", 2) == choose_worker("m0", 2))
    for name in (there, here):
        assert served.call("POST", "/models/m0/clone", {"name": name}) == (201, {"name": name, "row": 5})
        assert served.file(name) == served.file("m0")
        found, original = (served.call("GET", f"/models/{n}")[1] for n in (name, "m0"))
        assert found["champion"]["errors"] == original["champion"]["errors"]
        assert found["config"] == original["config"]
        assert {"kind": "created", "from": "m0"}.items() <= found["notes"][-1].items()
    assert served.call("POST", "/models/m0/clone", {"name": there})[0] == 409


def test_a_backup_has_every_worker_and_can_be_served(served, tmp_path):
    backup = Path(served.call("POST", "/backup")[1]["backup"])
    files = {name: served.file(name) for name in NAMES}
    again = Process(backup, "--workers", "3")  # with another number: the models move
    try:
        assert {name: again.file(name) for name in NAMES} == files
        assert learn(again, "/models/m1", 5, key="first-m1")["row"] == 5  # the keys have moved too
    finally:
        assert again.terminate()[0] == 0


def test_events_of_all_workers_are_heard(served):
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=300)
    connection.request("GET", "/events")
    stream, kinds, listed = connection.getresponse(), {}, []
    deadline = time.monotonic() + 300
    while not ({"rollback", "tick"} <= kinds.keys() and len(kinds["rollback"]) == 2) and time.monotonic() < deadline:
        line = stream.readline().decode().strip()
        if line.startswith("event: "):
            kind = line.removeprefix("event: ")
        elif line.startswith("data: "):
            kinds.setdefault(kind, []).append(json.loads(line.removeprefix("data: ")))
            if kind == "tick" and "rollback" not in kinds and not listed:
                for worker in (0, 1):
                    name = next(name for name in NAMES if choose_worker(name, 2) == worker)
                    snapshot = served.post(f"/models/{name}/snapshots", {})["snapshot"]["id"]
                    served.post(f"/models/{name}/rollback", {"snapshot": snapshot})
                    listed.append(name)
    connection.close()
    assert {body["model"] for body in kinds["rollback"]} == set(listed)
    assert set(NAMES) <= {model["name"] for model in kinds["tick"][0]["models"]}


def test_a_worker_that_is_killed_comes_back_and_nobody_else_notices(served):
    victim = choose_worker("m0", 2)
    other = next(name for name in NAMES if choose_worker(name, 2) != victim)
    file, failed, stop = served.file("m0"), [], threading.Event()

    def keep_asking():
        while not stop.is_set():
            status, answer = served.call("POST", f"/models/{other}/predict", {"row": {"a": 1.0, "b": 2.0}})
            if status != 200:
                failed.append((status, answer))

    thread = threading.Thread(target=keep_asking, daemon=True)
    thread.start()
    pid = worker_pids(served)[victim]
    os.kill(pid, signal.SIGKILL)
    seen = set()
    deadline = time.monotonic() + 300
    try:
        while time.monotonic() < deadline:
            status, _, headers = served.raw("POST", "/models/m0/predict", {"row": {"a": 1.0, "b": 2.0}})
            seen.add(status)
            if status == 200 and 503 in seen:
                break
            assert status == 200 or headers["retry-after"] == "1"
    finally:
        stop.set()
        thread.join()
    assert seen == {200, 503}
    assert failed == []
    assert served.file("m0") == file
    assert worker_pids(served)[victim] != pid
    assert served.call("GET", "/readyz")[1]["workers"][victim]["restarts"] == 1


def test_when_the_front_is_killed_its_workers_end_and_nothing_is_lost(tmp_path):
    server = Process(tmp_path / "d", "--workers", "2")
    for name in NAMES[:3]:
        server.create(name)
        learn(server, f"/models/{name}", 7, verb="step", key=name)
    files = {name: server.file(name) for name in NAMES[:3]}
    pids = worker_pids(server).values()
    server.kill()
    server = Process(tmp_path / "d", "--workers", "2")  # at once: it waits for the old workers to end
    deadline = time.monotonic() + 300
    while not all(has_ended(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert {name: server.file(name) for name in NAMES[:3]} == files
    assert learn(server, "/models/m0", 7, verb="step", key="m0")["row"] == 7
    assert server.terminate()[0] == 0


def test_tokens_limits_and_the_audit_log_are_those_of_the_front(tmp_path):
    path = tmp_path / "tokens"
    admin, reader = added(path, "admin", "operator one"), added(path, "read", "reader")
    server = Process(tmp_path / "d", "--workers", "2", "--tokens", str(path), "--audit", "all", "--body-limit", "10kB")
    server.token = admin
    server.create("m")
    learn(server, "/models/m", 3)
    server.token = reader
    assert server.call("POST", "/models/m/predict", {"row": {"a": 1.0, "b": 2.0}})[0] == 200
    status, answer = server.call("POST", "/models/m/predict", {"row": {"a": 1.0, "b": 2.0}, "remember": True})
    assert (status, "role learn" in answer["error"]) == (403, True)
    assert server.call("POST", "/models/m/learn", {"row": {"a": 1, "b": 2}, "label": 1})[0] == 403
    assert server.call("POST", "/models/m/predict", {"row": {"a": "x" * 20_000}})[0] == 413
    server.token = "wrong"
    assert server.call("GET", "/models")[0] == 401
    assert server.terminate()[0] == 0
    lines = [json.loads(line) for line in (tmp_path / "d" / "audit.log").read_text().splitlines()]
    assert ("operator one", "PUT", "/models/m", 201) in [
        tuple(x[k] for k in ("who", "method", "path", "status")) for x in lines
    ]
    assert 401 in [line["status"] for line in lines]


def _state(server, name):
    found = server.call("GET", f"/models/{name}")[1]
    keys = server.call("GET", f"/models/{name}/keys")[1]
    sources = server.call("GET", f"/models/{name}/sources")[1]
    champion = {key: value for key, value in found["champion"].items() if key not in ("event", "rows_per_second")}
    return champion, found["open_labels"], keys, sources, server.file(name), server.file(f"{name}/keys/k")


def test_models_of_one_process_move_to_workers_with_everything(tmp_path):
    folder = tmp_path / "d"
    with Running(folder) as server:
        for name in NAMES[:4]:
            server.create(name)
            learn(server, f"/models/{name}", 8, verb="step", key=f"k-{name}")
            learn(server, f"/models/{name}/keys/k", 3)
            server.post(f"/models/{name}/snapshots", {})
            server.call("PUT", f"/models/{name}/challengers/c", {"learner": "ons"})
            found, labels = rows(4, 1)
            server.post(f"/models/{name}/learn?source=s&position=0", {"rows": found, "labels": labels})
            server.post(f"/models/{name}/predict", {"row": {"a": 1.0, "b": 2.0}, "ids": ["late"]})
        before = {name: _state(server, name) for name in NAMES[:4]}
    server = Process(folder, "--workers", "2")
    assert {name: _state(server, name) for name in NAMES[:4]} == before
    for name in NAMES[:4]:
        assert server.post(f"/models/{name}/label", {"id": "late", "label": 1.0})["row"] == 13
        assert learn(server, f"/models/{name}", 8, verb="step", key=f"k-{name}")["row"] == 8  # answered, not learnt
        assert len(server.call("GET", f"/models/{name}/challengers")[1]["challengers"]) == 1
    assert server.terminate()[0] == 0
    code, text = Process(folder).end()
    assert code == 2
    assert "--workers" in text
    assert verify(folder).is_good


def test_a_move_that_is_broken_off_is_finished_by_the_next_start(tmp_path, monkeypatch):
    import nystream.serve.placement as placement

    folder = tmp_path / "d"
    with Running(folder) as server:
        for name in NAMES:
            server.create(name)
            learn(server, f"/models/{name}", 4)
        files = {name: server.file(name) for name in NAMES}
    delete, calls = placement.delete_model, []

    def fail(store, entry):
        calls.append(entry.name)
        if len(calls) == 3:  # the model is in both logs now
            raise Full("no room")
        delete(store, entry)

    monkeypatch.setattr(placement, "delete_model", fail)
    with pytest.raises(Full):
        place_models(folder, 3)
    monkeypatch.undo()
    assert place_models(folder, 3) == len(NAMES) - 2
    assert place_models(folder, 3) == 0
    assert place_models(folder, 1) > 0
    assert not (folder / "log.db").exists()
    with Running(folder / "workers" / "0") as server:
        assert {name: server.file(name) for name in NAMES} == files
