"""Hostile networks and operators' needs: limits on connections, tokens, rates, audit, permissions, configuration."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from serving import Process, Running, learn

from nystream.serve.folder import mend_permissions
from nystream.serve.rates import Rates
from nystream.serve.refusals import Refusal
from nystream.serve.settings import Limits
from nystream.serve.tokens import Tokens, added


def answer_to(port, *parts):
    """Send bytes as they are; return all that comes back until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=300) as connection:
        for part in parts:
            connection.sendall(part)
        found = b""
        while True:
            try:
                more = connection.recv(65536)
            except ConnectionResetError:
                return found
            if not more:
                return found
            found += more


def test_headers_that_are_too_long_or_too_many_are_refused(tmp_path):
    with Running(tmp_path, limits=Limits(header_bytes=2000, headers=20)) as server:
        start = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
        long = answer_to(server.port, start + b"X-Long: " + b"a" * 3000 + b"\r\n\r\n")
        assert long.startswith(b"HTTP/1.1 431")
        assert b"more than 2000 bytes" in long
        many = answer_to(server.port, start + b"".join(b"X-%d: 1\r\n" % i for i in range(40)) + b"\r\n")
        assert many.startswith(b"HTTP/1.1 431")
        assert b"more than 20 headers" in many
        address = answer_to(server.port, b"GET /" + b"a" * 3000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert address.startswith(b"HTTP/1.1 431")
        assert server.call("GET", "/healthz")[0] == 200
        metrics = server.raw("GET", "/metrics")[1].decode()
        assert 'nystream_refused_total{reason="long headers"} 2.0' in metrics
        assert 'nystream_refused_total{reason="many headers"} 1.0' in metrics


@pytest.mark.parametrize(
    "start",
    [
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: ",
        b"POST /models/m/learn HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Long: ",
        b"POST /models/m/learn HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1;",
    ],
)
def test_a_header_a_trailer_and_an_extension_without_end_take_no_memory(tmp_path, start):
    with Running(tmp_path) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=300) as connection:
            connection.sendall(start)
            with pytest.raises((ConnectionResetError, BrokenPipeError)):
                connection.sendall(b"a" * 2**26)
        assert server.service.connections_refused["long headers"] == 1
        assert server.call("GET", "/healthz")[0] == 200


def test_headers_that_never_end_are_cut(tmp_path):
    with Running(tmp_path, limits=Limits(header_seconds=2.0)) as server:
        found = answer_to(server.port, b"GET /healthz HTTP/1.1\r\nHost: loc")
        assert found.startswith(b"HTTP/1.1 408")
        assert b"did not come within 2 s" in found
        assert answer_to(server.port).startswith(b"HTTP/1.1 408")


def test_a_body_that_never_ends_is_cut(tmp_path):
    with Running(tmp_path) as server:
        server.create("m")
    with Running(tmp_path, limits=Limits(seconds=3.0)) as server:
        head = b"POST /models/m/learn HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
        found = answer_to(server.port, head, b"{")
        assert found.startswith(b"HTTP/1.1 408")
        assert b"did not come within 3 s" in found


def test_an_address_has_so_many_connections_and_gets_them_back(tmp_path):
    with Running(tmp_path, limits=Limits(per_address=2)) as server:
        open_ones = [http.client.HTTPConnection("127.0.0.1", server.port, timeout=300) for _ in range(2)]
        for connection in open_ones:
            connection.request("GET", "/healthz")
            assert connection.getresponse().read() == b'{"status":"alive"}'
        third = answer_to(server.port)
        assert third.startswith(b"HTTP/1.1 429")
        assert b"2 connections already" in third
        for connection in open_ones:
            connection.close()
        deadline = time.monotonic() + 300
        while answer_to(server.port, b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n").startswith(b"HTTP/1.1 429"):
            assert time.monotonic() < deadline


def test_a_client_that_sends_too_much_can_read_why(tmp_path):
    with Running(tmp_path, limits=Limits(body=100_000)) as server:
        server.create("m")
        status, found = server.call("POST", "/models/m/learn", b"x" * 700_000)
        assert (status, found["error"]) == (413, "the body has 700000 bytes; at most 100000 are taken")
        chunks = b"".join(b"2710\r\n" + b"x" * 10_000 + b"\r\n" for _ in range(20)) + b"0\r\n\r\n"
        head = b"POST /models/m/learn HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        assert b"HTTP/1.1 413" in answer_to(server.port, head + chunks)
        assert server.call("GET", "/healthz")[0] == 200


def test_a_caller_has_so_many_requests_a_second(monkeypatch):
    monkeypatch.setattr(time, "monotonic", lambda: 7.0)  # no time passes
    rates = Rates(2.0)
    for _ in range(4):
        rates.check("a")
    with pytest.raises(Refusal, match="more than 2 requests a second") as refusal:
        rates.check("a")
    assert refusal.value.headers["Retry-After"] == "1"
    monkeypatch.setattr(time, "monotonic", lambda: 7.5)
    rates.check("a")
    with pytest.raises(Refusal):
        rates.check("a")
    rates.check("b")
    for _ in range(100):
        Rates(None).check("a")


def test_tokens_are_read_again_when_the_file_changes(tmp_path, monkeypatch):
    monkeypatch.setattr("nystream.serve.tokens.LOOK", 0.0)
    path = tmp_path / "tokens"
    first = added(path, "admin", "first operator")
    tokens = Tokens(path)
    assert tokens.check(f"Bearer {first}", "admin") == "first operator"
    second = added(path, "read")
    digest = hashlib.sha256(second.encode()).hexdigest()
    assert tokens.check(f"Bearer {second}", "read") == f"token {digest[:8]}"
    path.write_text("nonsense\n")
    assert tokens.role(f"Bearer {first}") == "admin"  # a file that cannot be read changes nothing
    path.write_text(f"read {digest}\n")
    with pytest.raises(Refusal, match="not known"):
        tokens.check(f"Bearer {first}", "read")
    with pytest.raises(Refusal, match="needs the role learn"):
        tokens.check(f"Bearer {second}", "learn")


def test_the_audit_log_says_who_did_what_and_never_a_token_or_a_row(tmp_path):
    path, folder = tmp_path / "tokens", tmp_path / "models"
    token = added(path, "admin", "operator seven")
    with Running(folder, tokens=path) as server:
        server.token = token
        server.create("m")
        status, _, headers = server.raw("POST", "/models/m/snapshots", {}, headers={"X-Request-Id": "my-own-id"})
        assert status == 201
        assert headers["x-request-id"] == "my-own-id"
        learn(server, "/models/m", 3)
        server.token = "wrong-token"
        assert server.call("GET", "/models")[0] == 401
    text = (folder / "audit.log").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    found = [(line["who"], line["method"], line["path"], line["status"]) for line in lines]
    assert found == [
        ("operator seven", "PUT", "/models/m", 201),
        ("operator seven", "POST", "/models/m/snapshots", 201),
        ("", "GET", "/models", 401),
    ]
    assert lines[1]["request"] == "my-own-id"
    assert all(line["address"] == "127.0.0.1" and line["time"].endswith("Z") for line in lines)
    assert token not in text
    assert "wrong-token" not in text


def test_permissions_are_mended(tmp_path):
    folder = tmp_path / "models"
    (folder / "snapshots").mkdir(parents=True)
    file = folder / "snapshots" / "a.nys"
    file.write_bytes(b"")
    for path, mode in ((folder, 0o755), (folder / "snapshots", 0o750), (file, 0o644)):
        path.chmod(mode)
    assert set(mend_permissions(folder)) == {folder, folder / "snapshots", file}
    assert [p.stat().st_mode & 0o777 for p in (folder, folder / "snapshots", file)] == [0o700, 0o700, 0o600]
    assert mend_permissions(folder) == []


def test_a_server_takes_options_from_a_file_and_from_variables(tmp_path):
    config, folder, tokens = tmp_path / "serve.toml", tmp_path / "models", tmp_path / "tokens"
    token = added(tokens, "admin")
    config.write_text('log-format = "json"\nlog-requests = true\nrow-limit = 1\n')
    os.environ["NYSTREAM_ROW_LIMIT"] = "2"
    try:
        server = Process(folder, "--config", str(config), "--tokens", str(tokens))
    finally:
        del os.environ["NYSTREAM_ROW_LIMIT"]
    server.token = token
    server.create("m")
    row = {"a": 1.0, "b": 2.0}
    status, found = server.call("POST", "/models/m/predict", {"rows": [row] * 3})
    assert (status, found["error"]) == (413, "3 rows are more than the 2 that one request may have")
    for path in [folder, *folder.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0
    server.process.send_signal(signal.SIGHUP)  # reads the tokens again, and ends nothing
    assert server.call("GET", "/models")[0] == 200
    code, text = server.terminate()
    assert code == 0
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    asked = next(line for line in lines if line["message"] == "POST /models/m/predict")
    assert (asked["status"], asked["model"], asked["address"]) == (413, "m", "127.0.0.1")
    assert asked["request"]
    assert any("tokens were read" in line["message"] for line in lines)


def test_an_option_that_there_is_not_is_told(tmp_path):
    config = tmp_path / "serve.toml"
    config.write_text("prot = 8000\n")
    command = [sys.executable, "-m", "nystream.cli.main", "serve", str(tmp_path / "m"), "--config", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "there is no option 'prot'; did you mean port?" in done.stderr


def test_a_model_that_is_too_large_learns_no_more(tmp_path):
    with Running(tmp_path, limits=Limits(model_bytes=1000)) as server:
        server.create("m")
        learn(server, "/models/m", 50)
        status, found = server.call("POST", "/models/m/learn", {"row": {"a": 1.0, "b": 2.0}, "label": 1.0})
        assert status == 507
        assert "more than --model-memory allows (1,000)" in found["error"]
        assert server.post("/models/m/predict", {"row": {"a": 1.0, "b": 2.0}})["row"] == 50


def test_metrics_have_times_by_request_queue_disk_and_memory(tmp_path):
    with Running(tmp_path) as server:
        server.create("m")
        learn(server, "/models/m", 3)
        text = server.raw("GET", "/metrics")[1].decode()
    assert 'nystream_request_seconds_count{request="learn"} 1.0' in text
    assert 'nystream_requests_total{request="learn",status="200"} 1.0' in text
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert values["nystream_queue_bytes"] == "0.0"
    assert float(values["nystream_disk_free_bytes"]) > 0
    assert float(values["nystream_process_bytes"]) > 1e6
    assert float(values['nystream_model_bytes{model="m",part="champion"}']) > 0


def test_the_unit_for_systemd_is_valid(tmp_path):
    tool = shutil.which("systemd-analyze")
    if tool is None:
        pytest.skip("there is no systemd-analyze")
    text = (Path(__file__).parents[2] / "deploy" / "nystream.service").read_text()
    unit = tmp_path / "nystream.service"
    unit.write_text(text.replace("/opt/nystream/bin/nystream", "/bin/true"))
    done = subprocess.run([tool, "verify", str(unit)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
