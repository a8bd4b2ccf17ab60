"""Going back, forgetting, and champions against challengers."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from serving import CONFIG, Running, after_a_crash, learn, rows

from nystream.serve import Retention, learning
from nystream.serve.snapshots import surplus

FORGETS = {**CONFIG, "standardize": False}
HOUR, DAY = 3600.0, 86400.0


@pytest.fixture
def server(tmp_path):
    with Running(tmp_path / "d") as running:
        yield running


def matrix(n, seed):
    found, labels = rows(n, seed)
    return np.array([list(row.values()) for row in found]), np.array(labels)


def timeless(part):
    return {name: value for name, value in part.items() if name != "rows_per_second"}


def test_rolling_back_makes_the_model_what_it_was_and_is_an_event(server, tmp_path):
    server.create("m")
    learn(server, "/models/m", 20)
    first = server.post("/models/m/snapshots", {})["snapshot"]
    then = server.file("m")
    error = server.call("GET", "/models/m")[1]["champion"]["errors"]["error"]
    assert (first["rows"], first["error"]) == (20, error)
    assert set(first["versions"]) == {"nystream", "numpy", "blas"}
    learn(server, "/models/m", 30, seed=1)
    later = server.file("m")
    found, _ = rows(4, 7)
    old = server.post("/models/m/predict", {"rows": found, "snapshot": first["id"]})
    assert old["row"] == 20
    answer = server.post("/models/m/rollback", {"snapshot": first["id"]})
    assert answer["row"] == 20
    assert server.file("m") == then
    assert server.post("/models/m/predict", {"rows": found})["predictions"] == old["predictions"]
    described = server.call("GET", "/models/m")[1]
    assert described["champion"]["errors"]["error"] == error
    assert described["notes"][-1] | {"at": 0} == {
        "at": 0,
        "kind": "rollback",
        "snapshot": first["id"],
        "from_row": 50,
        "row": 20,
    }
    left = after_a_crash(server, tmp_path / "after")
    with Running(left) as again:
        assert again.file("m") == then
        assert again.call("GET", "/models/m")[1]["notes"][-1]["kind"] == "rollback"
        learn(again, "/models/m", 30, seed=1)
        assert again.file("m") == later
        back = [s for s in again.call("GET", "/models/m/snapshots")[1]["snapshots"] if s["rows"] == 50]
        assert back  # going back can be taken back
        again.post("/models/m/rollback", {"snapshot": back[-1]["id"]})
        assert again.file("m") == later


def test_a_snapshot_that_is_not_there_is_refused(server):
    server.create("m")
    learn(server, "/models/m", 3)
    assert server.call("POST", "/models/m/rollback", {"snapshot": 99})[0] == 404
    assert server.call("POST", "/models/m/predict", {"row": {"a": 1, "b": 1}, "snapshot": 99})[0] == 404
    assert server.call("POST", "/models/m/rollback", {"snapshot": "x"})[0] == 422


def test_snapshots_are_kept_by_age():
    now = 40 * DAY + 1800.0
    minutes = [(k, now - 60.0 * k) for k in range(60 * 24 * 35)]
    dropped = set(surplus(minutes, now, Retention()))
    kept = [at for id, at in minutes if id not in dropped]
    ages = sorted(now - at for at in kept)
    assert sum(age <= HOUR for age in ages) == 61
    assert 23 <= sum(HOUR < age <= DAY for age in ages) <= 24
    assert 29 <= sum(DAY < age <= 30 * DAY for age in ages) <= 30
    assert sum(age > 30 * DAY for age in ages) == 0
    assert surplus([(1, 0.0)], now, Retention()) == []  # the newest stays, however old


def test_unlearning_makes_the_model_as_if_it_had_never_seen_the_rows(server, tmp_path):
    server.create("m", FORGETS)
    local = learning.declared(FORGETS)[0]
    learn(server, "/models/m", 20, seed=0)
    learn(server, "/models/m", 5, seed=1)
    local.run(*matrix(20, 0))
    found, labels = rows(5, 1)
    answer = server.post("/models/m/unlearn", {"rows": found, "labels": labels, "drop_snapshots": True}, key="forget")
    assert answer["row"] == 20
    assert (
        server.post("/models/m/unlearn", {"rows": found, "labels": labels, "drop_snapshots": True}, key="forget")
        == answer
    )
    ask, _ = rows(6, 3)
    expected = local.predict(ask)
    np.testing.assert_allclose(server.post("/models/m/predict", {"rows": ask})["predictions"], expected, atol=1e-9)
    assert len(server.call("GET", "/models/m/snapshots")[1]["snapshots"]) == 1
    learn(server, "/models/m", 2, seed=5)
    after = server.file("m")
    with Running(after_a_crash(server, tmp_path / "after")) as again:
        assert again.file("m") == after
    status, answer = server.call("POST", "/models/m/unlearn", {"rows": rows(40, 9)[0], "labels": rows(40, 9)[1]})
    assert status == 422
    assert server.file("m") == after


def test_a_learner_that_cannot_forget_says_which_can(server):
    server.create("m", {**CONFIG, "learner": "fogd", "settings": {"dim": 20}})
    learn(server, "/models/m", 5)
    found, labels = rows(5)
    status, answer = server.call("POST", "/models/m/unlearn", {"rows": found, "labels": labels})
    assert status == 422
    assert "PKRR" in answer["error"]


def test_a_key_can_forget_too(server):
    server.create("m", FORGETS)
    learn(server, "/models/m/keys/ann", 6, seed=0)
    learn(server, "/models/m/keys/ann", 4, seed=1)
    found, labels = rows(4, 1)
    assert server.post("/models/m/keys/ann/unlearn", {"rows": found, "labels": labels})["row"] == 6
    assert server.call("POST", "/models/m/keys/bob/unlearn", {"rows": found, "labels": labels})[0] == 404


def test_challengers_learn_the_same_rows_and_one_request_promotes(server, tmp_path):
    server.create("m")
    learn(server, "/models/m", 10)
    status, answer = server.call("PUT", "/models/m/challengers/small", {"learner": "fogd", "settings": {"dim": 20}})
    assert status == 201, answer
    assert server.call("PUT", "/models/m/challengers/copy", {"copy": True})[0] == 201
    assert server.call("PUT", "/models/m/challengers/copy", {})[0] == 409
    learn(server, "/models/m", 40, seed=1)
    learn(server, "/models/m", 1, seed=2)
    found = server.call("GET", "/models/m/challengers")[1]
    rows_of = {part["name"]: part["rows"] for part in found["challengers"]}
    assert rows_of == {"small": 41, "copy": 51}
    assert all(part["errors"]["rows"] == 41 for part in found["challengers"])
    ask, _ = rows(3, 4)
    before = server.post("/models/m/predict", {"rows": ask})["predictions"]
    left = after_a_crash(server, tmp_path / "after")
    with Running(left) as again:
        recovered = again.call("GET", "/models/m/challengers")[1]["challengers"]
        assert [timeless(part) for part in recovered] == [timeless(part) for part in found["challengers"]]
    assert server.post("/models/m/challengers/small/promote", {})["former"] == "main"
    after = server.post("/models/m/predict", {"rows": ask})
    assert after["row"] == 41
    assert after["predictions"] != before
    assert learn(server, "/models/m", 2, seed=5)["row"] == 43
    described = server.call("GET", "/models/m")[1]
    assert described["champion"]["name"] == "small"
    assert {part["name"]: part["rows"] for part in described["challengers"]} == {"main": 53, "copy": 53}
    expected = server.file("m")
    with Running(after_a_crash(server, tmp_path / "later")) as again:
        assert again.file("m") == expected
        assert again.post("/models/m/challengers/main/promote", {})["champion"] == "main"
        assert again.call("DELETE", "/models/m/challengers/copy")[0] == 200
        assert again.call("POST", "/models/m/challengers/copy/promote", {})[0] == 404


def test_a_challenger_that_fails_stops_alone(server, monkeypatch):
    server.create("m")
    learn(server, "/models/m", 10)
    server.call("PUT", "/models/m/challengers/weak", {"copy": True})
    entry = server.service.store.models.find("m")
    weak = entry.shadows["weak"].model
    run = learning._run

    def fail(model, batch):
        if model is weak:
            raise ValueError("too weak")
        return run(model, batch)

    monkeypatch.setattr(learning, "_run", fail)
    assert learn(server, "/models/m", 5, seed=1)["row"] == 15
    found = server.call("GET", "/models/m")[1]
    assert "too weak" in found["challengers"][0]["broken"]
    assert found["notes"][-1]["cause"] == "challenger"
    assert server.call("POST", "/models/m/challengers/weak/promote", {})[0] == 409
