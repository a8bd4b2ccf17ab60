"""The Python client and `nystream push`."""

from __future__ import annotations

import asyncio
import http.client
import http.server
import subprocess
import sys
import threading
from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httpx")
pa = pytest.importorskip("pyarrow")

from serving import CONFIG, Process, Running

import nystream
from nystream.client import AsyncClient, Client, Refused, RepeatedRows
from nystream.client.blocks import body
from nystream.serve import learning


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Running(tmp_path_factory.mktemp("serve")) as running:
        yield running


def examples(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return {"a": X[:, 0], "b": X[:, 1]}, X, np.sin(X[:, 0]) + X[:, 1]


def test_a_remote_model_is_used_as_a_local_one(server, tmp_path):
    columns, X, y = examples(300)
    local = learning.declared(CONFIG)[0]
    with nystream.Client(server.url) as client:
        model = client.model("remote")
        model.create(CONFIG)
        assert "remote" in client.names()
        p = model.step({"a": 1.0, "b": 2.0}, 3.0)
        assert p == local.step({"a": 1.0, "b": 2.0}, 3.0)
        np.testing.assert_allclose(model.run(columns, y), local.run(X, y), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(model.predict(X[:5]), local.predict(X[:5]), rtol=1e-9, atol=1e-12)
        assert model.learn(pa.table(columns), y) == 601
        answer = model.ask({"a": 0.0, "b": 1.0}, remember=True)
        assert model.label(answer["ids"][0], 1.0) == 602
        assert model.describe()["open_labels"] == 0
        model.download(tmp_path / "m.nys")
        assert nystream.load(tmp_path / "m.nys").n_seen == 602
        client.model("again").create(file=tmp_path / "m.nys")
        assert client.model("again").describe()["champion"]["rows"] == 602
        keyed = client.model("remote", key="a machine: 7?")
        assert keyed.learn(columns, y) == 300
        with pytest.raises(ValueError, match="slash"):
            client.model("remote", key="a/b")
        with pytest.raises(Refused, match="row 0: column 'a' is 'x'") as refusal:
            model.step({"a": "x", "b": 1.0}, 1.0)
        assert refusal.value.status == 422


def test_classes_come_back_by_name(server):
    columns, X, y = examples(200)
    names = np.where(y > 0, "up", "down")
    with Client(server.url) as client:
        model = client.model("classes")
        model.create()
        found = model.run(columns, names)
        assert found[0] is None
        assert np.mean(found[100:] == names[100:]) > 0.8
        assert set(model.predict(X[:10])) <= {"up", "down"}


def test_the_asynchronous_client_does_the_same(server):
    columns, _, y = examples(120)

    async def use():
        async with AsyncClient(server.url) as client:
            model = client.model("awaited")
            await model.create(CONFIG)
            first = await model.step({"a": 1.0, "b": 2.0}, 3.0)
            predictions = await model.run(columns, y)
            row = await model.learn(columns, y)
            answer = await model.ask({"a": 0.0, "b": 1.0}, ids=["mine"])
            row = await model.label("mine", 2.0)
            return first, predictions, row, answer["ids"], await model.predict(columns), await client.models()

    first, predictions, row, ids, asked, models = asyncio.run(use())
    assert (first, row, ids) == (0.0, 242, ["mine"])
    assert predictions.shape == asked.shape == (120,)
    assert "awaited" in [found["name"] for found in models]


class Broken(http.server.BaseHTTPRequestHandler):
    """Passes requests on to a server and drops the first answer: the client cannot know that it was learnt."""

    def do_POST(self):
        content = self.rfile.read(int(self.headers["Content-Length"]))
        to = http.client.HTTPConnection("127.0.0.1", self.server.behind, timeout=300)
        to.request("POST", self.path, content, dict(self.headers))
        answer = to.getresponse()
        found = answer.read()
        to.close()
        self.close_connection = True
        self.server.dropped += 1
        if self.server.dropped > 1:
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.headers["Content-Type"])
            self.end_headers()
            self.wfile.write(found)

    def log_message(self, *_):
        pass


@contextmanager
def broken(port):
    """A server that passes on to the one of that port."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Broken) as proxy:
        proxy.behind, proxy.dropped = port, 0
        thread = threading.Thread(target=proxy.serve_forever)
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()


def test_an_answer_that_got_lost_is_asked_for_again_and_learnt_once(server):
    with Client(server.url) as client:
        client.model("lossy").create(CONFIG)
    with broken(server.port) as proxy, Client(f"http://127.0.0.1:{proxy.server_port}") as client:
        assert client.model("lossy").send([{"a": 1.0, "b": 2.0}], [1.0])["row"] == 1
    assert proxy.dropped == 2
    assert server.call("GET", "/models/lossy")[1]["champion"]["rows"] == 1


def test_a_server_that_is_not_there_is_told():
    with Client("http://127.0.0.1:9", attempts=2) as client, pytest.raises(ConnectionError, match=r"127\.0\.0\.1:9"):
        client.models()


def test_many_rows_go_as_arrow_and_few_as_json():
    columns, X, y = examples(150)
    assert body(columns, y).kind == "application/vnd.apache.arrow.stream"
    assert body(columns, y).query == {"label": "label"}
    assert body({**columns, "label": y}, y, np.ones(150)).query == {"label": "_label", "weight": "weight"}
    few = body([{"a": float("nan"), "b": "x"}], [None])
    assert few.content == b'{"rows": [{"a": null, "b": "x"}], "labels": [null]}'
    assert body(X[:3]).kind == "application/json"


def test_push_sends_a_file_and_prints_predictions(server, tmp_path):
    _, X, y = examples(40)
    file = tmp_path / "rows.csv"
    file.write_text(
        "a,b,y\n" + "".join(f"{a!r},{b!r},{t!r}\n" for (a, b), t in zip(X.tolist(), y.tolist(), strict=True))
    )
    command = [sys.executable, "-m", "nystream.cli.main", "push"]
    done = subprocess.run(
        [*command, str(file), f"{server.url}/pushed", "--block", "16", "-p"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 40
    assert "40 rows" in done.stderr
    assert "pushed has learnt 40 rows" in done.stderr
    found = server.call("GET", "/models/pushed")[1]
    assert found["schema"]["columns"] == {"a": "number", "b": "number"}
    wrong = subprocess.run([*command, str(file), "nowhere"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert "is no URL/NAME" in wrong.stderr


def test_push_sends_tables_as_they_are(server, tmp_path):
    """Dates, words, truth values, holes; labels that are names, some absent."""
    file = tmp_path / "orders.csv"
    rows = [
        (f"2024-05-{1 + i // 24:02d}T{i % 24:02d}:00", "north" if i % 3 else "south", i % 2 == 0) for i in range(60)
    ]
    lines = [f"{when},{shop},{paid},{'' if i % 7 == 3 else i / 10}" for i, (when, shop, paid) in enumerate(rows)]
    file.write_text(
        "when,shop,open,temp,kind\n"
        + "".join(f"{line},{'' if i % 5 == 4 else ('busy' if i % 3 else 'calm')}\n" for i, line in enumerate(lines))
    )
    command = [sys.executable, "-m", "nystream.cli.main", "push", str(file), f"{server.url}/orders", "--block", "16"]
    done = subprocess.run([*command, "--rows", "50"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = server.call("GET", "/models/orders")[1]
    kinds = {"when": "time", "shop": "category", "open": "boolean", "temp": "number"}
    assert found["schema"]["columns"] == kinds
    assert found["schema"]["task"] == "classification"


def test_a_call_that_is_made_again_on_purpose_is_learnt_again(server):
    columns, _, y = examples(150)
    with Client(server.url) as client:
        model = client.model("twice")
        model.create(CONFIG)
        assert model.learn(columns, y) == 150
        assert model.learn(columns, y) == 300
    with Client(server.url) as client:  # the same script once more, say after a crash: nothing is learnt twice
        model = client.model("twice")
        with pytest.warns(RepeatedRows, match="150 of 150 rows had been learnt"):
            assert model.learn(columns, y) == 150
        with pytest.warns(RepeatedRows):
            assert model.learn(columns, y) == 300
        assert model.learn(columns, y) == 450
        assert model.learn(columns, y, key="another pass") == 600
        assert model.learn(columns, y, key="another pass") == 600
        with pytest.raises(Refused, match="used for another request"):
            model.learn(columns, -y, key="another pass")
        step = {"a": 1.0, "b": 2.0}
        assert model.send([step], [1.0])["row"] == 601
        assert model.send([step], [1.0])["row"] == 602  # equal rows of a stream each count
        model.step(step, 1.0, key="reading 7")
        model.step(step, 1.0, key="reading 7")
        assert model.describe()["champion"]["rows"] == 603


def test_a_label_that_is_sent_again_is_learnt_once(server):
    with Client(server.url) as client:
        model = client.model("late")
        model.create(CONFIG)
        model.learn(*rows_and_labels(3))
        model.ask({"a": 0.0, "b": 1.0}, ids=["first"])
        assert model.label("first", 2.0) == 4
    with Client(server.url) as client:
        assert client.model("late").label("first", 2.0) == 4
        with pytest.raises(Refused, match="no prediction with id 'first'"):
            client.model("late").label("first", 3.0)


def rows_and_labels(n):
    columns, _, y = examples(n)
    return columns, y


def test_a_learn_whose_server_is_killed_in_the_middle_is_repeated_exactly(tmp_path):
    columns, y = rows_and_labels(4000)
    server = Process(tmp_path)
    with Client(f"http://127.0.0.1:{server.port}") as client:
        client.model("m").create(SLOW)
        client.model("m").learn(*rows_and_labels(10))
    failed = []

    def call():
        with Client(f"http://127.0.0.1:{server.port}", attempts=1) as client:
            try:
                client.model("m").learn(columns, y)
            except ConnectionError as error:
                failed.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    while server.call("GET", "/models/m")[1]["champion"]["rows"] < 200:  # it is being applied
        assert thread.is_alive()
    server.kill()
    thread.join(300)
    assert len(failed) == 1
    server = Process(tmp_path)
    try:
        with Client(f"http://127.0.0.1:{server.port}") as client, pytest.warns(RepeatedRows, match="4,000 of 4,000"):
            assert client.model("m").learn(columns, y) == 4010
        assert server.call("GET", "/models/m")[1]["champion"]["rows"] == 4010
    finally:
        server.kill()


SLOW = {**CONFIG, "learner": "auto", "settings": {}}
"""A learner that takes long enough for a kill to come in the middle."""


def push(*arguments):
    command = [sys.executable, "-m", "nystream.cli.main", "push", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def write_csv(file, X, y):
    pairs = zip(X.tolist(), y.tolist(), strict=True)
    file.write_text("a,b,y\n" + "".join(f"{a!r},{b!r},{t!r}\n" for (a, b), t in pairs))


def test_push_goes_on_where_it_stopped_whatever_the_blocks(server, tmp_path):
    _, X, y = examples(100)
    file, url = tmp_path / "stream.csv", f"{server.url}/resumed"
    write_csv(file, X, y)
    assert push(file, url, "--rows", 37, "--block", 10).returncode == 0
    done = push(file, url, "--block", 16, "-p")
    assert done.returncode == 0, done.stderr
    assert "the first 37 rows of 'stream.csv' were pushed before" in done.stderr
    assert "63 rows in" in done.stderr
    assert "resumed has learnt 100 rows" in done.stderr
    assert len(done.stdout.splitlines()) == 63
    assert "0 rows in" in push(file, url).stderr
    with file.open("a") as more:
        more.write("1.0,2.0,3.0\n")
    assert "resumed has learnt 101 rows" in push(file, url).stderr
    straight = tmp_path / "whole.csv"
    straight.write_text(file.read_text())
    assert push(straight, f"{server.url}/straight").returncode == 0
    asked = {"rows": [{"a": 0.1, "b": 0.2}, {"a": -1.0, "b": 1.0}]}
    ours, theirs = (server.post(f"/models/{name}/predict", asked)["predictions"] for name in ("resumed", "straight"))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)


def test_push_refuses_another_file_under_the_same_name(server, tmp_path):
    _, X, y = examples(30)
    file, url = tmp_path / "same.csv", f"{server.url}/others"
    write_csv(file, X, y)
    assert push(file, url).returncode == 0
    write_csv(file, X + 1.0, y)
    done = push(file, url)
    assert done.returncode == 2
    assert "does not begin with the 30 rows that were pushed under this name" in done.stderr
    assert push(file, url, "--source", "second").returncode == 0
    write_csv(file, X[:5] + 1.0, y[:5])
    assert "has 5 rows, and 30 were pushed" in push(file, url).stderr
    assert "others has learnt 65 rows" in push(file, url, "--again").stderr


def test_positions_with_a_gap_are_refused(server):
    server.create("gaps")
    row = {"row": {"a": 1.0, "b": 2.0}, "label": 1.0}
    status, found = server.call("POST", "/models/gaps/learn?source=s&position=5", row)
    assert (status, found["error"]) == (409, "source 's' is learnt up to row 0; these rows begin after 5")
    assert server.call("POST", "/models/gaps/learn?source=s&position=x", row)[0] == 422
    assert server.post("/models/gaps/learn?source=s&position=0&mark=m", row)["row"] == 1
    again = server.post("/models/gaps/learn?source=s&position=0&mark=m", row)
    assert (again["row"], again["skipped"]) == (1, 1)
    found = server.call("GET", "/models/gaps/sources")[1]["sources"]
    assert [(each["source"], each["position"], each["mark"]) for each in found] == [("s", 1, "m")]
