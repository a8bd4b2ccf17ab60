"""Series on the server: created, learnt, forecast and kept."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from serving import Running

import nystream

H, N = 6, 100
CONFIG = {"forecast": {"horizon": H, "time": "when"}, "target": "load"}
TIMES = np.datetime64("2024-01-01T00:00:00") + np.arange(N + H) * np.timedelta64(1, "h")
Y = 10 + np.sin(2 * np.pi * np.arange(N + H) / 24) + 0.1 * np.random.default_rng(0).normal(size=N + H)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Running(tmp_path_factory.mktemp("serve")) as running:
        yield running


def rows(a, b, **more):
    return [
        {"when": str(TIMES[i]), "load": float(Y[i]), **{name: f(i) for name, f in more.items()}} for i in range(a, b)
    ]


def test_forecasts_are_those_of_a_forecaster(server):
    server.create("load", CONFIG)
    status, found = server.call("POST", "/models/load/forecast", {})
    assert (status, "nothing" in found["error"]) == (409, True)
    for a, b in ((0, 1), (1, 30), (30, N)):
        assert server.post("/models/load/learn", {"rows": rows(a, b)})["row"] == b
    f = nystream.Forecaster(H)
    f.run(Y[:N], when=TIMES[:N])
    found = server.post("/models/load/forecast", {"interval": 0.8, "history": 3})
    low, high = f.forecast_interval(0.8)
    assert found["forecast"] == f.forecast().tolist()
    assert (found["low"], found["high"]) == (low.tolist(), high.tolist())
    assert found["times"] == [str(t) for t in TIMES[N:]]
    assert found["history"] == {"labels": Y[N - 3 : N].tolist(), "times": [str(t) for t in TIMES[N - 3 : N]]}
    assert found["row"] == N
    assert 0 < found["score"]["mae"] < found["score"]["naive"]
    assert len(server.post("/models/load/forecast", {"steps": 2})["forecast"]) == 2
    local = nystream.from_bytes(server.file("load"))
    assert local.inner.forecaster_.forecast().tolist() == found["forecast"]


def test_the_prediction_for_a_row_is_the_forecast_for_its_time(server):
    server.create("rows", CONFIG)
    server.post("/models/rows/learn", {"rows": rows(0, 60)})
    made = server.post("/models/rows/forecast", {})["forecast"]
    asked = [{"when": str(TIMES[i])} for i in (60, 62, 59, 66)]
    assert server.post("/models/rows/predict", {"rows": asked})["predictions"] == [made[0], made[2], None, None]


def test_inputs_and_keys(server):
    server.create("sites", CONFIG)
    body = {"rows": rows(0, 60, temp=lambda i: float(i % 5), kind=lambda i: "ab"[i % 2])}
    server.post("/models/sites/learn", body)
    server.post("/models/sites/keys/north/learn", body)
    ahead = [{"temp": float(i % 5), "kind": "ab"[i % 2]} for i in range(60, 60 + H)]
    found = server.post("/models/sites/forecast", {"rows": ahead})
    assert server.post("/models/sites/keys/north/forecast", {"rows": ahead}) == found
    blank = server.post("/models/sites/forecast", {"rows": [{}] * 3})
    assert len(blank["forecast"]) == 3
    for wrong, words in (
        ({}, "rows must be objects with temp, kind"),
        ({"rows": ahead[:2], "steps": 3}, "rows has 2 rows; 3 are needed"),
        ({"rows": [{"tmp": 1.0}]}, "'tmp' is no input"),
    ):
        status, answer = server.call("POST", "/models/sites/forecast", wrong)
        assert status == 422
        assert words in answer["error"]


def test_what_is_refused_changes_nothing(server):
    server.create("strict", CONFIG)
    server.post("/models/strict/learn", {"rows": rows(0, 80)})
    before = server.file("strict")
    late = [*rows(80, 82), rows(10, 11)[0]]
    between = [*rows(80, 81), {"when": "2024-01-05T00:30:00", "load": 1.0}]
    for body in (late, between, [{"load": 1.0}]):
        status, found = server.call("POST", "/models/strict/learn", {"rows": body})
        assert (status, "error" in found) == (422, True), found
    assert server.file("strict") == before
    for body, words in (
        ({"steps": H + 1}, "1 to 6"),
        ({"interval": 90}, "between 0 and 1"),
        ({"history": -1}, "history"),
        ({"stepz": 1}, "'stepz' is not known"),
        ({"rows": [{"temp": 1.0}]}, "has no inputs"),
    ):
        status, found = server.call("POST", "/models/strict/forecast", body)
        assert status == 422
        assert words in found["error"]
    server.create("numbers", {"columns": ["a"], "target": "y", "task": "regression"})
    server.post("/models/numbers/learn", {"rows": [{"a": 1.0, "y": 2.0}]})
    status, found = server.call("POST", "/models/numbers/forecast", {})
    assert (status, "is no series" in found["error"]) == (422, True)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"forecast": {}}, "needs horizon"),
        ({"forecast": {"horizon": 0}}, "horizon"),
        ({"forecast": {"horizon": 10**9}}, "at most 4,096 rows ahead"),
        ({"forecast": {"horizon": 3, "hour": 1}}, "no setting 'hour'"),
        ({"forecast": 24}, "must be an object"),
        ({"forecast": {"horizon": 3}, "learner": "pkrr"}, "leave out forecast or learner"),
    ],
)
def test_bad_configurations_are_refused(server, config, words):
    status, found = server.call("PUT", "/models/bad", config)
    assert status == 422
    assert words in found["error"]
