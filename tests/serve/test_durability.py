"""What is acknowledged is never lost, doubled or changed: crashes, repeats, a full disk, a failing one, and the end."""

from __future__ import annotations

import contextlib
import http.client
import shutil
import sqlite3
import subprocess
import threading
import time

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from serving import CONFIG, Process, Running, after_a_crash, learn, rows

from nystream.serve import Limits, Retention, learning
from nystream.serve.log import Full, Log
from nystream.serve.rows import LoggedRows, batch_of, count_rows


def test_a_crash_loses_nothing_that_was_acknowledged_and_the_model_is_equal_to_the_byte(tmp_path):
    never = Retention(every=1e12)
    with Running(tmp_path / "a", replay=600.0, retention=never) as server:  # no snapshot before the crash
        server.create("m")
        for seed in range(6):
            learn(server, "/models/m", 1 + 40 * (seed % 2), seed, verb="step")
            learn(server, f"/models/m/keys/k{seed % 2}", 3, seed)
        server.post("/models/m/predict", {"row": {"a": 1.0, "b": 2.0}, "ids": ["late"]})
        left = after_a_crash(server, tmp_path / "b")
        expected = server.file("m"), server.file("m/keys/k0"), server.file("m/keys/k1")
        described = server.call("GET", "/models/m")[1]
    with Running(left) as again:
        assert again.service.replayed > 0
        assert (again.file("m"), again.file("m/keys/k0"), again.file("m/keys/k1")) == expected
        found = again.call("GET", "/models/m")[1]
        assert found["champion"]["errors"] == described["champion"]["errors"]
        assert (found["open_labels"], found["keys"]) == (1, 2)
        assert again.post("/models/m/label", {"id": "late", "label": 1.0})["row"] == described["champion"]["rows"] + 1


def test_a_repeated_key_is_answered_from_the_log_and_learns_once(tmp_path):
    with Running(tmp_path / "a") as server:
        server.create("m")
        first = learn(server, "/models/m", 5, verb="step", key="once")
        assert learn(server, "/models/m", 5, verb="step", key="once") == first
        status, answer = server.call(
            "POST", "/models/m/step", {"row": {"a": 1, "b": 2}, "label": 1}, headers={"Idempotency-Key": "once"}
        )
        assert status == 422
        assert "another request" in answer["error"]
        metrics = server.raw("GET", "/metrics")[1].decode()
        assert 'nystream_rows_learnt_total{model="m"} 5.0\n' in metrics  # new events, not answers
        left = after_a_crash(server, tmp_path / "b")
    with Running(left) as again:  # the answer was made again by the replay
        assert learn(again, "/models/m", 5, verb="step", key="once") == first
        again.post("/models/m/snapshots", {})
        left = after_a_crash(again, tmp_path / "c")
    with Running(left) as again:  # now the event is gone, and the answer is in the log
        assert again.service.replayed == 0
        assert learn(again, "/models/m", 5, verb="step", key="once") == first
        assert again.call("GET", "/models/m")[1]["champion"]["rows"] == 5


def test_clients_at_once_with_the_same_key_learn_once(tmp_path):
    with Running(tmp_path) as server:
        server.create("m")
        answers = []
        threads = [
            threading.Thread(target=lambda: answers.append(learn(server, "/models/m", 2, verb="step", key="same")))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(answers) == 8
        assert all(answer == answers[0] for answer in answers)
        assert server.call("GET", "/models/m")[1]["champion"]["rows"] == 2


def test_killed_and_terminated_processes_go_on_where_they_were(tmp_path):
    server = Process(tmp_path / "d")
    server.create("m")
    acknowledged = [learn(server, "/models/m", 3, seed, key=f"k{seed}") for seed in range(20)]
    server.kill()
    server = Process(tmp_path / "d")
    assert [learn(server, "/models/m", 3, seed, key=f"k{seed}") for seed in range(20)] == acknowledged
    local = learning.declared(CONFIG)[0]
    for seed in range(20):
        found, labels = rows(3, seed)
        local.run(np.array([list(row.values()) for row in found]), np.array(labels))
    assert server.file("m") == local.to_bytes()
    second = Process(tmp_path / "d")
    code, text = second.end()
    assert code == 2
    assert f"pid {server.process.pid}" in text
    code, text = server.terminate()
    assert code == 0, text
    log = sqlite3.connect(tmp_path / "d" / "log.db")
    newer = "select count(*) from event where seq > (select max(seq) from snapshot)"
    assert log.execute(newer).fetchone() == (0,)  # the last snapshot covers all
    log.close()


def test_what_is_queued_when_the_server_is_asked_to_stop_is_learnt(tmp_path):
    with Running(tmp_path) as server:
        server.create("m", {"columns": ["a", "b"], "target": "y", "task": "regression"})
        answers = []

        def send(seed):
            with contextlib.suppress(OSError):  # of one that came too late
                answers.append(learn(server, "/models/m", 200, seed)["event"])

        threads = [threading.Thread(target=send, args=(seed,), daemon=True) for seed in range(6)]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + 300
        while server.service.store.log.seq < 1 and time.monotonic() < deadline:
            time.sleep(0.001)
        server._stop()
        for thread in threads:
            thread.join()
    assert answers
    with Running(tmp_path) as again:
        assert again.service.replayed == 0
        assert again.call("GET", "/models/m")[1]["champion"]["rows"] == 200 * len(answers)


def test_a_row_that_the_learner_refuses_after_all_leaves_no_trace(tmp_path, monkeypatch):
    with Running(tmp_path / "a") as server:
        server.create("m")
        learn(server, "/models/m", 30)
        before = server.file("m")
        run = learning._run

        def refuse(model, batch):
            found = run(model, batch)
            if batch.n == 7:  # after it has learnt the rows: the worst case
                raise ValueError("no such rows")
            return found

        monkeypatch.setattr(learning, "_run", refuse)
        found, labels = rows(7, 1)
        status, answer = server.call("POST", "/models/m/learn", {"rows": found, "labels": labels})
        assert status == 422
        assert "no such rows" in answer["error"]
        assert server.file("m") == before
        assert server.call("POST", "/models/m/keys/new/learn", {"rows": found, "labels": labels})[0] == 422
        assert server.call("GET", "/models/m/keys")[1] == {"keys": [], "count": 0}
        assert learn(server, "/models/m", 8)["row"] == 38
        expected = server.file("m")
        left = after_a_crash(server, tmp_path / "b")
    with Running(left) as again:
        assert again.file("m") == expected


def test_a_full_log_refuses_learning_with_507_and_predictions_go_on(tmp_path):
    with Running(tmp_path, log_bytes=600_000, answers_for=1.0) as server:
        server.create(
            "m", {"columns": [f"x{j}" for j in range(50)], "target": "y", "task": "regression", "learner": "fogd"}
        )
        body = {"rows": [[0.5] * 50] * 400, "labels": [1.0] * 400}
        seen = set()
        acknowledged = 0
        for k in range(30):
            status, answer = server.call("POST", "/models/m/learn", body, headers={"Idempotency-Key": f"k{k}"})
            seen.add(status)
            acknowledged += 400 * (status == 200)
            assert status in (200, 507), answer
            if status == 507:
                assert server.call("POST", "/models/m/predict", {"rows": [[0.1] * 50]})[0] == 200
                assert server.call("GET", "/readyz")[0] == 200
        assert seen == {200, 507}
        assert server.call("GET", "/models/m")[1]["champion"]["rows"] == acknowledged
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:  # there is room again when snapshots have taken the place of events
            status, answer = server.call("POST", "/models/m/learn", {"rows": [[0.5] * 50], "labels": [1.0]})
            if status == 200:
                break
            time.sleep(0.1)
        assert answer["row"] == acknowledged + 1


def test_a_full_transaction_writes_nothing(tmp_path):
    log = Log(tmp_path, most=200_000)
    with log.transaction():
        log.append(1, None, "learn", b"first", 0.0)

    def append_too_much():
        with log.transaction():
            log.append(1, None, "learn", b"second", 0.0)
            log.append(1, None, "learn", bytes(400_000), 0.0)

    with pytest.raises(Full):
        append_too_much()
    assert log.seq == 1
    assert [row[5] for row in log.select("event")] == [b"first"]
    with log.transaction():
        assert log.append(1, None, "learn", b"third", 0.0) == 2
    log.close()


def mounted(folder):
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("this process may not mount a small file system")


def test_a_full_disk_refuses_learning_and_takes_it_up_again_when_there_is_room(tmp_path):
    disk = tmp_path / "disk"
    mounted(disk)
    try:
        with Running(disk / "d") as server:
            server.create("m", {**CONFIG, "learner": "fogd", "settings": {"dim": 20}})
            assert learn(server, "/models/m", 10)["row"] == 10
            filler = disk / "filler"
            with open(filler, "wb", buffering=0) as file, contextlib.suppress(OSError):
                while file.write(bytes(4096)):
                    pass
            found, labels = rows(2000, 1)
            status = 200
            row = 10
            for _ in range(40):
                status, answer = server.call("POST", "/models/m/learn", {"rows": found, "labels": labels})
                if status != 200:
                    break
                row = answer["row"]
            assert status == 507
            assert server.call("POST", "/models/m/predict", {"rows": found[:1]})[0] == 200
            filler.unlink()
            assert learn(server, "/models/m", 5, seed=2)["row"] == row + 5
        with Running(disk / "d") as again:
            assert again.call("GET", "/models/m")[1]["champion"]["rows"] == row + 5
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_failing_disk_ends_the_process_and_a_restart_has_all_that_was_acknowledged(tmp_path):
    """A write beyond the largest file size is an error of the disk to SQLite, not one of room."""
    import resource

    server = Process(tmp_path / "d")
    server.create("m")
    assert learn(server, "/models/m", 10)["row"] == 10
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (20_000, 20_000))
    found, labels = rows(3000, 1)
    refused = False
    for _ in range(20):
        try:
            assert server.call("POST", "/models/m/learn", {"rows": found, "labels": labels})[0] == 200
        except (OSError, http.client.HTTPException):  # no answer
            refused = True
            break
    assert refused
    code, text = server.end()
    assert code == 3
    assert "the writer stopped" in text
    with Running(tmp_path / "d") as again:
        assert again.call("GET", "/models/m")[1]["champion"]["rows"] % 3000 == 10


def test_keyed_models_that_give_way_come_back_bit_for_bit(tmp_path):
    with Running(tmp_path / "small", memory=1) as tight, Running(tmp_path / "large") as wide:
        for server in (tight, wide):
            server.create("m")
            for seed in range(24):
                learn(server, f"/models/m/keys/k{seed % 6}", 3, seed)
        assert len(tight.service.store.keyed) == 1
        assert tight.service.store.keyed.brought >= 12
        assert len(wide.service.store.keyed) == 6
        for k in range(6):
            assert tight.file(f"m/keys/k{k}") == wide.file(f"m/keys/k{k}")
        names = [found["key"] for found in tight.call("GET", "/models/m/keys")[1]["keys"]]
        assert names == [f"k{k}" for k in range(6)]
        assert tight.call("GET", "/models/m/keys?after=k3&most=1")[1]["keys"] == [{"key": "k4", "rows": 12}]
        left = after_a_crash(tight, tmp_path / "after")
    with Running(left, memory=1) as again, Running(tmp_path / "large") as wide:
        for k in range(6):
            assert again.file(f"m/keys/k{k}") == wide.file(f"m/keys/k{k}")
        assert again.call("DELETE", "/models/m/keys/k1?confirm=k1")[0] == 200
        assert again.call("GET", "/models/m/keys/k1")[0] == 404
        assert learn(again, "/models/m/keys/k1", 2)["row"] == 2


def test_a_large_snapshot_is_written_aside_and_nothing_is_lost_meanwhile(tmp_path, monkeypatch):
    monkeypatch.setattr("nystream.serve.checkpoints.LARGE", 0.0)
    with Running(tmp_path / "a", replay=0.001, retention=Retention(every=0.1)) as server:
        server.create("m")
        checkpoints = server.service.writer.checkpoints
        for seed in range(2000):  # until there are some, however slow the machine
            learn(server, "/models/m", 5, seed)
            if seed >= 40 and checkpoints.taken > 1:
                break
        assert checkpoints.taken > 1
        expected = server.file("m")
        left = after_a_crash(server, tmp_path / "b")
    with Running(left) as again:
        assert again.file("m") == expected


def test_open_predictions_are_bounded_in_number_and_in_age(tmp_path):
    with Running(tmp_path, limits=Limits(open_labels=3, open_age=3600.0)) as server:
        server.create("m")
        learn(server, "/models/m", 3)
        for k in range(5):
            server.post("/models/m/predict", {"row": {"a": 1.0, "b": float(k)}, "ids": [f"i{k}"]})
        assert server.call("GET", "/models/m")[1]["open_labels"] == 3
        assert server.call("POST", "/models/m/label", {"id": "i1", "label": 1.0})[0] == 404
        assert server.post("/models/m/label", {"id": "i4", "label": 1.0})["row"] == 4
        server.service.store.log._started -= 7200.0  # two hours have passed
        server.post("/models/m/snapshots", {})
        assert server.call("GET", "/models/m")[1]["open_labels"] == 0


def test_a_backup_that_was_taken_while_serving_is_a_whole_server(tmp_path):
    with Running(tmp_path / "d") as server:
        server.create("m")
        learn(server, "/models/m", 9)
        learn(server, "/models/m/keys/k", 4)
        first = learn(server, "/models/m", 3, seed=1, verb="step", key="once")
        expected = server.file("m"), server.file("m/keys/k")
        place = server.post("/backup", {})["backup"]
        learn(server, "/models/m", 50, seed=2)
        server.call("DELETE", "/models/m?confirm=m")
    shutil.copytree(place, tmp_path / "restored")
    with Running(tmp_path / "restored") as again:
        assert (again.file("m"), again.file("m/keys/k")) == expected
        assert learn(again, "/models/m", 3, seed=1, verb="step", key="once") == first


def test_a_backup_that_cannot_be_made_says_why_and_leaves_nothing_behind(tmp_path, monkeypatch):
    with Running(tmp_path) as server:
        server.create("m")
        learn(server, "/models/m", 9)
        server.post("/models/m/snapshots", {})
        (file,) = (tmp_path / "snapshots").iterdir()
        file.rename(tmp_path / "elsewhere")
        status, answer = server.call("POST", "/backup")
        assert (status, file.name in answer["error"], "No such file" in answer["error"]) == (409, True, True)
        assert list((tmp_path / "backups").iterdir()) == []
        (tmp_path / "elsewhere").rename(file)
        assert server.call("POST", "/backup")[0] == 201


def test_rows_come_back_as_they_were_packed():
    rng = np.random.default_rng(0)
    kinds = {"a": "number", "town": "category", "when": "time", "b": "boolean"}
    words, times = {"town": ["Ulm", None, "Bonn"]}, {"when": [1, 2, np.iinfo(np.int64).min]}
    batch = LoggedRows(
        batch_of(rng.normal(size=(3, 2)), words, times, kinds),
        labels=["x", None, "y"],
        weights=np.array([1.0, 0.0, 2.0]),
        predictions=["x", None, "x"],
        piece=32,
    )
    again = LoggedRows.unpack(batch.pack(), kinds)
    assert again.pack() == batch.pack()
    assert count_rows(batch.pack()) == 3
    assert (again.labels, again.predictions, again.piece) == (batch.labels, batch.predictions, 32)
    assert again.inputs.kinds == kinds
    for name, values in batch.inputs.columns.items():
        np.testing.assert_array_equal(again.inputs.columns[name], values)
    np.testing.assert_array_equal(again.numbers, batch.numbers)
    joined = LoggedRows.joined([batch.part(slice(0, 1)), batch.part(slice(2, 3))])
    assert joined.inputs.columns["town"].tolist() == ["Ulm", "Bonn"]
    assert joined.predictions == ["x", "x"]
    with pytest.raises(ValueError, match="other columns than their model"):
        LoggedRows.unpack(batch.pack(), {**kinds, "c": "number"})


def test_a_folder_of_a_later_version_is_refused(tmp_path):
    log = Log(tmp_path)
    log.db.execute("pragma user_version=99")
    log.close()
    with pytest.raises(ValueError, match="upgrade nystream"):
        Log(tmp_path)


def test_idempotency_keys_are_bounded_in_number(tmp_path):
    with Running(tmp_path, limits=Limits(answers=5)) as server:
        server.create("m")
        for k in range(12):
            learn(server, "/models/m", 1, seed=k, key=f"k{k}")
        server.post("/models/m/snapshots", {})  # the time when old ones go
        assert learn(server, "/models/m", 1, seed=11, key="k11")["row"] == 12  # known: learnt once
        assert learn(server, "/models/m", 1, seed=0, key="k0")["row"] == 13  # forgotten: learnt again
        assert server.service.store.log.run("select count(*) from answer").fetchone()[0] <= 6


def test_no_request_ends_the_process(tmp_path):
    server = Process(tmp_path / "d")
    server.create("c", {"columns": ["a"], "task": "classification", "learner": "pkrr"})
    server.post("/models/c/learn", {"rows": [[1.0], [2.0]], "labels": [1, 2]})
    status, answer = server.call("POST", "/models/c/learn", {"rows": [[1.0]], "labels": [1e300]})
    assert status == 422
    assert "too large for the name of a class" in answer["error"]
    server.create("two", {"columns": ["a"], "target": ["p", "q"], "task": "regression", "learner": "pkrr"})
    server.post("/models/two/learn", {"rows": [[1.0], [2.0]], "labels": [[1.0, 2.0], [2.0, 1.0]]})
    status, answer = server.call("PUT", "/models/two/challengers/c", {"learner": "ons"})
    assert status == 422
    assert "one output" in answer["error"]
    assert server.post("/models/c/learn", {"rows": [[1.0]], "labels": [1]})["row"] == 3
    assert server.post("/models/two/learn", {"rows": [[1.0]], "labels": [[1.0, 2.0]]})["row"] == 3
    assert server.terminate()[0] == 0


def fail_when(monkeypatch, place, name, condition, error):
    """Let a function raise when `condition` holds for its arguments."""
    working = getattr(place, name)

    def fail(*arguments, **named):
        found = working(*arguments, **named)
        if condition(*arguments):
            raise error
        return found

    monkeypatch.setattr(place, name, fail)


@pytest.mark.parametrize("error", [RuntimeError("deep"), MemoryError("no memory"), KeyError("x"), OSError("odd")])
def test_an_unexpected_failure_is_a_500_with_an_id_and_changes_nothing(tmp_path, monkeypatch, caplog, error):
    with Running(tmp_path / "a") as server:
        server.create("m")
        server.create("other")
        learn(server, "/models/m", 30)
        server.call("PUT", "/models/m/challengers/c", {"copy": True})
        before = server.file("m")
        fail_when(monkeypatch, learning, "_run", lambda model, batch: batch.n == 7, error)
        found, labels = rows(7, 1)
        status, answer = server.call("POST", "/models/m/learn", {"rows": found, "labels": labels})
        assert status == 500
        id = answer["error"].rpartition(" ")[2]
        assert any(id in record.getMessage() and record.exc_info for record in caplog.records)
        assert server.file("m") == before
        assert learn(server, "/models/other", 3)["row"] == 3
        assert learn(server, "/models/m", 8)["row"] == 38
        expected = server.file("m")
        left = after_a_crash(server, tmp_path / "b")
    with Running(left) as again:
        assert again.file("m") == expected
        assert again.call("GET", "/models/m")[1]["champion"]["rows"] == 38


def test_a_failure_before_the_commit_leaves_the_others_of_its_group_alone(tmp_path, monkeypatch):
    with Running(tmp_path / "a") as server:
        server.create("m")
        learn(server, "/models/m", 5)
        fail_when(monkeypatch, LoggedRows, "pack", lambda batch: batch.n == 7, RuntimeError("cannot be packed"))
        statuses = []

        def send(n):
            found, labels = rows(n, n)
            statuses.append((n, server.call("POST", "/models/m/learn", {"rows": found, "labels": labels})[0]))

        threads = [threading.Thread(target=send, args=(n,), daemon=True) for n in (7, 1, 2, 7, 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(statuses) == [(1, 200), (2, 200), (3, 200), (7, 500), (7, 500)]
        assert server.call("GET", "/models/m")[1]["champion"]["rows"] == 11
        expected = server.file("m")
        left = after_a_crash(server, tmp_path / "b")
    with Running(left) as again:
        assert again.file("m") == expected


@pytest.mark.parametrize("error", [MemoryError("no memory"), RuntimeError("odd")])
def test_a_transaction_that_fails_refuses_its_requests_and_ends_nothing(tmp_path, monkeypatch, error):
    with Running(tmp_path / "a") as server:
        server.create("m")
        learn(server, "/models/m", 5)
        fail_when(monkeypatch, Log, "_write_new", lambda log: bool(log.open_events), error)
        found, labels = rows(7, 1)
        body = {"rows": found, "labels": labels}
        status, answer = server.call("POST", "/models/m/learn", body, headers={"Idempotency-Key": "k"})
        assert status == 500
        assert "failed during writing to the log" in answer["error"]
        monkeypatch.undo()
        assert learn(server, "/models/m", 7, 1, key="k")["row"] == 12
        assert server.service.writer.depth == 0
        expected = server.file("m")
        left = after_a_crash(server, tmp_path / "b")
    with Running(left) as again:
        assert again.file("m") == expected


def test_a_snapshot_for_which_there_is_no_room_is_refused(tmp_path, monkeypatch):
    with Running(tmp_path) as server:
        server.create("m", {**CONFIG, "standardize": False})
        learn(server, "/models/m", 5)
        snapshot = server.post("/models/m/snapshots", {})["snapshot"]["id"]
        learn(server, "/models/m", 5, seed=1)
        found, labels = rows(5)

        def full(path, content):
            raise Full("no room")

        monkeypatch.setattr("nystream.serve.store.write_durably", full)
        for path, body in [("snapshots", {}), ("rollback", {"snapshot": snapshot})]:
            status, answer = server.call("POST", f"/models/m/{path}", body)
            assert (status, "no room" in answer["error"]) == (507, True), path
        unlearn = ("/models/m/unlearn", {"rows": found, "labels": labels, "drop_snapshots": True})
        status, answer = server.call("POST", *unlearn, headers={"Idempotency-Key": "forget"})
        assert (status, "the rows are forgotten, but there is no room" in answer["error"]) == (507, True)
        monkeypatch.undo()
        assert len(server.call("GET", "/models/m/snapshots")[1]["snapshots"]) == 1
        assert server.post(*unlearn, "forget")["row"] == 5
        (left,) = server.call("GET", "/models/m/snapshots")[1]["snapshots"]
        assert (left["rows"], left["id"] != snapshot) == (5, True)


def test_what_a_transaction_has_not_written_yet_is_seen_and_given_up_like_the_rest(tmp_path):
    log = Log(tmp_path)
    with log.transaction():
        log.add_model(1)
        for k in range(150):
            log.promise(f"k{k}", log.append(1, None, "learn", b"%d" % k, 0.0), b"digest")
        assert log.answered("k149") == (150, b"digest", None)
        for only_appends in (True, False):
            with pytest.raises(ValueError), log.savepoint(only_appends=only_appends):  # noqa: PT011, PT012
                log.promise("never", log.append(1, None, "learn", b"never", 0.0), b"")
                raise ValueError
        assert (log.seq, log.answered("never")) == (150, None)
        with log.savepoint(only_appends=True):
            log.append(1, None, "learn", b"last", 0.0)
        assert len(log.events_of(1, 149)) == 2
    assert [row[5] for row in log.events_of(1, 0)] == [*(b"%d" % k for k in range(150)), b"last"]
    log.check_chain(1)
    with pytest.raises(ValueError), log.transaction():  # noqa: PT011, PT012
        log.append(1, None, "learn", b"never", 0.0)
        raise ValueError
    with log.transaction():
        log.note(1, "created", "{}", 0.0)
    assert (log.seq, len(log.events_of(1, 0))) == (151, 151)
    log.close()


def test_a_failing_rare_command_leaves_the_model_as_the_log_has_it(tmp_path, monkeypatch):
    with Running(tmp_path / "a") as server:
        server.create("m")
        learn(server, "/models/m", 20)
        snapshot = server.post("/models/m/snapshots", {})["snapshot"]["id"]
        learn(server, "/models/m", 20, seed=1)
        before = server.file("m")
        fail_when(monkeypatch, learning, "versions", lambda: True, RuntimeError("no versions"))
        for method, path, body in [
            ("POST", "/models/m/rollback", {"snapshot": snapshot}),
            ("PUT", "/models/m/challengers/c", {"copy": True}),
            ("POST", "/models/m/snapshots", {}),
        ]:
            status, answer = server.call(method, path, body)
            assert status == 500, (path, answer)
        monkeypatch.undo()
        assert server.file("m") == before
        assert server.call("GET", "/models/m")[1]["challengers"] == []
        assert learn(server, "/models/m", 5, seed=2)["row"] == 45
