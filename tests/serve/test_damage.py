"""Damage on the disk: every flipped byte is found or changes nothing, and a damaged model never stops the others."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from serving import Running, after_a_crash, fill_two_models, learn

from nystream.serve import Retention, learning
from nystream.serve.log import Damaged, Log, checksum
from nystream.serve.repair import repair
from nystream.serve.rows import count_rows
from nystream.serve.store import load_within
from nystream.serve.verify import verify
from nystream.serve.wal import mend_wal, read_wal

NEVER = Retention(every=1e12)


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """The folder of a server that was killed."""
    folder = tmp_path_factory.mktemp("killed")
    with Running(folder / "a", replay=600.0, retention=NEVER) as server:
        fill_two_models(server)
        left = after_a_crash(server, folder / "b")
        return left, served(server)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """The folder of a server that ended by itself."""
    folder = tmp_path_factory.mktemp("stopped")
    with Running(folder / "a", replay=600.0, retention=NEVER) as server:
        fill_two_models(server)
        found = served(server)
    return folder / "a", found


def served(server):
    """All that a server gives of its models; of one that is quarantined None."""
    found = {}
    for name in ("m", "other"):
        status, described = server.call("GET", f"/models/{name}")
        if status != 200 or described["state"] != "ready":
            found[name] = None
            continue
        row = {"row": {"a": 1.0, "b": 2.0}}
        found[name] = (
            server.file(name),
            server.raw("GET", f"/models/{name}/keys/k/file")[1],
            server.post(f"/models/{name}/predict", row)["predictions"],
            described["open_labels"],
            described["keys"],
        )
    return found


def test_a_folder_that_is_whole_has_no_findings(killed, stopped, tmp_path):
    for k, (folder, expected) in enumerate((killed, stopped)):
        with Running(shutil.copytree(folder, tmp_path / str(k))) as server:
            assert server.service.store.findings == []
            assert served(server) == expected


@pytest.mark.parametrize("kind", ["killed", "stopped"])
@pytest.mark.parametrize("file", ["log.db", "log.db-wal", "witness", "snapshots"])
def test_a_flipped_byte_is_found_or_changes_nothing(kind, file, request, tmp_path):
    folder, expected = request.getfixturevalue(kind)
    if not (folder / file).exists():
        pytest.skip(f"a {kind} server leaves no {file}")
    rng = random.Random(f"{kind} {file}")
    found = 0
    for k in range(12):
        copy = shutil.copytree(folder, tmp_path / str(k))
        path = rng.choice(sorted((copy / file).iterdir())) if file == "snapshots" else copy / file
        content = bytearray(path.read_bytes())
        place = rng.randrange(len(content))
        content[place] ^= 1 << rng.randrange(8)
        path.write_bytes(content)
        with Running(copy) as server:
            after, findings = served(server), list(server.service.store.findings)
        changed = [name for name in expected if after[name] != expected[name]]
        assert all(after[name] is None for name in changed), (
            path.name,
            place,
            "a model is served that is not the same",
        )
        assert findings or not changed
        found += bool(findings)
        if kind == "stopped" and file == "log.db":
            assert findings, place
    assert found >= (12 if file == "witness" else 1)


@pytest.mark.parametrize("file", ["log.db", "log.db-wal"])
def test_a_truncated_log_is_found(killed, tmp_path, file):
    folder, expected = killed
    size = (folder / file).stat().st_size
    for k, cut in enumerate((size // 3, size // 2, size - 5000, size - 1)):
        copy = shutil.copytree(folder, tmp_path / str(k))
        with open(copy / file, "rb+") as log:
            log.truncate(cut)
        with Running(copy) as server:
            after = served(server)
            assert after == expected or server.service.store.findings
            assert all(found in (None, expected[name]) for name, found in after.items())


def test_a_log_that_is_cut_off_is_salvaged_though_it_cannot_be_opened(stopped, tmp_path):
    folder, expected = stopped
    size, page = (folder / "log.db").stat().st_size, 4096
    unopened = 0
    for k, pages in enumerate((2, size // page // 2, size // page - 3)):
        copy = shutil.copytree(folder, tmp_path / str(k))
        os.truncate(copy / "log.db", pages * page)
        try:
            Log(copy).close()
        except sqlite3.DatabaseError:
            unopened += 1
        report = verify(copy)
        assert not report.is_good
        with Running(copy) as server:
            assert server.service.store.findings
            assert all(found in (None, expected[name]) for name, found in served(server).items())
    assert unopened


def test_a_model_of_which_an_event_is_missing_is_quarantined_and_the_other_served(killed, tmp_path):
    folder, expected = killed
    copy = shutil.copytree(folder, tmp_path / "d")
    log = sqlite3.connect(copy / "log.db")
    model = log.execute("select id from model where name = 'm'").fetchone()[0]
    seqs = [
        seq for (seq,) in log.execute("select seq from event where model = ? and key is null order by seq", (model,))
    ]
    log.execute("delete from event where seq = ?", (seqs[-2],))
    log.commit()
    log.close()
    with Running(copy) as server:
        described = server.call("GET", "/models/m")[1]
        assert described["state"] == "quarantined"
        assert f"event {seqs[-2]} is missing" in described["reason"]
        assert served(server) == {**expected, "m": None}
        status, answer = server.call("POST", "/models/m/predict", {"row": {"a": 1, "b": 2}})
        assert (status, "quarantined" in answer["error"]) == (409, True)
        assert server.call("PUT", "/models/m", {})[0] == 409
        assert server.call("GET", "/readyz")[1]["quarantined"] == ["m"]
        listed = {model["name"]: model["state"] for model in server.call("GET", "/models")[1]["models"]}
        assert listed == {"m": "quarantined", "other": "ready"}
        assert learn(server, "/models/other", 3)["row"] == 43


def test_a_log_that_is_older_than_its_witness_has_lost_rows(tmp_path):
    with Running(tmp_path / "a") as server:
        server.create("m")
        server.create("other")
        learn(server, "/models/m", 5)
        old = after_a_crash(server, tmp_path / "old")
        learn(server, "/models/m", 5, seed=1)
        new = after_a_crash(server, tmp_path / "new")
    shutil.copy(new / "witness", old / "witness")
    with Running(old) as server:
        assert "was acknowledged, and the log ends at" in server.call("GET", "/models/m")[1]["reason"]
        assert learn(server, "/models/other", 3)["row"] == 3


def test_a_snapshot_that_is_newer_than_the_log_is_proof_of_loss_and_a_stray_is_set_aside(tmp_path):
    with Running(tmp_path / "a") as server:
        server.create("m")
        server.create("other")
        learn(server, "/models/m", 5)
        left = after_a_crash(server, tmp_path / "b")
    with Running(shutil.copytree(left, tmp_path / "c")) as server:
        part = server.service.store.models.find("m").champion.id
        expected = server.file("m")
    for seq, name in ((1, "stray"), (99, "newer")):
        copy = shutil.copytree(left, tmp_path / name)
        (copy / "snapshots" / f"{part}-{seq}-abc.nys").write_bytes(expected)
        (copy / "snapshots" / "notes.txt").write_text("mine")
        with Running(copy) as server:
            described = server.call("GET", "/models/m")[1]
            assert (described["state"] == "quarantined") == (name == "newer")
            assert (copy / "lost" / "notes.txt").read_text() == "mine"
            assert server.call("GET", "/models/other")[1]["state"] == "ready"
            if name == "stray":
                assert (copy / "lost" / f"{part}-{seq}-abc.nys").exists()
                assert server.file("m") == expected
            else:
                assert "acknowledged rows are lost" in described["reason"]


def test_a_damaged_snapshot_gives_way_to_an_older_one_and_the_log(tmp_path):
    with Running(tmp_path / "a", replay=600.0, retention=NEVER) as server:
        server.create("m")
        for seed in range(3):
            learn(server, "/models/m", 10, seed)
            server.post("/models/m/snapshots", {})
        expected = server.file("m")
    newest = max((tmp_path / "a" / "snapshots").iterdir(), key=lambda path: int(path.name.split("-")[1]))
    newest.write_bytes(newest.read_bytes()[:-1] + b"x")
    with Running(tmp_path / "a", replay=600.0, retention=NEVER) as server:
        assert server.file("m") == expected
        assert any(newest.name in finding for finding in server.service.store.findings)
        assert server.service.replayed == 1
    for path in (tmp_path / "a" / "snapshots").iterdir():
        path.write_bytes(b"nothing")
    with Running(tmp_path / "a") as server:
        assert "not in the log any more" in server.call("GET", "/models/m")[1]["reason"]


@pytest.mark.parametrize("error", [MemoryError("no memory"), ValueError("odd"), RuntimeError("deep")])
def test_an_event_that_fails_in_the_replay_stops_its_model_and_stays_in_the_log(killed, tmp_path, monkeypatch, error):
    folder, expected = killed
    copy = shutil.copytree(folder, tmp_path / "d")
    run, calls = learning._run, []

    def fail(model, batch):
        calls.append(batch.n)
        if len(calls) == 3:
            raise error
        return run(model, batch)

    with monkeypatch.context() as patch:
        patch.setattr(learning, "_run", fail)
        with Running(copy) as server:
            states = {name: server.call("GET", f"/models/{name}")[1]["state"] for name in ("m", "other")}
            assert sorted(states.values()) == ["quarantined", "ready"]
            (stopped,) = [name for name, state in states.items() if state == "quarantined"]
            assert "acknowledged, cannot be learnt again" in server.call("GET", f"/models/{stopped}")[1]["reason"]
    with Running(copy) as server:  # nothing was dropped
        assert served(server) == expected


def test_repair_gives_up_the_events_that_cannot_be_learnt_again_whatever_the_words_of_the_error(
    killed, tmp_path, monkeypatch
):
    folder, _ = killed
    copy = shutil.copytree(folder, tmp_path / "d")
    run, refused = learning._run, []

    def fail(model, batch):
        if batch.n in refused:
            raise ValueError("event 7, cannot be learnt again: odd words")
        return run(model, batch)

    monkeypatch.setattr(learning, "_run", fail)
    log = sqlite3.connect(copy / "log.db")
    newest = "select max(s.seq) from snapshot s join part p on s.part = p.id where p.model = event.model"
    bodies = log.execute(f"select body from event where key is null and kind = 'learn' and seq > ({newest})").fetchall()
    log.close()
    refused.append(count_rows(bodies[1][0]))
    said = []
    assert repair(copy, lambda question: True, said.append) == 0
    assert any("is served again" in text for text in said)
    given_up = [json.loads(path.read_bytes()) for path in (copy / "lost").glob("rows-*.json")]
    assert {piece["table"] for pieces in given_up for piece in pieces} == {"event"}
    with Running(copy) as server:
        assert {server.call("GET", f"/models/{name}")[1]["state"] for name in ("m", "other")} == {"ready"}


def test_a_model_that_cannot_be_created_again_is_quarantined_at_the_start(tmp_path):
    with Running(tmp_path / "a") as server:
        server.create("m")
        server.create("other")
        learn(server, "/models/other", 3)
    log = sqlite3.connect(tmp_path / "a" / "log.db")
    row = list(log.execute("select id, name, config, pattern, form, created from model where name = 'm'").fetchone())
    row[4] = '{"columns": 5}'
    log.execute("update model set form = ?, sum = ? where id = ?", (row[4], checksum(row), row[0]))
    log.commit()
    log.close()
    with Running(tmp_path / "a") as server:
        assert server.call("GET", "/models/m")[1]["state"] == "quarantined"
        assert learn(server, "/models/other", 3)["row"] == 6


def test_a_file_that_takes_too_long_to_load_is_damaged(monkeypatch):
    import threading

    end = threading.Event()
    monkeypatch.setattr(learning, "loaded", lambda content: end.wait(20))
    with pytest.raises(Damaged, match=r"within 0.05 s"):
        load_within(b"", 0.05)
    end.set()


def test_every_byte_of_the_wal_is_checked(killed):
    folder, _ = killed
    path = folder / "log.db-wal"
    content = path.read_bytes()
    state = read_wal(path)
    assert state.is_whole
    assert state.frames > 10
    rng = random.Random(1)
    used = 32 + state.frames * (24 + state.page)
    copy = folder.parent / "wal"
    for place in [*range(60), *(rng.randrange(used) for _ in range(60)), used - 1]:
        changed = bytearray(content)
        changed[place] ^= 1 << rng.randrange(8)
        copy.write_bytes(changed)
        found = read_wal(copy)
        assert not found.is_whole, place
        mend_wal(copy, found)
        assert read_wal(copy).is_whole


def test_verify_says_what_is_whole_and_changes_nothing(killed, stopped, tmp_path):
    for k, (folder, _) in enumerate((killed, stopped)):
        copy = shutil.copytree(folder, tmp_path / str(k))
        before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file() and path.name != "lock"}
        report = verify(copy)
        assert report.is_good, report
        assert (report.models, report.snapshots >= 2) == (2, True)
        assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file() and path.name != "lock"} == before


@pytest.mark.parametrize(
    "table", ["model", "part", "event", "answer", "snapshot", "keyed", "waiting", "note", "progress"]
)
def test_verify_finds_a_changed_row_of_every_table(killed, tmp_path, table):
    copy = shutil.copytree(killed[0], tmp_path / "d")
    log = sqlite3.connect(copy / "log.db")
    column = {"model": "created", "part": "first", "snapshot": "rows", "answer": "tick", "waiting": "tick"}.get(table)
    column = column or {"progress": "forgotten"}.get(table, "at")
    first = log.execute(f"select min(rowid) from {table}").fetchone()[0]
    log.execute(f"update {table} set {column} = {column} + 1 where rowid = ?", (first,))
    log.commit()
    log.close()
    report = verify(copy)
    assert any(f"table {table!r}" in text or f"table {table} " in text for text in report.findings), report


@pytest.mark.parametrize("harm", ["event", "newest event", "snapshots", "keyed", "model"])
def test_repair_brings_a_model_back_and_keeps_what_it_gave_up(killed, tmp_path, harm):
    folder, expected = killed
    copy = shutil.copytree(folder, tmp_path / "d")
    log = sqlite3.connect(copy / "log.db")
    id = log.execute("select id from model where name = 'm'").fetchone()[0]
    newest = "select max(s.seq) from snapshot s join part p on s.part = p.id where p.model = event.model"
    of = f"select seq from event where model = ? and key is null and seq > ({newest}) order by seq"
    seqs = [seq for (seq,) in log.execute(of, (id,))]
    assert len(seqs) >= 3
    if harm == "event":
        log.execute("update event set body = x'00' where seq = ?", (seqs[1],))
    elif harm == "newest event":
        log.execute("delete from event where seq = ?", (seqs[-1],))
    elif harm == "keyed":
        log.execute("update keyed set rows = rows + 1 where model = ?", (id,))
        log.execute("insert into quarantine values(?, ?, 0.0, 'x', ?)", (id, id, checksum((id, id, 0.0, "x"))))
    elif harm == "model":
        log.execute("update model set config = '{}' where id = ?", (id,))
    log.commit()
    log.close()
    if harm == "snapshots":
        for path in (copy / "snapshots").glob("1-*"):
            path.write_bytes(b"nothing")
        log = sqlite3.connect(copy / "log.db")
        log.execute("delete from event where seq < ? and model = ?", (seqs[0], id))
        log.commit()
        log.close()
    assert "m" in verify(copy).quarantined
    asked = []
    assert repair(copy, lambda question: bool(asked.append(question)), lambda text: None) == 1  # nobody confirms
    assert len(asked) == 1
    assert "m" in verify(copy).quarantined
    said = []
    assert repair(copy, lambda question: True, said.append) == 0
    report = verify(copy)
    assert not report.quarantined, (said, report)
    with Running(copy) as server:
        after = served(server)
        assert after["other"] == expected["other"]
        if harm == "model":
            assert after["m"] is None
            assert server.call("GET", "/models/m")[0] == 404
        else:
            row = server.call("GET", "/models/m")[1]["champion"]["rows"]
            assert row == {"event": 35, "newest event": 35, "keyed": 40}.get(harm, row)
            assert learn(server, "/models/m", 3)["row"] == row + 3
    assert any((copy / "lost").rglob("*")) or harm == "newest event"
