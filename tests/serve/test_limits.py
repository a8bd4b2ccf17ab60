"""What is bounded: the backlog, the time to end, the time to load a file; and what does not move with the clock."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from serving import CONFIG, Process, Running, has_ended, learn, rows

from nystream.serve import answering, learning, recovery, routes, routes_admin, store
from nystream.serve.helper import Helpers
from nystream.serve.refusals import Refusal
from nystream.serve.settings import Limits
from nystream.serve.verify import verify

WAIT = 300
ROW = {"a": 1.0, "b": 2.0}


class Post(threading.Thread):
    """A learning request in a thread."""

    def __init__(self, server, path, n, seed):
        super().__init__(daemon=True)
        found, labels = rows(n, seed)
        self._arguments = (server, path, {"rows": found, "labels": labels})
        self.status, self.answer = 0, None
        self.start()

    def run(self):
        server, path, body = self._arguments
        try:
            self.status, self.answer = server.call("POST", path, body, headers={"Idempotency-Key": path})
        except OSError as error:
            self.answer = error


@pytest.mark.parametrize("limits", [{"queue_rows": 50}, {"queue_bytes": 2000}, {"queue": 2}])
def test_a_backlog_is_bounded_and_told_when_to_come_again(tmp_path, monkeypatch, limits):
    inside, leave = threading.Event(), threading.Event()
    real = learning.learn

    def slow(*arguments):
        inside.set()
        assert leave.wait(WAIT)
        return real(*arguments)

    with Running(tmp_path, limits=Limits(**limits)) as server:
        server.create("m")
        monkeypatch.setattr(learning, "learn", slow)
        first = Post(server, "/models/m/learn", 30, 1)
        assert inside.wait(WAIT)
        second = Post(server, "/models/m/step", 15, 2)
        deadline = time.monotonic() + WAIT
        while server.service.writer.backlog[0] < 45:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        found, labels = rows(30, 3)
        status, content, headers = server.raw("POST", "/models/m/learn", {"rows": found, "labels": labels})
        assert (status, headers["retry-after"]) == (429, "1")
        assert b"too many rows wait" in content
        assert server.call("GET", "/healthz")[0] == 200
        leave.set()
        first.join(WAIT)
        second.join(WAIT)
        assert (first.status, second.status) == (200, 200)
        assert server.service.writer.backlog == (0, 0)
        assert learn(server, "/models/m", 5, 4)["row"] == 50  # 30 and 15 and 5: nothing of the refused request
        assert 'nystream_refused_total{reason="full queue"} 1.0' in server.raw("GET", "/metrics")[1].decode()


def test_the_end_comes_in_time_whatever_waits_and_nothing_acknowledged_is_lost(tmp_path):
    options = ("--drain-seconds", "2", "--timeout", "10min")
    server = Process(tmp_path, *options)
    server.create("light")
    server.create("heavy", {"target": "y"})
    assert learn(server, "/models/light", 10, key="light")["row"] == 10
    assert learn(server, "/models/heavy", 20, 5, key="first")["row"] == 20
    waiting = Post(server, "/models/heavy/learn", 4000, 6)
    deadline = time.monotonic() + WAIT
    while server.call("GET", "/models/heavy")[1]["champion"]["rows"] == 20:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert learn(server, "/models/light", 10, 1)["row"] == 20  # acknowledged while the other waits
    code, text = server.terminate()
    assert code == 0
    waiting.join(WAIT)
    server = Process(tmp_path, *options)
    assert server.call("GET", "/models/light")[1]["champion"]["rows"] == 20
    if waiting.status != 200:
        assert waiting.status == 503
        assert "repeat the request with the same Idempotency-Key" in waiting.answer["error"]
    count = server.call("GET", "/models/heavy")[1]["champion"]["rows"]
    assert count == 4020 if waiting.status == 200 else count in (20, 4020)
    assert "were not applied before the end" in text or count == 4020
    server.kill()
    assert verify(tmp_path).is_good


def test_the_end_does_not_wait_for_learning_that_does_not_end(tmp_path, monkeypatch):
    inside, leave, real = threading.Event(), threading.Event(), learning.learn

    def endless(*arguments):
        inside.set()
        assert leave.wait(2 * WAIT)
        return real(*arguments)

    with Running(tmp_path, drain=2.0) as server:
        server.create("m")
        assert learn(server, "/models/m", 5)["row"] == 5
        monkeypatch.setattr(learning, "learn", endless)
        waiting = Post(server, "/models/m/learn", 10, 1)
        assert inside.wait(WAIT)
        reading = Post(server, "/models/m/predict", 1, 2)  # waits for the model in a thread
    assert not server.service.ended_in_time
    reading.join(WAIT)
    waiting.join(WAIT)
    assert waiting.status == 503
    leave.set()  # a process would have ended by now; here the thread has to let go of the log
    server.service.writer._thread.join(WAIT)
    monkeypatch.undo()
    with Running(tmp_path) as server:
        assert server.call("GET", "/models/m")[1]["champion"]["rows"] == 15  # what the log has is learnt after all


def test_a_clock_that_jumps_makes_nobody_forget(tmp_path, monkeypatch):
    real = time.time
    with Running(tmp_path) as server:
        server.create("m")
        learn(server, "/models/m", 10, key="once")
        server.post("/models/m/predict", {"row": ROW, "ids": ["late"]})
        for jump in (3e8, -3e8, 6e8):  # ten years ahead, back again and further
            monkeypatch.setattr(time, "time", lambda jump=jump: real() + jump)
            learn(server, "/models/m", 1, 2)
            server.post("/models/m/snapshots", {})  # what is too old is forgotten with snapshots
            _, _, headers = server.raw(
                "POST",
                "/models/m/learn",
                dict(zip(("rows", "labels"), rows(10), strict=True)),
                headers={"Idempotency-Key": "once"},
            )
            assert headers["idempotency-replayed"] == "true"
        assert server.post("/models/m/label", {"id": "late", "label": 1.0})["row"] == 14
    monkeypatch.undo()
    assert verify(tmp_path).is_good


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 3 MB."""
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)]
    try:
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("this user may not mount a small file system")
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def fill_up(path):
    with open(path, "wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue


def test_with_a_full_disk_at_its_start_the_server_predicts_and_says_why_it_does_not_learn(small_disk):
    with Running(small_disk / "d") as server:
        server.create("m")
        learn(server, "/models/m", 20)
    fill_up(small_disk / "filler")
    with Running(small_disk / "d") as server:
        assert server.post("/models/m/predict", {"row": ROW})["row"] == 20
        status, found = server.call("POST", "/models/m/learn", {"row": ROW, "label": 1.0})
        assert status == 507
        assert "no room on the disk" in found["error"]
        assert server.call("GET", "/healthz")[0] == 200
        (small_disk / "filler").unlink()
        assert server.post("/models/m/learn", {"row": ROW, "label": 1.0})["row"] == 21
    assert verify(small_disk / "d").is_good


def test_with_a_full_log_at_its_start_the_server_predicts_and_says_why_it_does_not_learn(tmp_path):
    with Running(tmp_path) as server:
        server.create("m")
        learn(server, "/models/m", 20)
    with Running(tmp_path, log_bytes=1) as server:
        assert server.post("/models/m/predict", {"row": ROW})["row"] == 20
        found, labels = rows(2000)
        status, answer = server.call("POST", "/models/m/learn", {"rows": found, "labels": labels})
        assert status == 507
        assert "in the log's limit" in answer["error"]
    assert verify(tmp_path).is_good


def test_an_uploaded_file_that_never_loads_is_refused_and_its_process_killed(tmp_path, monkeypatch):
    with Running(tmp_path) as server:
        server.create("m")
        learn(server, "/models/m", 10)
        content = server.file("m")
        status, found = server.call("PUT", "/models/n", content, kind="application/octet-stream")
        assert (status, found["row"]) == (201, 10)
        (helper,) = server.service.answering.helpers._idle.queue
        monkeypatch.setattr(routes_admin, "UPLOAD_SECONDS", 0.0)
        status, found = server.call("PUT", "/models/never", content, kind="application/octet-stream")
        assert status == 422
        assert "was not loaded within 0 s" in found["error"]
        assert helper._process.returncode is not None
        assert server.call("GET", "/models/never")[0] == 404
        monkeypatch.undo()
        status, found = server.call("PUT", "/models/x", content[: len(content) // 2], kind="application/octet-stream")
        assert status == 422
        assert server.call("PUT", "/models/y", content, kind="application/octet-stream")[0] == 201


def test_a_process_at_work_ends_with_the_server():
    helpers, refusals = Helpers(), []

    def call():
        with pytest.raises(Refusal) as refusal:
            helpers.call("check_file", bytes(2**28), seconds=WAIT)
        refusals.append(refusal.value)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    deadline = time.monotonic() + WAIT
    while not helpers._all:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    (helper,) = helpers._all
    helpers.close()
    thread.join(WAIT)
    assert helper._process.returncode is not None
    assert len(refusals) == 1
    assert not helpers._all


ENDLESS = """
import os
from nystream.serve.helper import end_with
end_with(os.getppid())
print(os.getpid(), flush=True)
while True:
    pass
"""


def test_a_process_ends_with_a_server_that_is_killed():
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {ENDLESS!r}])"
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE) as server:
        pid = int(server.stdout.readline())
        server.kill()
    deadline = time.monotonic() + WAIT
    while not has_ended(pid):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_process_that_dies_is_told_and_the_next_call_has_a_new_one():
    helpers = Helpers()
    with pytest.raises(Refusal, match="cannot be used"):
        helpers.call("check_file", b"no model", seconds=WAIT)
    (helper,) = helpers._idle.queue
    os.kill(helper._process.pid, 9)
    helper._process.wait()
    with pytest.raises(Refusal, match="ended its process"):
        helpers.call("check_file", b"no model", seconds=WAIT)
    with pytest.raises(Refusal, match="cannot be used"):
        helpers.call("check_file", b"no model", seconds=WAIT)
    helpers.close()


def test_a_snapshot_that_never_loads_quarantines_its_model_alone(tmp_path, monkeypatch):
    with Running(tmp_path) as server:
        server.create("m")
        server.create("other", {**CONFIG, "learner": "fogd", "settings": {"dim": 16}})
        for name in ("m", "other"):
            learn(server, f"/models/{name}", 10)
            server.post(f"/models/{name}/snapshots", {})
            learn(server, f"/models/{name}", 10, 1)
    real, leave = learning.loaded, threading.Event()

    def endless(content):
        if b"learner/pkrr" in content:
            leave.wait(WAIT)
        return real(content)

    monkeypatch.setattr(learning, "loaded", endless)
    monkeypatch.setattr(recovery, "LOAD_SECONDS", 0.2)
    monkeypatch.setattr(store, "LOAD_SECONDS", 0.2)
    with Running(tmp_path) as server:
        found = server.call("GET", "/models/m")[1]
        assert found["state"] == "quarantined"
        assert "was not loaded within 0.2 s" in found["reason"]
        assert server.post("/models/other/predict", {"row": ROW})["row"] == 20
        leave.set()
    monkeypatch.undo()
    with Running(tmp_path) as server:  # its files are kept: a file that loads again is served again
        assert server.post("/models/m/predict", {"row": ROW})["row"] == 20


def test_an_answer_of_another_process_is_that_of_this_one(tmp_path, monkeypatch):
    with Running(tmp_path) as server:
        server.create("m", {"columns": ["a", "b"], "target": "y", "task": "regression"})
        learn(server, "/models/m", 50)
        asked = {"rows": rows(5, 9)[0], "explain": True, "interval": 0.8}
        here = server.post("/models/m/predict", asked)
        monkeypatch.setattr(answering, "HEAVY", 0)
        assert server.post("/models/m/predict", asked) == here
        assert server.service.answering.helpers._idle.qsize() == 1


def test_a_large_body_is_read_by_another_process_like_a_small_one(tmp_path, monkeypatch):
    found, labels = rows(300)
    found = [{**row, "c": "xyz"[i % 3]} for i, row in enumerate(found)]
    body = {"rows": found, "labels": labels}
    columns = {"a": "number", "b": "number", "c": "category"}
    config = {"columns": columns, "target": "y", "task": "regression", "learner": "pkrr"}
    with Running(tmp_path) as server:
        helpers = server.service.answering.helpers
        for name in ("m", "small"):
            server.create(name, config)
        small = server.post("/models/small/step", body)
        assert helpers._idle.qsize() == 0
        monkeypatch.setattr(routes, "LARGE", 1000)
        large = server.post("/models/m/step", body, "once")
        assert helpers._idle.qsize() == 1
        np.testing.assert_allclose(large["predictions"], small["predictions"], rtol=1e-9, atol=1e-9)
        assert server.post("/models/m/step", body, "once") == large
        assert len(server.post("/models/m/predict", {"rows": found})["predictions"]) == 300
        wrong = {"rows": [*found[:-1], {**found[-1], "a": "text"}], "labels": labels}
        status, answer = server.call("POST", "/models/m/learn", wrong)
        assert (status, "row 299: column 'a'" in answer["error"]) == (422, True)
        assert server.call("POST", "/models/m/learn", {**body, "other": 1})[0] == 422
        assert (
            server.post("/models/m/learn", {"rows": [{**row, "new": 1} for row in found], "labels": labels})["row"]
            == 600
        )
        notes = server.call("GET", "/models/m")[1]["notes"]
        assert [note["about"] for note in notes if note.get("cause") == "unknown column"] == ["new"]
        assert helpers._idle.qsize() == 1


HUGE = {"learner": "fogd", "settings": {"dim": 10**9}}


def test_settings_that_take_too_much_are_tried_in_another_process_and_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(answering, "TRIAL_SECONDS", 0.5)
    with Running(tmp_path) as server:
        status, answer = server.call("PUT", "/models/huge", {**CONFIG, **HUGE})
        assert (status, "does not start within 0.5 s" in answer["error"]) == (422, True), answer
        assert server.call("GET", "/models/huge")[0] == 404
        server.create("late", HUGE)
        status, answer = server.call("POST", "/models/late/learn", {"rows": [ROW] * 2, "labels": [1.5, 2.5]})
        assert (status, "does not start" in answer["error"]) == (422, True), answer
        server.create("m")
        learn(server, "/models/m", 5)
        status, answer = server.call("PUT", "/models/m/challengers/c", HUGE)
        assert (status, "does not start" in answer["error"]) == (422, True), answer
        assert learn(server, "/models/m", 5)["row"] == 10
        monkeypatch.setattr(answering, "TRIAL_SECONDS", WAIT)
        large = {"learner": "fogd", "settings": {"dim": 60_000}}
        assert server.call("PUT", "/models/m/challengers/c", large)[0] == 201
        server.create("large", {**CONFIG, **large})
        assert learn(server, "/models/large", 5)["row"] == 5


def test_a_process_beside_the_server_has_half_of_the_memory_that_is_free():
    code = (
        "import resource, numpy as np; from nystream.serve import helper; helper.limit_memory()\n"
        "assert resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY\n"
        "try:\n    np.empty(2**44, dtype=np.uint8)\nexcept MemoryError:\n    print('refused')"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=WAIT)
    assert found.stdout == "refused\n"
