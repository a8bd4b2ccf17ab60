"""What people see of a model, a learner or a result: `repr` and the card of a notebook."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest
from numpy.testing import assert_allclose

import nystream
from nystream import FOGD, PKRR, Classifier, Fourier, Gaussian, Model
from nystream.runtime.cards import card

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1]
ROWS = [dict(zip("abc", row, strict=True)) for row in X.tolist()]
WORDS = np.where(Y > 0.5, "<i>up</i>", "down")


def ridge():
    return PKRR(Fourier(Gaussian(1.0), 30, seed=0), lam=0.1)


class Tags(HTMLParser):
    """Tags and texts of a page; refuses tags that are not closed."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.texts = [], set(), []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_a_trained_model_says_rows_columns_task_and_error():
    model = Model(ridge())
    assert repr(model) == "Model(learner=PKRR(Fourier(Gaussian(), 30, seed=0), lam=0.1))"
    P = model.run(ROWS, Y)
    rmse, deviation = np.sqrt(np.mean((P[1:] - Y[1:]) ** 2)), Y[1:].std()
    assert np.isnan(P[0]) or P[0] == 0.0
    said = repr(model)
    assert said.startswith(
        "<Model PKRR(Fourier(Gaussian(), 30, seed=0), lam=0.1): 200 rows, 3 columns, regression, RMSE "
    )
    numbers = [float(part) for part in said.replace(")>", "").replace("(always the mean: ", "").split()[-2:]]
    assert model.score_["rows"] == 199
    assert_allclose(numbers, (rmse, deviation), rtol=1e-3)
    measured = nystream.prequential((ROWS, Y), Model(ridge(), task="regression"), "rmse").final["rmse"]
    assert_allclose(numbers[0], measured, rtol=1e-3)
    assert nystream.from_bytes(model.to_bytes()).__repr__() == said


def test_classes_are_counted_with_their_mistakes():
    model = Model(Classifier(ridge()))
    P = model.run(ROWS, WORDS)
    wrong, common = np.mean(P[1:] != WORDS[1:]), 1 - max(np.mean(WORDS[1:] == w) for w in set(WORDS))
    assert f"classification, error rate {wrong:.3g} (always the most common class: {common:.3g})" in repr(model)


@pytest.mark.parametrize("labels", [Y, WORDS, np.column_stack([Y, 100 + Y])])
def test_blocks_and_rows_count_alike_and_models_that_merge_count_together(labels):
    whole, parts, steps = (Model(ridge()) for _ in range(3))
    whole.run(ROWS, labels)
    for i in range(0, 200, 33):
        parts.run(ROWS[i : i + 33], labels[i : i + 33])
    for row, label in zip(ROWS, labels, strict=True):
        steps.step(row, label if np.ndim(label) else label.item())
    assert whole.score_["rows"] == 199
    for other in (parts, steps):
        assert other.score_.keys() == whole.score_.keys()
        for name, value in whole.score_.items():
            assert_allclose(other.score_[name], value, rtol=1e-7, atol=1e-9)
    left, right = Model(ridge()), Model(ridge())
    left.run(ROWS[:120], labels[:120])
    right.run(ROWS[120:], labels[120:])
    if left.task == "classification" and left.classes != right.classes:
        return
    both = left.score_["rows"] + right.score_["rows"]
    apart = [np.sum(m.score_.get("squares", m.score_.get("mistakes"))) for m in (left, right)]
    left.merge(right)
    assert left.score_["rows"] == both
    assert_allclose(np.sum(left.score_.get("squares", left.score_.get("mistakes"))), sum(apart))
    if "origin" in left.score_:
        mean = np.array(left.score_["origin"]) + np.array(left.score_["sums"]) / both
        assert_allclose(mean, np.delete(labels.reshape(200, -1), [0, 120], axis=0).mean(axis=0))


@pytest.mark.parametrize("way", ["block", "rows"])
@pytest.mark.parametrize("labels", [500 + Y, WORDS])
def test_no_row_up_to_the_first_label_counts_in_the_error(labels, way):
    some = [None] * 10 + labels.tolist()[10:]
    model = Model(ridge(), task="classification" if labels is WORDS else "regression")
    if way == "block":
        model.run(ROWS, some)
    else:
        for row, label in zip(ROWS, some, strict=True):
            model.step(row, label)
    assert model.score_["rows"] == 189
    metric = "accuracy" if labels is WORDS else "mse"
    fresh = Model(ridge(), task=model.task)
    wanted = nystream.prequential((ROWS, some), fresh, metric).final[metric]
    found = 1 - model.score_["mistakes"] / 189 if labels is WORDS else model.score_["squares"][0] / 189
    assert_allclose(found, wanted, rtol=1e-9)


def test_every_card_is_whole_and_escapes_what_users_wrote():
    model = Model(Classifier(ridge()))
    model.run([{"<script>alert(1)</script>": row["a"], "b": row["b"]} for row in ROWS], WORDS)
    learner = FOGD(Gaussian(1.0), loss="squared", seed=0)
    stream = nystream.streams.sine(600, seed=0)
    result = nystream.prequential(stream, learner, ["rmse"], every=20, name="<b>mine</b>")
    both = nystream.compare(stream, {"<u>a</u>": ridge(), "b": learner.clone()}, ["rmse", "seconds"])
    fresh = FOGD(Gaussian(1.0))
    for thing, texts in [
        (Model(), ["Auto()", "none yet"]),
        (model, ["classification", "2: ", "<script>alert(1)</script> (number), b (number)", "<i>up</i>", "200"]),
        (learner, ["FOGD", "600", "columns"]),
        (fresh, ["FOGD(Gaussian())", "none yet"]),
        (result, ["<b>mine</b>", "rmse", "600"]),
        (both, ["<u>a</u>", "rmse", "600 rows"]),
    ]:
        read = Tags(thing._repr_html_())
        assert read.tags <= {"style", "div", "b", "code", "table", "thead", "tbody", "tr", "th", "td"}
        shown = "\n".join(read.texts)
        for text in texts:
            assert text in shown, (thing, text)
    assert result._repr_html_().count("<tr>") == 2 + 1 + 10  # facts, header, and ten readings of thirty
    assert both._repr_html_().count('class="best"') == 2


def test_a_card_cuts_texts_that_are_too_long():
    assert len(card("t", "x" * 10_000)) < len(card("t")) + 700
