"""`nystream demo`: the story, the updates of pages, the server, the command, and the page in a real browser."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from importlib import resources

import numpy as np
import pytest

from nystream.cli.demo_page import FILES, DemoServer
from nystream.cli.demo_stream import BLOCK, COLUMNS, NOISE, Building, Demo

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
PATIENCE = 300_000
"""Milliseconds to wait for what a slow machine takes its time to show."""


@pytest.fixture(scope="module")
def learnt():
    """A demo whose heating was replaced after 300 rows."""
    demo = Demo(seed=0)
    for _ in range(30):
        demo.learn_block()
    demo.replace_heating()
    for _ in range(15):
        demo.learn_block()
    return demo


@pytest.fixture
def server():
    demo = Demo(seed=1)
    with DemoServer(demo) as running:
        yield running
        demo.stop()


def ask(server, method, path, headers=None):
    connection = http.client.HTTPConnection(server.address.split("/")[2], timeout=300)
    connection.request(method, path, headers=headers or {})
    answer = connection.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read()
    connection.close()
    return found


def test_the_new_heating_changes_the_law_and_not_the_weather():
    before, after = Building(3), Building(3)
    after.new_heating = True
    (X, y), (Z, z) = before.next_rows(400), after.next_rows(400)
    np.testing.assert_array_equal(X, Z)
    assert X.shape == (400, len(COLUMNS))
    assert np.abs(y - z).mean() > 3 * NOISE


def test_the_model_learns_the_building(learnt):
    _, update = learnt.update(0)
    assert [one["row"] for one in update["rows"]] == list(range(291, 451))
    readings = {one["row"]: one for one in update["readings"]}
    assert readings[300]["model"] < readings[300]["last"]  # better than repeating the last load
    assert readings[450]["model"] > readings[300]["model"]  # the change costs something
    assert 0.75 < readings[300]["inside"] <= 1.0
    assert update["changes"] == [300]
    assert set(update["shares"]) == set(COLUMNS)
    assert sum(update["shares"].values()) == pytest.approx(1.0, abs=0.05)
    json.dumps(update, allow_nan=False)


def test_predictions_are_made_before_their_labels():
    """Two buildings with the same weather and other loads: the first prediction after the change is the same."""
    one, other = Demo(seed=5), Demo(seed=5)
    for demo in (one, other):
        for _ in range(3):
            demo.learn_block()
    other.replace_heating()
    for demo in (one, other):
        demo.learn_block()
    rows = [demo.update(0)[1]["rows"][-BLOCK] for demo in (one, other)]
    assert rows[0]["y"] != rows[1]["y"]
    assert [rows[0][key] for key in ("p", "low", "high")] == [rows[1][key] for key in ("p", "low", "high")]


def test_a_page_gets_each_row_once(learnt):
    count, everything = learnt.update(0)
    later, rest = learnt.update(count - 2)
    assert later == count
    assert [one["row"] for one in rest["rows"]] == [one["row"] for one in everything["rows"]][-2 * BLOCK :]
    assert len(rest["readings"]) == 2
    assert "noise" not in rest
    nothing = learnt.update(count)[1]
    assert nothing["rows"] == nothing["readings"] == []


def test_the_page_loads_nothing_from_elsewhere(server):
    for path in FILES:
        status, headers, body = ask(server, "GET", path)
        assert status == 200
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert not re.search(rb"""(?:src|href|import|url\()[ =("']*(?:https?:)?//""", body), path
        for loaded in re.findall(rb"""(?:src|href|from|url\()[ =("']+\.?(/[\w./-]+)""", body):
            assert loaded.decode() in FILES, (path, loaded)
    assert ask(server, "GET", "/../demo.py")[0] == 404


def test_only_the_page_can_replace_the_heating(server):
    assert ask(server, "POST", "/replace")[0] == 403
    assert ask(server, "GET", "/", {"Host": "example.org:80"})[0] == 403
    assert ask(server, "POST", "/replace", {"X-Nystream-Demo": "1", "Host": "example.org:80"})[0] == 403
    assert ask(server, "POST", "/replace", {"X-Nystream-Demo": "1"})[0] == 204


def test_events_come_until_the_end():
    demo = Demo(seed=2)
    with DemoServer(demo) as server:
        answers = []
        reader = threading.Thread(target=lambda: answers.append(ask(server, "GET", "/events")), daemon=True)
        reader.start()
        for _ in range(3):
            demo.learn_block()
        demo.stop()
    reader.join(300)
    updates = [json.loads(line[6:]) for line in answers[0][2].decode().splitlines() if line.startswith("data: ")]
    assert [one["row"] for update in updates for one in update["rows"]] == list(range(1, 31))
    assert updates[-1]["stopped"]
    assert updates[0]["noise"] == NOISE


def test_the_command_ends_by_itself_and_says_what_next():
    command = [sys.executable, "-m", "nystream.cli.main", "demo", "--seconds", "0.5", "--no-browser"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert re.search(r"http://127\.0\.0\.1:\d+/", done.stdout)
    assert re.search(r"\d+ rows learnt\. Root mean squared error", done.stdout)
    assert "nystream run FILE.csv" in done.stdout
    assert done.stderr == ""


def test_every_file_of_the_page_is_installed():
    for file, _ in FILES.values():
        assert (resources.files("nystream") / file).is_file(), file


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: install it or set CHROMIUM")
def test_the_page_shows_the_model_at_work():
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is part of the dev extra")
    demo = Demo(seed=4)
    for _ in range(17):
        demo.learn_block()
    troubles = []
    with DemoServer(demo) as server, playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 360, "height": 780})
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
        page.goto(server.address)
        page.wait_for_selector("#errors path.line.strong", state="attached")
        assert page.inner_text("#rows") == "170"
        assert page.locator("#last circle").count() == 160
        assert page.locator("#relied li").count() == len(COLUMNS)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        page.click("#replace")
        page.wait_for_selector("#change-more:has-text('other heating')")
        demo.learn_block()
        page.wait_for_selector("#last .mark.rollback", state="attached")
        demo.stop()
        page.wait_for_selector("#connection:has-text('ended')")
        browser.close()
    assert troubles == []
