"""Changes of the stream, told by the errors: found soon, over in time, not made up, and not the work of outliers."""

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("orjson")
stats = pytest.importorskip("scipy.stats")

from serving import Running

from nystream.data.schema import Schema
from nystream.serve.alarms import SURPRISE, Watch, rank_surprise
from nystream.serve.form import Form
from nystream.serve.meters import Meter


def told(losses, *, classes=False, rows=1):
    """Alarms and the rows at which they came, of a model with these losses."""
    task = "classification" if classes else "regression"
    form = Form(Schema(["x"], "y", task, ["a", "b"] if classes else None), 1, missing=False, weighted=False)
    watch, meter, found = Watch(form), Meter(task), []
    for start in range(0, len(losses), rows):
        part = losses[start : start + rows]
        if classes:
            meter.update(["a"] * len(part), ["b" if loss else "a" for loss in part])
        else:
            meter.update(np.sqrt(part)[:, None], np.zeros(len(part)))
        found += [(meter.n, alarm) for alarm in watch.errors(meter)]
    return found


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("rows", [1, 7, 64])
def test_a_change_is_told_once_and_is_over_when_the_errors_are_as_before(classes, rows):
    rng = np.random.default_rng(0)
    level = np.repeat([0.1, 0.6, 0.1], [1500, 200, 1500])
    losses = (rng.random(3200) < level).astype(float) if classes else level * rng.chisquare(1, 3200)
    (began, first), (ended, second) = told(losses, classes=classes, rows=rows)
    assert (first.cause, first.over, second.cause, second.over) == ("drift", False, "drift", True)
    assert 1500 < began <= 1700 + rows
    assert 1700 < ended <= 1700 + 150 + rows
    assert "drift around row 1," in first.message


def test_what_stays_becomes_what_is_usual_when_the_window_is_over():
    rng = np.random.default_rng(1)
    losses = np.repeat([0.1, 2.0], [1500, 3000]) * rng.chisquare(1, 4500)
    (began, _), (ended, _) = told(losses)
    assert began <= 1700
    assert 1000 <= ended - began <= 1100


@pytest.mark.parametrize("classes", [False, True])
def test_a_stream_that_does_not_change_raises_none(classes):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        losses = (rng.random(4000) < 0.2).astype(float) if classes else rng.chisquare(1, 4000) ** 2
        assert told(losses, classes=classes, rows=10) == []


def test_a_few_outliers_are_no_change():
    losses = np.random.default_rng(2).chisquare(1, 3000)
    losses[1500:1510] = 1e6
    assert told(losses) == []


def test_the_statistic_is_that_of_mann_and_whitney():
    rng = np.random.default_rng(3)
    for ties in (False, True):
        last, before = rng.normal(0.5, 1, 50), np.sort(rng.normal(size=300))
        if ties:
            last, before = last.round(), before.round()
        expected = stats.mannwhitneyu(last, before, alternative="greater", method="asymptotic", use_continuity=False)
        assert stats.norm.sf(rank_surprise(last, before)) == pytest.approx(expected.pvalue, rel=1e-9)
    assert rank_surprise(np.zeros(50), np.zeros(100)) == 0.0
    assert SURPRISE > 5


def test_a_served_model_tells_of_a_change(tmp_path):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(1000, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=1000)
    y[700:] *= -3
    with Running(tmp_path) as server:
        server.create("m")
        for start in range(0, 1000, 20):
            rows = [{"a": a, "b": b} for a, b in X[start : start + 20].tolist()]
            server.post("/models/m/learn", {"rows": rows, "labels": y[start : start + 20].tolist()})
        found = [note for note in server.call("GET", "/models/m")[1]["notes"] if note.get("cause") == "drift"]
    assert "drift around row " in found[0]["message"]
