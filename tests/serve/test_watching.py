"""Seeing how models do: errors and baselines, history, alarms, the event stream, the webhook, metrics, OpenAPI."""

from __future__ import annotations

import http.client
import http.server
import json
import re
import threading
import time

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from serving import CONFIG, Running, learn, rows

from nystream.serve import openapi
from nystream.serve.meters import POINTS, SHARES, Meter
from nystream.serve.routes import TABLE


@pytest.fixture
def server(tmp_path):
    with Running(tmp_path) as running:
        yield running


def test_errors_and_baselines_are_what_they_are_called():
    rng = np.random.default_rng(0)
    y, p = rng.normal(size=(50, 1)) + 3, rng.normal(size=50)
    whole, pieces = Meter("regression", window=20), Meter("regression", window=20)
    whole.update(y, p)
    for i in range(50):
        pieces.update(y[i : i + 1], p[i : i + 1])
    means = [0.0, *[y[:i].mean() for i in range(1, 50)]]
    lasts = [0.0, *y[:-1, 0]]
    for meter in (whole, pieces):
        found = meter.reading()
        assert found["error"] == pytest.approx(np.mean((y[:, 0] - p) ** 2))
        assert found["error_mean"] == pytest.approx(np.mean((y[:, 0] - means) ** 2))
        assert found["error_last"] == pytest.approx(np.mean((y[:, 0] - lasts) ** 2))
        assert found["window"] == pytest.approx(np.mean((y[30:, 0] - p[30:]) ** 2))
        assert found["window_rows"] == 20
    again = Meter.restored(json.loads(json.dumps(whole.state())))
    again.update(y, p)
    whole.update(y, p)
    assert again.reading() == whole.reading()


def test_the_error_of_classes_is_the_share_wrong():
    meter = Meter("classification", window=3)
    meter.update(["a", "a", "b", None, "b"], [None, "a", "a", "a", "b"])
    found = meter.reading()
    assert (found["rows"], found["error"], found["error_mean"], found["error_last"]) == (4, 0.5, 0.75, 0.5)
    assert found["window"] == pytest.approx(1 / 3)


def test_the_history_is_bounded_and_spans_the_whole_life():
    meter = Meter("regression")
    for _ in range(20_000):
        meter.update(np.zeros((1, 1)), [1.0])
        if meter.wants_point:
            meter.point(0.0, 0.0, {})
    line = meter.timeline()
    assert POINTS // 3 < len(line["row"]) < POINTS
    assert line["row"][0] < 500
    assert line["row"][-1] > 19_000
    assert line.pop("relied_on") == {}
    assert {len(column) for column in line.values()} == {len(line["row"])}


def test_the_history_has_the_largest_shares_by_name():
    meter = Meter("regression")
    meter.point(1.0, 0.0, {"importance": {f"c{j}": j / 1000 for j in range(100)}}, 7)
    meter.point(2.0, 0.0, {"importance": {"c0": 0.123456}, "weights": {"e": 1.0}}, 8)
    line = meter.timeline()
    assert line["bytes"] == [7, 8]
    assert line["relied_on"]["weights"] == {"e": [None, 1.0]}
    columns = line["relied_on"]["importance"]
    assert set(columns) == {"c0", *(f"c{j}" for j in range(100 - SHARES, 100))}
    assert (columns["c0"], columns["c99"]) == ([None, 0.1235], [0.099, None])


def test_a_history_without_what_readings_have_now_is_read():
    meter = Meter("regression")
    meter.point(1.0, 0.0, {}, 7)
    state = json.loads(json.dumps(meter.state()))
    state["history"][0].pop()
    again = Meter.restored(state)
    again.point(2.0, 0.0, {}, 8)
    assert again.timeline()["bytes"] == [None, 8]


def test_last_rows_are_cut_to_what_can_be_shown_and_forgotten_with_their_rows(server):
    names = [f"c{j}" for j in range(150)]
    wide = {**dict.fromkeys(names, 1.0), "c0": "x" * 5000}
    server.create("wide", {"columns": dict.fromkeys(names, "number") | {"c0": "text"}, "task": "regression"})
    assert server.call("PUT", "/models/wide/challengers/other", {})[0] == 201  # the automatic learner takes any kind
    server.post("/models/wide/learn", {"row": wide, "label": 1.0})
    (last,) = server.call("GET", "/models/wide")[1]["last_rows"]
    assert len(last["row"]) == 100
    assert last["row"]["c0"] == "x" * 199 + "…"
    server.create("m", {**CONFIG, "standardize": False})
    learn(server, "/models/m", 6)
    found, labels = rows(6)
    assert len(server.call("GET", "/models/m")[1]["last_rows"]) == 6
    server.post("/models/m/unlearn", {"rows": found[:1], "labels": labels[:1]})
    assert server.call("GET", "/models/m")[1]["last_rows"] == []


def test_description_and_history_say_how_a_model_does(server, monkeypatch):
    monkeypatch.setattr("nystream.serve.parts.PAUSE", 1000.0)  # a request is one piece, however busy the machine is
    server.create("m", {"columns": ["a", "b"], "target": "y", "task": "regression"})
    for seed in range(12):
        learn(server, "/models/m", 30, seed)
    found = server.call("GET", "/models/m")[1]
    errors = found["champion"]["errors"]
    assert errors["error"] < errors["error_mean"]
    assert errors["coverage"] is not None
    assert sum(found["relied_on"]["weights"].values()) == pytest.approx(1)
    assert len(found["last_rows"]) == 20
    expected, labels = rows(30, 11)
    last = found["last_rows"][-1]
    assert (last["row"], last["label"]) == (expected[-1], labels[-1])
    history = server.call("GET", "/models/m/history")[1]
    line = history["parts"]["main"]
    assert line["row"][-1] == 360
    assert line["error"][-1] == pytest.approx(errors["error"])
    assert line["relied_on"]["weights"].keys() == found["relied_on"]["weights"].keys()
    for name, share in found["relied_on"]["weights"].items():
        assert line["relied_on"]["weights"][name][-1] == pytest.approx(share, abs=1e-4)
    assert line["bytes"][-1] > 1000
    (listed,) = server.call("GET", "/models")[1]["models"]
    assert (listed["name"], listed["rows"], listed["window"]) == ("m", 360, errors["window"])


class Receiver:
    """A web server that keeps what is posted to it; the first attempt fails."""

    def __enter__(self):
        outer = self
        self.bodies, self.attempts = [], 0

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                outer.attempts += 1
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if outer.attempts > 1:  # kept before it is acknowledged: the test looks as soon as the sender is done
                    outer.bodies.append(json.loads(body))
                self.send_response(500 if outer.attempts == 1 else 200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def heard(server, until, path="/events"):
    """Events of the stream until one of that kind and cause."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=300)
    connection.request("GET", path)
    answer = connection.getresponse()
    assert answer.status == 200
    assert answer.getheader("content-type").startswith("text/event-stream")
    ready = threading.Event()
    found = []

    def listen():
        kind = ""
        while True:
            line = answer.fp.readline().decode()
            if not line:
                break
            ready.set()
            if line.startswith("event: "):
                kind = line[7:].strip()
            elif line.startswith("data: "):
                found.append((kind, json.loads(line[6:])))
                if kind == "alarm" and found[-1][1]["cause"] == until:
                    break
        connection.close()

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    assert ready.wait(300)
    return thread, found


def test_alarms_reach_the_stream_the_metrics_and_the_webhook(tmp_path):
    with Receiver() as receiver:
        with Running(tmp_path, webhook=receiver.url) as server:
            server.create("m", {**CONFIG, "learner": "fogd", "settings": {"dim": 20}, "alarm_error": 50.0})
            thread, found = heard(server, "error")
            for seed in range(2):
                learn(server, "/models/m", 300, seed)
            constant, labels = rows(500, 5)
            server.post("/models/m/learn", {"rows": [{**row, "b": 7.0} for row in constant], "labels": labels})
            server.post("/models/m/learn", {"rows": constant, "labels": labels})
            server.post("/models/m/learn", {"row": {"a": 0.0, "b": 0.0, "new": 1}, "label": 0.0})
            far, labels = rows(400, 6)
            server.post("/models/m/learn", {"rows": far, "labels": [y + 100 for y in labels]})
            thread.join(300)
            assert not thread.is_alive()
            alarms = [body for kind, body in found if kind == "alarm"]
            causes = [(alarm["cause"], alarm["about"], alarm["over"]) for alarm in alarms]
            assert ("constant", "b", False) in causes
            assert ("constant", "b", True) in causes
            assert ("unknown column", "new", False) in causes
            assert ("label", "", False) in causes
            assert ("error", "", False) in causes
            assert all(alarm["model"] == "m" and alarm["message"] for alarm in alarms)
            assert any(kind == "tick" and body["models"][0]["name"] == "m" for kind, body in found)
            metrics = server.raw("GET", "/metrics")[1].decode()
            assert 'nystream_raised_alarms{model="m",part="champion"} 2.0' in metrics
            notes = server.call("GET", "/models/m")[1]
            assert {alarm["cause"] for alarm in notes["champion"]["alarms"]} == {"error", "drift"}
        assert {body["cause"] for body in receiver.bodies} >= {"constant", "label", "error", "unknown column", "drift"}


def test_the_importance_of_columns_is_worked_out_when_asked_for(server):
    server.create("m")
    assert server.call("GET", "/models/m/importance")[0] == 409
    learn(server, "/models/m", 200)
    status, found = server.call("GET", "/models/m/importance")
    assert (status, found["row"]) == (200, 200)
    assert found["importance"].keys() == {"a", "b"}
    assert sum(found["importance"].values()) == pytest.approx(1)
    assert learn(server, "/models/m", 1)["row"] == 201


def test_a_second_whose_numbers_cannot_be_told_is_not_the_last_one(server, monkeypatch, caplog):
    server.create("m")
    bus, failures = server.service.bus, []
    working = bus._tick

    async def fail_once(model):
        if not failures:
            failures.append(model)
            raise RuntimeError("odd")
        return await working(model)

    monkeypatch.setattr(bus, "_tick", fail_once)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=300)
    connection.request("GET", "/events")
    stream = connection.getresponse().fp
    while b"event: tick" not in stream.readline():
        pass
    connection.close()
    assert failures == [None]
    assert any("the numbers for the event stream" in record.getMessage() for record in caplog.records)


def test_a_listener_may_hear_of_one_model_alone(server):
    for name in ("mine", "other"):
        server.create(name, {**CONFIG, "alarm_error": 50.0})
        learn(server, f"/models/{name}", 300)
    thread, found = heard(server, "error", "/events?model=mine")
    deadline = time.monotonic() + 300
    while not any(kind == "tick" for kind, _ in found):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    far, labels = rows(400, 6)
    for name in ("other", "mine"):
        server.post(f"/models/{name}/learn", {"rows": far, "labels": [y + 100 for y in labels]})
    thread.join(300)
    assert not thread.is_alive()
    assert {body["model"] for kind, body in found if kind == "alarm"} == {"mine"}
    ticks = [body["models"] for kind, body in found if kind == "tick"]
    assert ticks
    assert all([model["name"] for model in models] == ["mine"] for models in ticks)


def test_a_column_that_went_missing_is_told(server):
    server.create("m", {"columns": ["a", "b"], "target": "y", "task": "regression"})
    found, labels = rows(500)
    for b in (True, False):
        some = [row if b else {"a": row["a"]} for row in found]
        server.post("/models/m/learn", {"rows": some, "labels": labels})
    notes = server.call("GET", "/models/m")[1]["notes"]
    assert ("alarm", "missing", "b") in [(note["kind"], note.get("cause"), note.get("about")) for note in notes]


def test_metrics_are_prometheus_text(server):
    server.create("m")
    learn(server, "/models/m", 8)
    server.post("/models/m/predict", {"rows": rows(3)[0], "remember": True})
    status, content, headers = server.raw("GET", "/metrics")
    assert (status, headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    values = {}
    for line in content.decode().splitlines():
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            values[name] = float(value)
    assert values['nystream_rows_learnt_total{model="m"}'] == 8
    assert values['nystream_predictions_total{model="m"}'] == 3
    assert values['nystream_open_labels{model="m"}'] == 3
    assert values['nystream_rows{model="m",part="champion"}'] == 8
    assert values['nystream_commit_seconds_bucket{le="+Inf"}'] == values["nystream_commit_seconds_count"] > 0
    assert values["nystream_queue"] == 0
    typed = {line.split()[2] for line in content.decode().splitlines() if line.startswith("# TYPE")}
    stems = {re.sub(r"_(bucket|sum|count)$", "", name.partition("{")[0]) for name in values}
    assert stems <= typed
    assert len(typed - stems) <= 2  # counters that have no reading yet


def test_openapi_describes_exactly_the_routes(server):
    status, found = server.call("GET", "/openapi.json")
    assert status == 200
    assert found == json.loads(json.dumps(openapi.described()))
    described = {
        (method.upper(), path): operation
        for path, operations in found["paths"].items()
        for method, operation in operations.items()
        if method != "parameters"
    }
    routed = {(method, path): role for method, path, _, role in TABLE}
    assert described.keys() == routed.keys()
    for place, operation in described.items():
        assert operation.get("x-role") == routed[place], place
    for path, operations in found["paths"].items():
        names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
        assert [p["name"] for p in operations.get("parameters", [])] == names


def test_a_wrong_path_or_method_is_told(server):
    assert server.call("GET", "/nothing")[0] == 404
    status, answer = server.call("GET", "/models/m/learn")
    assert (status, answer["error"]) == (405, "this path does not take that method")
