"""Replicas follow a server over HTTP, an archive is followed in its own process, and both are equal to the byte."""

from __future__ import annotations

import errno
import time
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from serving import CONFIG, Process, Running, after_a_crash, free_port, learn, rows

from nystream.cli.app import call
from nystream.serve import archive as archives
from nystream.serve import copier, models
from nystream.serve.archive import Moment, restore
from nystream.serve.log import Damaged, Full
from nystream.serve.replication import Record, read_records
from nystream.serve.tokens import added
from nystream.serve.verify import verify

WAIT = 300


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(copier, "PAUSE", 0.01)
    monkeypatch.setattr(copier, "AGAIN", 0.02)


def wait_for(condition):
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def files_of(server, name, *keys):
    return [server.file(name), *(server.file(f"{name}/keys/{key}") for key in keys)]


def wait_until_equal(replica, primary, name, *keys):
    def is_equal():
        paths = [f"/models/{name}/file", *(f"/models/{name}/keys/{key}/file" for key in keys)]
        found = [(replica.raw("GET", path)[:2], primary.raw("GET", path)[:2]) for path in paths]
        return all(mine == other and mine[0] == 200 for mine, other in found)

    wait_for(is_equal)


def fill(server, name):
    server.create(name)
    learn(server, f"/models/{name}", 20, 1, verb="step")
    learn(server, f"/models/{name}/keys/k", 5, 2)
    server.post(f"/models/{name}/predict", {"row": {"a": 1.0, "b": 2.0}, "ids": ["late"]})
    server.post(f"/models/{name}/label", {"id": "late", "label": 1.0})


def test_a_replica_predicts_as_its_primary_and_lets_nobody_change_it(tmp_path):
    with Running(tmp_path / "p") as primary, Running(tmp_path / "r", follow=primary.url) as replica:
        fill(primary, "m")
        primary.create("undeclared", {"target": "y"})
        primary.post("/models/undeclared/learn", {"rows": [{"a": 1.0, "y": 2.0}] * 3})
        wait_until_equal(replica, primary, "m", "k")
        wait_until_equal(replica, primary, "undeclared")
        learn(primary, "/models/m", 30, 3)
        found, labels = rows(3, 4)
        primary.create("forgets", {**CONFIG, "learner": "pkawv", "standardize": False})
        learn(primary, "/models/forgets", 9, 4)
        primary.post("/models/forgets/unlearn", {"rows": found, "labels": labels})
        wait_until_equal(replica, primary, "forgets")
        learn(primary, "/models/m/keys/other", 5, 5)
        wait_until_equal(replica, primary, "m", "k", "other")
        asked = {"rows": found}
        assert (
            replica.post("/models/m/predict", asked)["predictions"]
            == primary.post("/models/m/predict", asked)["predictions"]
        )
        for method, path, body in (
            ("POST", "/models/m/learn", {"rows": found, "labels": labels}),
            ("POST", "/models/m/predict", {"rows": found, "remember": True}),
            ("PUT", "/models/new", {}),
            ("DELETE", "/models/m?confirm=m", None),
            ("POST", "/models/m/snapshots", {}),
        ):
            status, answer = replica.call(method, path, body)
            assert status == 403
            assert primary.url in answer["error"]
        assert replica.call("GET", "/access")[1]["role"] == "read"
        wait_for(lambda: replica.call("GET", "/readyz")[1]["replica"]["lag_events"] == 0)
        text = replica.raw("GET", "/metrics")[1].decode()
        assert 'nystream_replica_lag_events{model="m"} 0.0' in text
        assert "nystream_replica_lag_seconds" in text
        assert primary.call("DELETE", "/models/undeclared?confirm=undeclared")[0] == 200
        wait_for(lambda: replica.call("GET", "/models/undeclared")[0] == 404)


def test_rollback_promotion_and_deleted_keys_reach_the_replica(tmp_path):
    with Running(tmp_path / "p") as primary, Running(tmp_path / "r", follow=primary.url) as replica:
        fill(primary, "m")
        snapshot = primary.post("/models/m/snapshots", {})["snapshot"]["id"]
        learn(primary, "/models/m", 30, 3)
        wait_until_equal(replica, primary, "m", "k")
        primary.post("/models/m/rollback", {"snapshot": snapshot})
        learn(primary, "/models/m", 5, 4)
        wait_until_equal(replica, primary, "m", "k")
        assert primary.call("PUT", "/models/m/challengers/c", {"learner": "ons"})[0] == 201
        learn(primary, "/models/m", 10, 5)
        primary.post("/models/m/challengers/c/promote", {})
        learn(primary, "/models/m", 10, 6)
        wait_until_equal(replica, primary, "m", "k")
        assert primary.call("DELETE", "/models/m/keys/k?confirm=k")[0] == 200
        wait_for(lambda: replica.call("GET", "/models/m/keys/k")[0] == 404)
        learn(primary, "/models/m/keys/k", 4, 7)
        wait_until_equal(replica, primary, "m", "k")
        assert replica.call("GET", "/models/m/keys")[1] == primary.call("GET", "/models/m/keys")[1]


def test_a_replica_that_was_away_goes_on_or_begins_again(tmp_path, monkeypatch):
    """First the primary still has the events that the replica lacks, then it has not."""
    with Running(tmp_path / "p", replay=0.001) as primary:
        with Running(tmp_path / "r", follow=primary.url) as replica:
            fill(primary, "m")
            wait_until_equal(replica, primary, "m", "k")
        learn(primary, "/models/m", 5, 3)
        with Running(tmp_path / "r", follow=primary.url) as replica:
            wait_until_equal(replica, primary, "m", "k")
            assert replica.service.copiers["replica"].states == 0
        monkeypatch.setattr(models, "FOLLOWED", 0.0)
        for seed in range(4):
            learn(primary, "/models/m", 5, 10 + seed)
            primary.post("/models/m/snapshots", {})
        with Running(tmp_path / "r", follow=primary.url) as replica:
            wait_until_equal(replica, primary, "m", "k")
            wait_for(lambda: replica.service.copiers["replica"].states == 1)
    assert verify(tmp_path / "r").is_good


def test_primary_with_workers_and_replica_are_killed_and_the_replica_is_equal_again(tmp_path):
    path = tmp_path / "tokens"
    admin, reader = added(path, "admin"), added(path, "read")
    (tmp_path / "reader").write_text(reader + "\n")
    options = ("--workers", "2", "--tokens", str(path), "--port", str(free_port()))
    primary = Process(tmp_path / "p", *options)
    primary.token = admin
    follow = ("--follow", f"http://127.0.0.1:{primary.port}", "--follow-token", str(tmp_path / "reader"))
    for name in ("m0", "m1", "m2"):
        fill(primary, name)
    replica = Process(tmp_path / "r", *follow)
    for name in ("m0", "m1", "m2"):
        wait_until_equal(replica, primary, name, "k")
    learn(primary, "/models/m0", 40, 8)
    replica.kill()
    learn(primary, "/models/m1", 40, 9)
    replica = Process(tmp_path / "r", *follow)
    learn(primary, "/models/m2", 40, 10, key="last")
    primary.kill()
    asked = {"row": {"a": 1.0, "b": 2.0}}
    assert replica.call("POST", "/models/m0/predict", asked)[0] == 200  # it serves what it has
    primary = Process(tmp_path / "p", *options)
    primary.token = admin
    assert learn(primary, "/models/m2", 40, 10, key="last")["row"] == 61
    for name in ("m0", "m1", "m2"):
        wait_until_equal(replica, primary, name, "k")
    assert replica.terminate()[0] == 0
    assert primary.terminate()[0] == 0
    assert verify(tmp_path / "r").is_good
    code, text = Process(tmp_path / "r2", *follow, "--workers", "2").end()
    assert (code, "one process" in text) == (2, True)


def test_a_replica_that_learnt_alone_is_no_replica_any_more(tmp_path):
    with Running(tmp_path / "p") as primary:
        fill(primary, "m")
        with Running(tmp_path / "r", follow=primary.url) as replica:
            wait_until_equal(replica, primary, "m", "k")
        with Running(tmp_path / "r") as alone:  # it takes the place of the primary
            learn(alone, "/models/m", 5, 3)
        with Running(tmp_path / "r", follow=primary.url) as replica:
            wait_until_equal(replica, primary, "m", "k")


def test_records_that_are_cut_off_or_changed_are_found():
    content = Record({"record": "key", "key": "k"}, b"body").pack() * 2
    assert [record.body for record in read_records(content)] == [b"body"] * 2
    with pytest.raises(Damaged, match="cut off"):
        list(read_records(content[:-1]))
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1
        with pytest.raises(Damaged):
            list(read_records(bytes(changed)))


def restored(archive, folder, name, moment, *keys):
    said: list[str] = []
    assert restore(archive, folder, moment, name, said.append) == 1
    with Running(folder) as server:
        return files_of(server, name, *keys)


def test_any_earlier_moment_is_restored_from_the_archive(tmp_path):
    archive = tmp_path / "archive"
    moments = []
    with Running(tmp_path / "d", archive=archive) as server:
        fill(server, "m")
        snapshot = server.post("/models/m/snapshots", {})["snapshot"]["id"]
        for seed in range(4):
            learn(server, "/models/m", 10, seed)
            learn(server, "/models/m/keys/k", 3, seed)
            moments.append(
                (time.time(), server.call("GET", "/models/m")[1]["champion"]["rows"], files_of(server, "m", "k"))
            )
            time.sleep(0.02)
        server.post("/models/m/rollback", {"snapshot": snapshot})
        learn(server, "/models/m", 5, 9)
        last = files_of(server, "m", "k")
        fill(server, "gone")
        server.call("DELETE", "/models/gone?confirm=gone")
    for k, (at, count, files) in enumerate(moments):
        assert restored(archive, tmp_path / f"t{k}", "m", Moment(time=at), "k") == files
        if k < 3:  # at the last moment the rows of the key came after the last row
            assert restored(archive, tmp_path / f"r{k}", "m", Moment(rows=count + 9), "k") == files
    assert restored(archive, tmp_path / "end", "m", Moment(), "k") == last
    assert restore(archive, tmp_path / "all", Moment(), None, print) == 1
    with pytest.raises(ValueError, match="not empty"):
        restore(archive, tmp_path / "all", Moment(), None, print)


@pytest.mark.parametrize("harm", ["empty", "first", "last"])
def test_a_damaged_segment_of_an_archive_is_named_and_the_other_models_are_restored(tmp_path, harm):
    archive = tmp_path / "archive"
    with Running(tmp_path / "d", archive=archive) as server:
        for name in ("bad", "good"):
            fill(server, name)
        expected = files_of(server, "good", "k")
    (segment,) = (archive / "bad").glob("*.segment")
    content = bytearray(segment.read_bytes())
    content[{"empty": 0, "first": 100, "last": -1}[harm]] ^= 1
    segment.write_bytes(b"" if harm == "empty" else content)
    said: list[str] = []
    with pytest.raises(ValueError, match=rf"{segment.name} is damaged"):
        restore(archive, tmp_path / "back", Moment(), None, said.append)
    assert ["good" in text for text in said] == [True]
    with Running(tmp_path / "back") as server:
        assert files_of(server, "good", "k") == expected


def test_a_command_says_in_one_line_that_there_is_no_room(tmp_path, monkeypatch, capsys):
    def fail(*_):
        raise Full("no room for the log")

    monkeypatch.setattr(archives, "restore", fail)
    assert call(["restore", str(tmp_path), str(tmp_path / "d")]) == 2
    assert capsys.readouterr().err == "nystream: no room for the log\n"


def test_an_archive_goes_on_after_a_crash_and_a_full_disk(tmp_path, monkeypatch):
    archive = tmp_path / "archive"
    with Running(tmp_path / "d", archive=archive) as server:
        fill(server, "m")
        sink = server.service.copiers["archive"]._sink
        wait_for(lambda: sink.position("m") is not None)
        real, fails = archives._append_durably, []

        def full(path, records):
            fails.append(path)
            with path.open("ab") as file:
                file.write(records[0].pack()[:-3])
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(archives, "_append_durably", full)
        learn(server, "/models/m", 10, 1)
        wait_for(lambda: server.call("GET", "/readyz")[1]["archive"]["error"] is not None)
        assert learn(server, "/models/m", 10, 2)["row"] == 41
        monkeypatch.setattr(archives, "_append_durably", real)
        wait_for(lambda: server.call("GET", "/readyz")[1]["archive"]["lag_events"] == 0 and fails)
        crashed = after_a_crash(server, tmp_path / "crashed")
    with Running(crashed, archive=archive) as server:
        learn(server, "/models/m", 10, 3)
        last = files_of(server, "m", "k")
    assert len(list(Path(archive / "m").glob("*.segment"))) <= 2
    assert restored(archive, tmp_path / "end", "m", Moment(), "k") == last


def test_a_new_segment_leaves_no_gap(tmp_path, monkeypatch):
    monkeypatch.setattr("nystream.serve.archive.SEGMENT", 100)
    monkeypatch.setattr("nystream.serve.archive.TIMES", 0)
    archive, seen = tmp_path / "archive", []
    with Running(tmp_path / "d", archive=archive) as server:
        server.create("m")
        wait_for(lambda: any((archive / "m").glob("*.segment")))  # the first segment begins before the first row
        for seed in range(8):
            learn(server, "/models/m", 4, seed)
            seen.append(files_of(server, "m"))
    assert len(list((archive / "m").glob("*.segment"))) > 1
    for k in (0, 3, 6, 7):
        assert restored(archive, tmp_path / str(k), "m", Moment(rows=4 * k + 4)) == seen[k]
