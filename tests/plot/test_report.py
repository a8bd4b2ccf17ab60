"""The HTML page: well formed, complete, self-contained, without scripts, and the same in a browser."""

import html
import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest

import nystream
from nystream.evaluate.result import Result

pytest.importorskip("matplotlib")
from nystream.plot import regret_chart, report

VOID = {"meta", "br", "hr", "img", "input", "link"}
METRICS = ["mse", "mse@200", "regret", "regret_bound", "size", "bytes", "rows_per_second"]


class Page(HTMLParser):
    """Checks that tags are closed in order; collects identifiers, references, tags and text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.ids, self.references, self.text = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.handle_startendtag(tag, attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            assert not name.startswith("on"), f"{name} runs a script"
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src"):
                self.references.append(value)
            self.references += re.findall(r"url\((.*?)\)", value or "")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        self.text.append(text)


@pytest.fixture(scope="module")
def race():
    kernel = nystream.Gaussian(0.5)
    learners = {
        "pkawv": nystream.PKAWV(nystream.Fourier(kernel, 60, seed=0), lam=0.1),
        "pkrr": nystream.PKRR(nystream.Fourier(kernel, 60, seed=0), lam=0.1),
        "<fogd> & co": nystream.FOGD(kernel, dim=60, loss="squared", seed=0),
    }
    return nystream.compare(nystream.streams.sine(800, seed=0), learners, METRICS, every=50)


@pytest.fixture(scope="module")
def text(race):
    return report(race, title="Sines & waves", about={"source": "sine"})


def test_the_page_is_well_formed_and_names_every_learner(race, text):
    page = Page(text)
    words = " ".join(page.text)
    for result in race:
        assert words.count(result.name) >= 3  # table, settings, readings; curves too
        assert result.learner in words
    assert "Sines & waves" in words
    assert nystream.__version__ in words
    assert np.__version__ in words
    assert page.tags.count("svg") == 7  # error, windowed, regret, size, bytes, speed, error against speed


def test_the_page_refers_to_nothing_outside_itself(text):
    page = Page(text)
    assert "http://" not in text
    assert "https://" not in text
    assert not {"script", "link", "img", "iframe", "object", "embed"} & set(page.tags)
    assert all(reference.startswith("#") for reference in page.references)
    assert "default-src 'none'" in text


def test_identifiers_are_unique_and_found(text):
    page = Page(text)
    assert len(set(page.ids)) == len(page.ids)
    assert {reference[1:] for reference in page.references} <= set(page.ids)


def test_the_charts_take_their_colours_from_the_page(text):
    charts = "".join(re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL))
    assert set(re.findall(r"#[0-9a-fA-F]{6}\b", charts)) == set()
    used = set(re.findall(r"var\(--(\w+)\)", text))
    defined = re.findall(r"--(\w+):", text)
    assert all(defined.count(name) == 2 for name in used)  # light and dark


def test_the_last_readings_are_those_of_the_comparison(race, text):
    table = text[text.index("Last readings") : text.index("Over the stream")]
    for name, value in race.final("bytes").items():
        assert f"{value:,.0f}" in table, name
    best = re.findall(r'class="best">([^<]*)<', table)
    assert f"{min(race.final('mse').values()):.6f}" in best
    assert len(best) == len(METRICS) - 1  # a large bound is no merit


def test_the_same_results_give_the_same_page(race, text):
    assert report(race, title="Sines & waves", about={"source": "sine"}) == text


def test_a_single_result_with_one_reading_and_no_numbers_has_a_page(tmp_path):
    columns = {"n": np.array([3]), "mse": np.array([0.5]), "regret": np.array([np.nan])}
    result = Result("lonely", "Lonely()", columns, {"mse": "lower"}, {"rows": 3, "seconds": 0.1})
    text = report(result, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == text
    page = Page(text)
    assert page.tags.count("svg") == 1
    assert "lonely" in " ".join(page.text)


def test_a_report_that_is_no_html_file_is_refused(race, tmp_path):
    with pytest.raises(ValueError, match=r"end '.*page\.pdf' with \.html"):
        report(race, tmp_path / "page.pdf")
    assert list(tmp_path.iterdir()) == []


def test_bounds_lie_inside_the_regret_chart(race):
    axes = regret_chart(list(race)).axes[0]
    assert len(axes.get_lines()) == 4  # two learners have a regret, and each a bound
    top = max(float(np.nanmax(race[name]["regret_bound"])) for name in ("pkawv", "pkrr"))
    assert top <= axes.get_ylim()[1] <= 2 * top


def test_a_browser_shows_all_of_it(text, tmp_path):
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("no chromium on this machine")
    (tmp_path / "page.html").write_text(text)
    quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]
    options = ["--headless", "--no-sandbox", "--disable-gpu", *quiet, f"--user-data-dir={tmp_path / 'profile'}"]
    command = [browser, *options, "--dump-dom", f"file://{tmp_path}/page.html"]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
    assert shown.count("<svg") == text.count("<svg")
    assert shown.count("<tr>") == text.count("<tr>")
    assert html.escape("Sines & waves") in shown
