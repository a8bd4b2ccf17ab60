"""The pages in a real browser: logging in, a stream being learnt, a row tried, an alarm, going back, hostile names."""

from __future__ import annotations

import os
import re
import shutil
import threading

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("pyarrow")
playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is part of the dev extra")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("no Chromium: install it (Debian: apt-get install chromium) or set CHROMIUM", allow_module_level=True)

from serving import CONFIG, Running, learn, rows

from nystream.serve import Limits
from nystream.serve.tokens import added

OFF = ("gpu", "quic", "background-networking", "component-update", "sync", "dev-shm-usage")
OPTIONS = ["--no-sandbox", "--no-first-run", *(f"--disable-{name}" for name in OFF)]
PATIENCE = 300_000
"""Milliseconds to wait for what a slow machine takes its time to show."""
STORE = "sessionStorage.setItem('nystream-token', {!r})"
HOSTILE = "<img src=x onerror=hacked=1>"
LINE = "#errors path.line.strong"
MOVED = "([id, before]) => Number(document.getElementById(id).textContent.replaceAll(',', '')) > before"


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=OPTIONS, timeout=PATIENCE)
        yield found
        found.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    tokens = {role: added(folder / "tokens", role) for role in ("read", "learn", "admin")}
    with Running(folder / "d", tokens=folder / "tokens") as running:
        running.tokens, running.token = tokens, tokens["admin"]
        running.create("m")
        learn(running, "/models/m", 30)
        learn(running, "/models/m", 30, seed=1)
        yield running


@pytest.fixture
def visit(browser, server):
    """Opens a page of the server in a new window; afterwards nothing may have gone wrong in it."""
    windows, troubles = [], []

    def opened(path, role="admin", at=server, **window):
        context = browser.new_context(**{"viewport": {"width": 1300, "height": 900}, **window})
        windows.append(context)
        context.set_default_timeout(PATIENCE)
        if role is not None:
            context.add_init_script(STORE.format(server.tokens[role]))
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on(
            "console",
            lambda said: said.type == "error" and "status of 4" not in said.text and troubles.append(said.text),
        )
        page.on("request", lambda asked: asked.url.startswith(at.url) or troubles.append(asked.url))
        page.goto(at.url + path)
        return page

    yield opened
    for context in windows:
        context.close()
    assert troubles == []


def shown(page, selector, text):
    """Wait until an element that is seen has the text."""
    found = page.locator(selector).filter(has_text=text).first
    found.wait_for()
    return found


def number_in(page, id):
    return float(page.inner_text(f"#{id}").replace(",", ""))


class Stream(threading.Thread):
    """Rows that keep coming."""

    def __init__(self, server, path):
        super().__init__()
        self._server, self._path, self._enough = server, path, threading.Event()

    def run(self):
        seed = 100
        while not self._enough.wait(0.05):
            learn(self._server, self._path, 10, seed := seed + 1)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._enough.set()
        self.join()


def test_a_token_is_asked_for_and_stays_in_the_tab(visit, server):
    page = visit("/", role=None)
    page.fill("#token", "wrong")
    page.keyboard.press("Enter")
    shown(page, "#login .complaint", "Refused: the token is not known.")
    assert not page.is_visible("#main")
    page.fill("#token", server.tokens["admin"])
    page.click("#login button")
    shown(page, "#models tbody th", "m").get_by_role("link").click()
    page.wait_for_url("**/view/m")
    shown(page, "#rows", "60")  # let in without being asked again
    assert not page.is_visible("#login")
    kept = "[localStorage.length, document.cookie, Object.values(sessionStorage)]"
    assert page.evaluate(kept) == [0, "", [server.tokens["admin"]]]
    assert server.tokens["admin"] not in page.content()
    page.click("#forget")
    page.wait_for_selector("#login")
    assert page.evaluate(kept) == [0, "", []]


def test_a_stream_is_seen_being_learnt(visit, server):
    server.create("stream")
    learn(server, "/models/stream", 30)
    page, all_of_them = visit("/view/stream"), visit("/")
    shown(page, "#connection", "live")
    page.wait_for_selector(LINE, state="attached")
    before = page.get_attribute(LINE, "d")
    row = "#models tr[data-key=stream] td"
    all_of_them.wait_for_selector(row)
    with Stream(server, "/models/stream"):
        for window, id in ((page, "rows"), (page, "rate")):
            window.wait_for_function(MOVED, arg=[id, 100 if id == "rows" else 0])
        page.wait_for_function(
            "(d) => document.querySelector('#errors path.line.strong').getAttribute('d') !== d", arg=before
        )
        all_of_them.wait_for_function(
            f"Number(document.querySelectorAll('{row}')[2].textContent.replaceAll(',', '')) > 100"
        )
        shown(page, "#last tbody td", re.compile(r"\d"))
    errors = server.call("GET", "/models/stream")[1]["champion"]["errors"]
    assert errors["window"] < min(errors["window_last"], errors["window_mean"])
    page.wait_for_selector("#window[data-good=yes]")
    shown(page, "#window-than", re.compile("no change .* mean"))
    said = page.get_attribute("#errors svg.chart", "aria-label")
    assert "no change" in said
    assert "mean so far" in said


def test_without_a_free_place_at_the_stream_the_page_asks_by_itself(visit, server, tmp_path):
    with Running(tmp_path, limits=Limits(subscribers=0)) as other:
        other.create("m")
        learn(other, "/models/m", 20)
        page = visit("/view/m", role=None, at=other)
        shown(page, "#connection", "asking every 2 s")
        learn(other, "/models/m", 13, seed=1)
        shown(page, "#rows", "33")
        page.close()


def test_a_row_of_every_kind_can_be_tried(visit, server):
    rng = np.random.default_rng(0)
    found, labels = [], []
    for i in range(60):
        sky = str(rng.choice(["sun", "rain"]))
        row = {
            "temp": float(rng.normal()),
            "open": bool(i % 3),
            "sky": sky,
            "when": f"2024-05-{1 + i % 28:02d}T12:00:00",
        }
        found.append({**row, "words": f"some plain words number {i} that nobody reads twice"})
        labels.append("high" if sky == "sun" else "low")
    server.create("kinds", {"target": "level"})
    server.post("/models/kinds/learn", {"rows": found, "labels": labels})
    kinds = server.call("GET", "/models/kinds")[1]["schema"]["columns"]
    assert kinds == {"temp": "number", "open": "boolean", "sky": "category", "when": "time", "words": "text"}
    page = visit("/view/kinds")
    page.get_by_label("temp").fill("1.5")
    page.get_by_label("open").select_option("yes")
    page.get_by_label("sky").fill("rain")
    page.get_by_label("when").fill("2024-05-03T10:30:15")
    page.get_by_role("textbox", name="words").fill("other words")
    levels = page.locator("#try datalist option").evaluate_all("(all) => all.map((one) => one.value).sort()")
    assert levels == ["rain", "sun"]
    row = {"temp": 1.5, "open": True, "sky": "rain", "when": "2024-05-03T10:30:15", "words": "other words"}
    asked = {"row": row, "probabilities": True, "explain": True}
    expected = server.post("/models/kinds/predict", asked)
    with page.expect_request("**/predict") as sent:
        page.get_by_role("button", name="Predict").click()
    assert sent.value.post_data_json == asked
    shown(page, "#try-answer .big", expected["predictions"][0])
    shown(page, "#try-answer .bars", f"{100 * max(expected['probabilities'][0]):.1f}%")
    reasons = page.locator("#try-answer .bars").last.locator(".name").all_inner_texts()
    assert sorted(reasons) == sorted(kinds)
    assert server.call("GET", "/models/kinds")[1]["champion"]["rows"] == 60
    page.get_by_label("temp").fill("")
    page.get_by_role("button", name="Fill in the last row").click()
    assert float(page.get_by_label("temp").input_value()) == found[-1]["temp"]
    assert page.get_by_label("open").input_value() == "true"


def test_what_a_prediction_relies_on_is_shown_of_experts_and_of_columns(visit, server):
    page = visit("/view/m")
    shown(page, "#relied-none", "This learner does not say.")
    server.create("mixed")
    learn(server, "/models/mixed", 20)
    meter = server.service.store.models.find("mixed").champion.meter
    for at in (1.0, 2.0):
        meter.point(at, 0.0, {"weights": {"kernel": 0.75, HOSTILE: 0.25}, "columns": {"first column": 1.0}})
    page = visit("/view/mixed")
    assert shown(page, "#relied .legend", f"kernel75.0%{HOSTILE}25.0%")
    page.wait_for_selector("#relied path.area.s1", state="attached")
    learn(server, "/models/mixed", 200, seed=1)
    page.get_by_role("button", name="columns").click()
    shown(page, "#columns", "at row 220")
    expected = server.call("GET", "/models/mixed/importance")[1]["importance"]
    assert page.locator("#columns .name").all_inner_texts() == sorted(expected, key=expected.get, reverse=True)
    shown(page, "#relied .legend", "first column")
    page.get_by_role("button", name="experts").click()
    shown(page, "#relied .legend", "kernel")


def test_an_alarm_is_shown_told_and_marked(visit, server):
    server.create("alarmed", {**CONFIG, "alarm_error": 50.0})
    for seed in range(3):
        learn(server, "/models/alarmed", 100, seed)
    page = visit("/view/alarmed")
    page.wait_for_selector(LINE, state="attached")
    assert page.locator(".mark").count() == 0
    far, labels = rows(250, 6)
    server.post("/models/alarmed/learn", {"rows": far, "labels": [y + 100 for y in labels]})
    shown(page, "#notes li.alarm", "is far outside the range so far")
    shown(page, "#alarms li", "above 50")
    page.wait_for_selector("#errors .mark.alarm", state="attached")
    assert "the windowed error" in page.locator("#errors .mark.alarm").last.get_attribute("data-text")
    assert "far outside" in page.text_content("#news[aria-live=polite]")
    shown(visit("/"), "#models tr[data-key=alarmed] td.alarm", "1")


def test_the_model_goes_back_to_a_snapshot_only_when_that_is_meant(visit, server):
    server.create("back")
    learn(server, "/models/back", 40)
    page = visit("/view/back")
    page.get_by_role("button", name="Take one now").click()
    shown(page, "#said", "Taken at row 40.")
    then = server.file("back")
    learn(server, "/models/back", 50, seed=1)
    shown(page, "#rows", "90")
    button = page.get_by_role("button", name="Go back to row 40,").last
    button.click()
    shown(page, "#confirm", "becomes what it was at row 40")
    page.keyboard.press("Enter")  # the way out has the focus
    page.wait_for_selector("#confirm", state="hidden")
    assert server.call("GET", "/models/back")[1]["champion"]["rows"] == 90
    button.click()
    page.locator("#confirm").get_by_role("button", name="Go back").click()
    shown(page, "#said", "The model is at row 40 again.")
    shown(page, "#rows", "40")
    shown(page, "#notes li.rollback", "went back from row 90 to row 40")
    page.wait_for_selector("#errors .mark.rollback", state="attached")
    assert server.file("back") == then


def test_a_challenger_is_promoted(visit, server):
    server.create("duel")
    learn(server, "/models/duel", 40)
    server.call("PUT", "/models/duel/challengers/small", {"learner": "fogd", "settings": {"dim": 20}})
    learn(server, "/models/duel", 40, seed=1)
    page = visit("/view/duel")
    shown(page, "#parts tr[data-key=main] th", "main (champion)")
    shown(page, "#errors .legend", "small")
    page.get_by_role("button", name="Promote small").click()
    page.locator("#confirm").get_by_role("button", name="Promote").click()
    shown(page, "#parts tr[data-key=small] th", "small (champion)")
    shown(page, "#parts tr[data-key=main] td", "80")
    assert server.call("GET", "/models/duel")[1]["champion"]["name"] == "small"


def test_a_challenger_is_added_and_removed_with_forms(visit, server):
    server.create("arena")
    learn(server, "/models/arena", 30)
    page = visit("/view/arena")
    page.locator("#challenge-name").fill("small")
    page.locator("#challenge-learner").fill("fogd")
    page.locator("#challenge-settings").fill("{dim: 20}")
    page.get_by_role("button", name="Add").click()
    shown(page, "#said[data-trouble=yes]", "settings are JSON")
    page.locator("#challenge-settings").fill('{"dim": 20}')
    page.get_by_role("button", name="Add").click()
    shown(page, "#said", "small learns from the next row on.")
    shown(page, "#parts tr[data-key=small] td", "fogd")
    page.locator("#challenge-name").fill("twin")
    page.locator("#challenge-copy").check()
    page.get_by_role("button", name="Add").click()
    shown(page, "#parts tr[data-key=twin] td", "30")
    page.get_by_role("button", name="Remove small").click()
    page.locator("#confirm").get_by_role("button", name="Remove").click()
    shown(page, "#said", "small is removed.")
    shown(page, "#notes li", "challenger small was removed")
    found = server.call("GET", "/models/arena/challengers")[1]["challengers"]
    assert [part["name"] for part in found] == ["twin"]


def test_the_model_goes_back_to_the_snapshot_before_a_row(visit, server):
    server.create("before")
    for seed in range(3):
        learn(server, "/models/before", 20, seed=seed)
        server.post("/models/before/snapshots", {})
    page = visit("/view/before")
    form = page.locator("#back")
    form.get_by_label("at or before row").fill("10")
    form.get_by_role("button").click()
    shown(page, "#said[data-trouble=yes]", "no snapshot was taken at or before row 10")
    form.get_by_label("at or before row").fill("45")
    form.get_by_role("button").click()
    shown(page, "#confirm", "becomes what it was at row 40")
    page.locator("#confirm").get_by_role("button", name="Go back").click()
    shown(page, "#said", "The model is at row 40 again.")
    assert server.call("GET", "/models/before")[1]["champion"]["rows"] == 40


def test_charts_are_over_rows_or_over_time_and_one_reading_has_one_tick(visit, server):
    server.create("axes")
    learn(server, "/models/axes", 1)
    page = visit("/view/axes")
    page.wait_for_selector(LINE, state="attached")
    feet = "[...document.querySelectorAll('#errors text.tick[y=\"295\"]')].map((e) => e.textContent).filter(Boolean)"
    assert page.evaluate(feet) == ["1"]
    for seed in range(8):
        learn(server, "/models/axes", 40, seed=seed)
    shown(page, "#errors .where", "row 3")
    labels = page.evaluate(feet)
    assert len(labels) == len(set(labels)) > 1
    page.get_by_role("button", name="time", exact=True).click()
    shown(page, "#errors .where", re.compile(r"^\d\d:\d\d:\d\d$"))
    labels = page.evaluate(feet)
    assert len(labels) == len(set(labels))
    assert all(re.match(r"\d\d:\d\d", label) for label in labels)
    page.get_by_role("button", name="rows", exact=True).click()
    shown(page, "#errors .where", "row 3")


def test_models_are_searched_and_sorted_and_the_server_tells_its_health(visit, server):
    for k, n in enumerate((3, 9, 6)):
        server.create(f"sorted{k}")
        learn(server, f"/models/sorted{k}", n)
    page = visit("/")
    page.wait_for_selector("#models tr[data-key=sorted2]")
    page.get_by_label("Show names with").fill("SORTED")
    names = "[...document.querySelectorAll('#models tbody tr')].map((row) => row.dataset.key)"
    assert page.evaluate(names) == ["sorted0", "sorted1", "sorted2"]
    page.get_by_label("Sort by").select_option("most rows first")
    assert page.evaluate(names) == ["sorted1", "sorted2", "sorted0"]
    page.get_by_label("Show names with").fill("nothing of the kind")
    shown(page, "#nothing", "No model matches.")
    shown(page, "#health dt", "Rows waiting to be learnt")
    shown(page, "#health dd", re.compile(r"[\d.]+\sm?s, 99% within [\d.]+\sm?s"))
    shown(page, "#health dd", re.compile(r"\d GB|\d MB"))


def test_classes_are_compared_with_the_majority(visit, server):
    server.create("majority", {"columns": ["a", "b"], "target": "y", "task": "classification", "learner": "fogd"})
    found, labels = rows(60)
    server.post("/models/majority/learn", {"rows": found, "labels": ["up" if y > 0 else "down" for y in labels]})
    page = visit("/view/majority")
    shown(page, "#errors .legend", "majority class")
    shown(page, "#window-than", "majority class")


def test_a_token_that_may_only_read_finds_no_buttons_and_is_told_why(visit, server):
    server.call("PUT", "/models/m/challengers/other", {"learner": "fogd", "settings": {"dim": 20}})
    server.post("/models/m/snapshots", {})
    page = visit("/view/m", role="read")
    shown(page, "#snapshots-hint", "Going back needs the role admin; this token has the role read.")
    shown(page, "#parts-hint", "Promoting needs the role admin")
    for name in ("Go back", "Promote", "Take one now"):
        assert page.get_by_role("button", name=name).count() == 0
    page.get_by_role("button", name="Predict").click()  # which reading allows
    shown(page, "#try-answer .big", re.compile(r"\d"))
    models = visit("/", role="read")
    models.wait_for_selector("#models tbody tr")
    assert not models.is_visible("#create")


def test_a_model_is_made_and_a_refusal_is_a_sentence(visit, server):
    page = visit("/")
    page.get_by_label("Name", exact=True).fill("made")
    page.get_by_label("Target").fill("y")
    page.get_by_role("button", name="Create").click()
    shown(page, "#said", "made is there and waits for its first rows.")
    shown(page, "#models tr[data-key=made] td", "not known yet")
    page.get_by_label("Name", exact=True).fill("made")
    page.get_by_role("button", name="Create").click()
    shown(page, "#said[data-trouble=yes]", "Refused: there is a model 'made' already")
    waiting = visit("/view/made")
    shown(waiting, "#try-none", "The first labelled row tells the columns.")
    server.call("DELETE", "/models/made?confirm=made")
    shown(waiting, "#gone", "There is no model “made” any more.")
    nobody = visit("/view/nobody")
    shown(nobody, "#gone", "There is no model “nobody”.")
    shown(nobody, "#connection", "no such model")


def test_hostile_names_levels_and_classes_are_text(visit, server):
    levels = [HOSTILE, '"><script>hacked=1</script>']
    found = [
        {HOSTILE: i / 7, "c": levels[i % 2], "__proto__": i / 3, "javascript:hacked=1": f"words {HOSTILE} and more {i}"}
        for i in range(60)
    ]
    server.create("hostile", {"target": "<b>y</b>"})
    server.post("/models/hostile/learn", {"rows": found, "labels": levels * 30})
    server.post("/models/hostile/learn", {"row": {**found[0], "<i>new</i>": 1}, "label": levels[0]})
    page = visit("/view/hostile")
    shown(page, "#last thead", HOSTILE)
    shown(page, "#last tbody", levels[1])
    shown(page, "#notes", "<i>new</i>")
    page.get_by_label(HOSTILE).fill("3")
    page.get_by_label("__proto__").fill("4")
    with page.expect_request("**/predict") as sent:
        page.get_by_role("button", name="Predict").click()
    assert {HOSTILE: 3, "__proto__": 4}.items() <= sent.value.post_data_json["row"].items()
    shown(page, "#try-answer .bars", levels[1])
    shown(page, "#try-answer .small", "<b>y</b>")
    assert page.evaluate("typeof hacked") == "undefined"
    assert page.locator("main img, main script, main b b, main i:not(.key, .bar)").count() == 0


@pytest.mark.parametrize("shade", ["light", "dark"])
def test_pages_fit_a_narrow_screen_and_can_be_read_by_light_and_dark(visit, shade):
    lightness = []
    for path, ready in (("/", "#models tbody tr"), ("/view/m", LINE)):
        page = visit(path, viewport={"width": 360, "height": 740}, color_scheme=shade)
        page.wait_for_selector(ready, state="attached")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        for ink in ("ink", "soft", "model", "last", "alarm", "good", "turn"):
            for under in ("card", "paper"):
                assert contrast(page, ink, under) >= 4.5, (ink, under)
        lightness.append(luminance(page, "paper"))
    assert all(value > 0.8 for value in lightness) if shade == "light" else all(value < 0.05 for value in lightness)


def luminance(page, name):
    text = page.evaluate("(name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name)", name)
    parts = np.array([int(text.strip()[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(page, one, other):
    """As WCAG has it; 4.5 is enough for small text."""
    low, high = sorted([luminance(page, one), luminance(page, other)])
    return (high + 0.05) / (low + 0.05)


def test_the_keyboard_reaches_everything_and_charts_have_a_table(visit, server):
    page = visit("/view/m")
    page.wait_for_selector(LINE, state="attached")
    page.focus("#errors svg.chart")
    shown(page, "#errors .legend .where", "row 60")
    page.keyboard.press("Home")
    first = shown(page, "#errors .legend .where", re.compile(r"row \d")).inner_text()
    assert first != "row 60"
    page.keyboard.press("Escape")
    shown(page, "#errors .legend .where", "row 60")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # "As a table"
    shown(page, "#errors table tbody th", "60")
    heads = page.locator("#errors table thead th").all_inner_texts()
    assert heads[0] == "row"
    assert {"main", "no change", "mean so far"} <= set(heads)
    controls = "input, select, textarea, button, svg.chart"
    nameless = """(all) => all.filter((one) => one.checkVisibility() && !one.labels?.length && !one.textContent.trim()
        && !one.getAttribute("aria-label")).length"""
    assert page.locator(f"main :is({controls})").evaluate_all(nameless) == 0
