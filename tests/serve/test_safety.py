"""Who may do what, and that nothing bad gets in: tokens, limits, names, origins, hostile bodies."""

from __future__ import annotations

import hashlib
import json
import random
import re
import socket
import threading
from importlib import resources

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("pyarrow")

from serving import Process, Running, learn, rows

from nystream.serve import Limits
from nystream.serve.pages import ASSETS
from nystream.serve.settings import Settings, bytes_of, seconds_of
from nystream.serve.tokens import Tokens, added

PAGES = {"models.html", "view.html"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    limits = Limits(body=200_000, rows=500, columns=20, text=1000, models=12, keys=3, classes=4, subscribers=2)
    with Running(tmp_path_factory.mktemp("safe") / "d", limits=limits) as running:
        running.create("m")
        learn(running, "/models/m", 5)
        yield running


def refused(server, path, body, status=422, kind="application/json", method="POST"):
    before = server.service.store.log.seq
    found, answer = server.call(method, path, body, kind=kind)
    assert found == status, answer
    assert server.service.store.log.seq == before
    return answer["error"]


def test_roles_allow_what_they_say(tmp_path):
    file = tmp_path / "tokens"
    tokens = {role: added(file, role, f"the {role} one") for role in ("read", "learn", "admin")}
    assert file.stat().st_mode & 0o777 == 0o600
    assert not any(token in file.read_text() for token in tokens.values())
    assert hashlib.sha256(tokens["learn"].encode()).hexdigest() in file.read_text()
    with Running(tmp_path / "d", tokens=file) as server:
        assert server.call("GET", "/healthz")[0] == 200
        status, _, headers = server.raw("GET", "/models")
        assert (status, headers["www-authenticate"]) == (401, "Bearer")
        server.token = "wrong"
        assert server.call("GET", "/models")[0] == 401
        assert server.call("GET", "/access")[0] == 401
        for role, server.token in tokens.items():
            assert server.call("GET", "/access") == (200, {"role": role, "tokens": True})
        server.token = tokens["read"]
        assert server.call("PUT", "/models/m", {})[0] == 403
        server.token = tokens["admin"]
        server.create("m")
        server.token = tokens["read"]
        assert server.call("GET", "/models")[0] == 200
        found, labels = rows(3)
        assert server.call("POST", "/models/m/learn", {"rows": found, "labels": labels})[0] == 403
        server.token = tokens["learn"]
        learn(server, "/models/m", 3)
        assert server.call("DELETE", "/models/m?confirm=m")[0] == 403
        assert server.call("POST", "/models/m/predict", {"rows": found, "remember": True})[0] == 200
        server.token = tokens["read"]
        assert server.call("POST", "/models/m/predict", {"rows": found})[0] == 200
        assert server.call("POST", "/models/m/predict", {"rows": found, "remember": True})[0] == 403


@pytest.mark.parametrize("line", ["boss " + "0" * 64, "read 12", "read " + "z" * 64, ""])
def test_a_bad_file_of_tokens_is_refused(tmp_path, line):
    (tmp_path / "t").write_text(line)
    with pytest.raises(ValueError, match=r"t(, line 1| has no tokens)"):
        Tokens(tmp_path / "t")


def test_without_tokens_only_this_machine_is_served(tmp_path):
    process = Process(tmp_path / "d", "--host", "0.0.0.0")
    code, text = process.end()
    assert code == 2
    assert "give --tokens FILE" in text


@pytest.mark.parametrize("name", ["..", ".hidden", "a/b", "%2e%2e%2fx", "a%00b", "x" * 65, "a b", "é", "-"])
def test_names_lead_nowhere_else(server, name):
    path = "/models/" + (name if "%" in name else name.replace(" ", "%20").replace("é", "%C3%A9"))
    status, content, _ = server.raw("PUT", path, {})
    assert status in (404, 405, 422), content
    folder = server.service.store.folder
    assert {path.name for path in folder.iterdir()} <= {
        "audit.log",
        "log.db",
        "log.db-wal",
        "log.head",
        "witness",
        "snapshots",
        "lock",
    }
    assert {path.name for path in folder.parent.iterdir()} == {"d"}


def test_bad_rows_are_refused_in_one_sentence_that_names_them(server):
    good = {"a": 1.0, "b": 2.0}
    cases = [
        (
            {"rows": [good, {"a": 1.0, "b": "x"}], "labels": [1, 2]},
            "row 1: column 'b' is 'x', which is no finite number",
        ),
        ({"rows": [good, {"a": 1.0}], "labels": [1, 2]}, "row 1: column 'b' is missing"),
        ({"rows": [good], "labels": ["x"]}, "row 0: column 'y' is 'x', which is no finite number"),
        ({"rows": [good], "labels": [1, 2]}, "there are 1 rows and 2 labels"),
        ({"rows": [good], "labels": [[1, 2]]}, "labels have 2 columns"),
        ({"rows": [good], "labels": [{"y": 1}]}, "row 0: label is an object"),
        ({"rows": [good, [1, 2]]}, "row 1 is a list, the first row is an object"),
        ({"rows": [[1, 2], [1]]}, "row 1 is no list of 2 values"),
        ({"rows": [[1, 2, 3]], "labels": [1]}, "rows have 3 columns"),
        ({"rows": [{"a": [1], "b": 2}]}, "row 0: column 'a' is a list"),
        ({"rows": []}, "there are no rows"),
        ({"rows": {"a": 1}}, "rows must be a list"),
        ({"rows": [good], "wrong": 1}, "'wrong' is not known here"),
        ({}, "rows"),
        ({"rows": [good], "labels": [1], "weights": [-1]}, "row 0: weight is -1.0"),
        ({"rows": [{"a": 1, "b": "x" * 2000}]}, "2000 characters"),
        ({"rows": [{str(k): 1 for k in range(30)}]}, "30 columns"),
        (b"{", "no JSON"),
        (b"", "empty"),
        (b'{"rows": [{"a": NaN, "b": 1}], "labels": [1]}', "no JSON"),
        (b'{"rows": [{"a": 1e999, "b": 1}], "labels": [1]}', "infinity"),
    ]
    before = server.file("m")
    for body, text in cases:
        assert text in refused(server, "/models/m/learn", body), body
    assert "not read" in refused(server, "/models/m/learn", b"a", 415, "text/html")
    assert "body:2: has 1 fields, expected 2" in refused(server, "/models/m/learn", b"a,b\n1\n", kind="text/csv")
    assert "Arrow" in refused(server, "/models/m/learn", b"ARROW1", kind="application/vnd.apache.arrow.stream")
    assert "no column" in refused(server, "/models/m/learn?label=q", b"a,b\n1,2\n", kind="text/csv")
    assert server.file("m") == before


def test_limits_hold(server):
    assert "501 rows" in refused(server, "/models/m/learn", {"rows": [[1, 2]] * 501}, 413)
    assert "bytes" in refused(server, "/models/m/learn", b" " * 300_000, 413)
    for k in range(3):
        learn(server, f"/models/m/keys/k{k}", 2)
    found, labels = rows(2)
    assert "3 keys" in refused(server, "/models/m/keys/k9/learn", {"rows": found, "labels": labels}, 429)
    assert learn(server, "/models/m/keys/k0", 2)["row"] == 4
    server.create("c", {"columns": ["a"], "task": "classification"})
    body = {"rows": [[1.0]] * 6, "labels": [f"c{k}" for k in range(6)]}
    assert "more than 4 classes" in refused(server, "/models/c/learn", body)
    for k in range(20):
        status = server.call("PUT", f"/models/many{k}", {})[0]
        if status != 201:
            break
    assert (status, len(server.service.store.models)) == (429, 12)


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"learner": "nobody"}, "no learner is called"),
        ({"learner": "pkrr", "settings": {"nothing": 1}}, "no parameter 'nothing'"),
        ({"learner": 3}, "learner must be a name"),
        ({"learner": "pkrr", "settings": {"lam": -1}}, "lam"),
        ({"task": "guessing"}, "task"),
        ({"columns": {"a": "colour"}}, "kind of column 'a'"),
        ({"columns": ["y"], "target": "y"}, "target"),
        ({"colums": ["a"]}, "no setting 'colums'"),
        ({"alarm_error": "high"}, "alarm_error"),
        ({"classes": [{}], "columns": ["x0"], "task": "classification"}, "a class is a text or a number"),
        ({"classes": "x", "columns": ["x0"], "task": "classification"}, "classes must be a list"),
        ({"classes": [1, 1], "columns": ["x0"], "task": "classification"}, "no value may be there twice"),
        ({"classes": [1e300, 1], "columns": ["x0"], "task": "classification"}, "2**53"),
        ({"classes": list(range(5000)), "columns": ["x0"], "task": "classification"}, "at most 4 are"),
        ({"classes": [], "columns": ["x0"], "task": "classification"}, "classes must be"),
        ({"drop": 5}, "drop must be a list of names"),
        ({"drop": ["a", 5]}, "drop must be a list of names"),
        ({"target": {}}, "target must be a name"),
        ({"target": ["a", "a"]}, "twice"),
        ({"columns": []}, "columns must be"),
        ({"columns": {"a": 5}}, "columns must be"),
        ({"columns": ["a", "\n"]}, "printable"),
        ({"columns": ["x"] * 2}, "twice"),
        ({"standardize": "yes"}, "standardize must be true or false"),
        ({"alarm_error": True}, "alarm_error must be a number"),
        ({"alarm_error": -1}, "alarm_error must be a number"),
        ({"formats": 3}, "formats must be"),
        ({"settings": {"lam": 1}}, "together with the name of a learner"),
        ({"learner": "ons", "settings": {"clip": 1e-300}}, "between 1e-100 and 1e100"),
        ({"learner": "ons", "settings": {"clip": {"a": 1}}}, "settings must be"),
        ({"learner": "pkrr", "settings": [1]}, "settings must be"),
        ([], "JSON object"),
    ],
)
def test_a_model_that_cannot_be_is_refused(server, config, text):
    assert text in refused(server, "/models/new", config, method="PUT")


def test_without_tokens_everybody_is_let_in_as_admin(server):
    assert server.call("GET", "/access") == (200, {"role": "admin", "tokens": False})


def test_a_page_of_another_site_cannot_call(server):
    path, good = "/models", {"Origin": f"http://127.0.0.1:{server.port}"}
    assert server.raw("GET", path, headers=good)[0] == 200
    assert server.raw("GET", path, headers={"Origin": "http://evil.example"})[0] == 403
    assert server.raw("GET", path, headers={"Host": "evil.example"})[0] == 403
    _, _, headers = server.raw("GET", path, headers=good)
    assert "access-control-allow-origin" not in headers


def test_another_site_may_call_where_that_was_asked_for(tmp_path):
    with Running(tmp_path, origins=("https://app.example",)) as server:
        status, _, headers = server.raw("GET", "/models", headers={"Origin": "https://app.example"})
        assert (status, headers["access-control-allow-origin"]) == (200, "https://app.example")
        server.create("m")
        assert learn(server, "/models/m", 2)["row"] == 2


def test_pages_have_a_strict_policy_and_load_nothing_from_elsewhere(server):
    status, content, headers = server.raw("GET", "/view/m")
    assert status == 200
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert b"http://" not in content
    assert b"https://" not in content
    for file, kind in ASSETS.items():
        status, content, headers = server.raw("GET", f"/assets/{file}")
        assert (status, headers["content-type"].partition(";")[0]) == (200, kind)
        assert content.count(b"\n") <= 400
        assert set(re.findall(rb"https?://[^\"'\s]+", content)) <= {b"http://www.w3.org/2000/svg"}
    assert {path.name for path in (resources.files("nystream.serve") / "assets").iterdir()} == {*ASSETS, *PAGES}
    assert server.raw("GET", "/assets/..%2fapp.py")[0] == 404
    assert server.raw("GET", "/assets/view.html")[0] == 404
    assert server.raw("GET", "/view/%3Cscript%3E")[0] == 422


def test_a_full_queue_answers_429_with_a_time_to_come_again(tmp_path):
    with Running(tmp_path, limits=Limits(queue=1)) as server:
        server.create("m", {"columns": ["a", "b"], "target": "y", "task": "regression"})
        seen = set()

        def send(seed):
            found, labels = rows(300, seed)
            status, _, headers = server.raw("POST", "/models/m/learn", {"rows": found, "labels": labels})
            seen.add((status, headers.get("retry-after")))

        threads = [threading.Thread(target=send, args=(seed,), daemon=True) for seed in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert seen == {(200, None), (429, "1")}


def test_hostile_requests_are_never_a_fault_of_ours(server):
    """Bodies, names and tokens at random: refused, nothing learnt. benchmarks/reliability/fuzz.py sends many more."""
    rng = random.Random(0)
    before, seq = server.file("m"), server.service.store.log.seq
    values = [None, True, -1, 1e308, "x", "", [], {}, [[1]], {"a": {}}, "\x00", "1_0", "NaN", 10**400, -0.0, "é" * 50]
    verbs = ["learn", "predict", "step", "label", "unlearn", "rollback", "clone", "snapshots/x", "keys", ""]
    for _ in range(400):
        body = {
            rng.choice(["rows", "row", "labels", "ids", "id", "snapshot", "q"]): rng.choice(values) for _ in range(3)
        }
        if rng.random() < 0.3:
            body["rows"] = [{rng.choice("abq"): rng.choice(values)} for _ in range(rng.randrange(3))]
            body["labels"] = [rng.choice(values[4:]) for _ in range(rng.randrange(3))]
        content = json.dumps(body).encode()
        if rng.random() < 0.3:
            content = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 40)))
        kind = rng.choice(["application/json", "text/csv", "application/vnd.apache.arrow.stream", "", "x/y"])
        name = rng.choice(["m", "m", "m", "nobody", "..", "%00"])
        headers = {"Idempotency-Key": "k" * rng.choice([1, 300])} if rng.random() < 0.1 else {}
        method = rng.choice(["POST", "POST", "POST", "GET", "DELETE", "PUT"])
        path = f"/models/{name}/{rng.choice(verbs)}" if method == "POST" else f"/models/{name}"
        status, answer, _ = server.raw(method, path, content, kind=kind, headers=headers)
        assert status < 500, (method, path, content, answer)
        assert status >= 400 or method == "GET" or "predict" in path or path.endswith(("keys", "snapshots/x")), (
            path,
            content,
        )
    assert server.service.store.log.seq == seq
    assert server.file("m") == before


def test_a_client_that_never_finishes_is_cut_off(tmp_path):
    with Running(tmp_path) as server:
        server.create("m")
    impatient = Running(tmp_path, limits=Limits(seconds=3.0))
    with impatient as server, socket.create_connection(("127.0.0.1", server.port), timeout=300) as slow:
        slow.sendall(b"POST /models/m/learn HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{")
        assert b" 408 " in slow.recv(1000)


def test_sizes_and_times_are_read():
    assert (bytes_of("500MB"), bytes_of("2 GiB"), bytes_of("7")) == (500_000_000, 2**31, 7)
    assert (seconds_of("90s"), seconds_of("10min"), seconds_of("30d")) == (90.0, 600.0, 30 * 86400.0)
    for text in ("", "x", "-1MB", "1.2.3GB", "5 parsecs", "0"):
        with pytest.raises(ValueError, match="is no size"):
            bytes_of(text)
        with pytest.raises(ValueError, match="is no time"):
            seconds_of(text)
    assert Settings(folder=None).host == "127.0.0.1"


def test_bodies_of_rare_requests_are_checked_field_by_field(server):
    for path, body, text in [
        ("/models/m/clone", {"name": 5}, "the name of the new model"),
        ("/models/m/clone", {}, "the name of the new model"),
        ("/models/m/clone", {"name": "a", "more": 1}, "'more' is not known here"),
        ("/models/m/rollback", {"snapshot": "1"}, "the id of one"),
        ("/models/m/rollback", {"snapshot": 10**30}, "the id of one"),
        ("/models/m/rollback", {"snapshot": True}, "the id of one"),
        ("/models/m/label", {"id": 5, "label": 1}, "id must be a text"),
        ("/models/m/label", {"ids": "a", "labels": [1]}, "ids must be a list"),
        ("/models/m/unlearn", {"rows": [[1, 2]], "labels": [1], "drop_snapshots": "yes"}, "true or false"),
        ("/models/m/unlearn", {"rows": [[1, 2]], "labels": [1], "other": 1}, "'other' is not known here"),
    ]:
        assert text in refused(server, path, body), body
    for body in ({"copy": "yes"}, {"copy": True, "learner": "pkrr"}, {"columns": ["a"]}, {"settings": {"lam": 1}}):
        refused(server, "/models/m/challengers/c", body, method="PUT")
