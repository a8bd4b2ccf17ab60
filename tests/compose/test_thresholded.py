"""Thresholds: every cut tried by hand, the stretch that chooses, and what the wrapper leaves alone."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import f1_score

from nystream import Classifier
from nystream.compose import Standardized, Thresholded
from nystream.compose.thresholded import best_threshold
from nystream.features import Fourier
from nystream.kernels import Gaussian
from nystream.learners import FOGD, KONS, PKRR, SILK
from nystream.sklearn import OnlineKernelClassifier

G = Gaussian(0.7)
PLAIN = FOGD(G, dim=40, loss="logistic", eta=0.2, seed=0)
AIMS = [("accuracy", None), ("balanced_accuracy", None), ("f1", None), ("precision", 0.8), ("recall", 0.9)]


def stream(n=600, seed=0):
    """One in five is +1, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    f = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)
    return X, np.where(f >= 0.75, 1.0, -1.0)


def counts(scores, y, w, theta):
    """TP, FP, FN, TN of "score >= theta"."""
    said = scores >= theta
    return [
        w[(said == a) & ((y > 0) == b)].sum() for a, b in ((True, True), (True, False), (False, True), (False, False))
    ]


def worth(criterion, target, tp, fp, fn, tn):
    """What the definition says of a cut; larger is better."""
    precision, recall = tp / (tp + fp) if tp + fp else 0.0, tp / (tp + fn)
    if criterion == "accuracy":
        return tp + tn
    if criterion == "balanced_accuracy":
        return recall / 2 + tn / (tn + fp) / 2
    if criterion == "f1":
        return 2 * tp / (2 * tp + fp + fn)
    met, other = (precision, recall) if criterion == "precision" else (recall, precision)
    return (1, other) if met >= target else (0, met)


@pytest.mark.parametrize(("criterion", "target"), AIMS)
@pytest.mark.parametrize("seed", range(20))
def test_no_other_cut_is_better(criterion, target, seed):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(40) < 0.3, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    scores = np.round(rng.normal(size=40) + y - 0.5, rng.integers(0, 3))  # with ties
    w = rng.integers(0, 3, 40).astype(float) if seed % 2 else np.ones(40)
    w[:2] = 1.0
    theta = best_threshold(scores, y, w, criterion, target)
    reached = worth(criterion, target, *counts(scores, y, w, theta))
    cuts = np.unique(scores)
    others = [cuts[0] - 1, cuts[-1] + 1, *cuts, *(cuts[1:] + cuts[:-1]) / 2]
    assert all(worth(criterion, target, *counts(scores, y, w, cut)) <= reached for cut in others)


def test_a_precision_out_of_reach_takes_the_most_precise_cut():
    scores, y = np.array([0.1, 0.2, 0.3, 0.4]), np.array([1.0, -1.0, 1.0, -1.0])
    theta = best_threshold(scores, y, np.ones(4), "precision", 0.9)
    assert 0.2 < theta <= 0.3 or theta <= 0.1  # one half, the best there is
    assert best_threshold(scores, y, np.ones(4), "recall", 1.0) <= 0.1


def test_of_equal_cuts_the_nearest_to_zero_and_zero_itself_where_it_will_do():
    y = np.array([-1.0, -1.0, 1.0, 1.0])
    assert best_threshold(np.array([-2.0, -1.0, 1.0, 2.0]), y, np.ones(4)) == 0.0
    assert best_threshold(np.array([1.0, 2.0, 3.0, 5.0]), y, np.ones(4)) == 2.5
    assert best_threshold(np.array([-1.0, -1.0, 0.0, 1.0]), y, np.ones(4)) == 0.0  # a score of 0 decides +1
    near = np.nextafter(2.0, 3.0)
    assert best_threshold(np.array([1.0, 2.0, near, 5.0]), y, np.ones(4)) == near
    assert best_threshold(np.array([1.0, 1.0, 1.0, 1.0]), y, np.array([3.0, 1, 1, 1])) > 1.0
    assert best_threshold(np.array([-1.0, -1.0, -1.0, -1.0]), y, np.array([1.0, 1, 1, 3])) == -1.0


@pytest.mark.parametrize(("criterion", "target"), AIMS)
@pytest.mark.parametrize("inner", [PLAIN, SILK(G, budget=30), PKRR(Fourier(G, 40, seed=0), lam=0.1), KONS(G, clip=2.0)])
def test_every_threshold_is_that_of_the_stretch_before_it(criterion, target, inner):
    X, y = stream(260)
    f = inner.clone().run(X, y)
    model = Thresholded(inner, criterion=criterion, target=target, window=60, refresh=25, positive=1, caution=0.0)
    expected, theta, chosen = [], 0.0, set()
    for t in range(len(X)):
        if t and t % 25 == 0:
            part = slice(max(0, t - 60), t)
            theta = best_threshold(f[part], y[part], np.ones(t - part.start), criterion, target)
        chosen.add(theta)
        expected.append(f[t] - theta)
    rows = model.clone()
    assert_allclose(model.run(X, y), expected, rtol=1e-9, atol=1e-10)
    assert_allclose([rows.step(x, label) for x, label in zip(X, y, strict=True)], expected, rtol=1e-8, atol=1e-9)
    assert_allclose(model.predict(X), model.learner_.predict(X) - model.threshold, rtol=0, atol=1e-15)
    assert len(chosen) > 2


def test_weights_count_and_rounds_of_weight_zero_do_not():
    X, y = stream(300)
    weights = np.where(y > 0, 1.0, 0.0)
    model = Thresholded(PLAIN, window=100, refresh=10)
    model.run(X, y, weights)
    assert model.threshold == 0.0  # one label only: nothing to choose
    heavy, light = (Thresholded(PLAIN, window=300, refresh=100, caution=0.0) for _ in range(2))
    f = PLAIN.clone().run(X, y, np.where(y > 0, 5.0, 1.0))
    heavy.run(X, y, np.where(y > 0, 5.0, 1.0))
    assert heavy.threshold == best_threshold(f, y, np.where(y > 0, 5.0, 1.0))
    light.run(X, y)
    assert light.threshold != heavy.threshold


def test_one_label_so_far_leaves_the_threshold_alone():
    X, y = stream(400)
    y[:150] = -1.0
    model = Thresholded(PLAIN, criterion="f1", window=100, refresh=50)
    model.run(X[:150], y[:150])
    assert model.threshold == 0.0
    model.run(X[150:], y[150:])
    held = model.threshold
    assert held != 0.0
    model.run(X[:150], y[:150])  # the window now has -1 only
    model.run(X[:50], y[:50])
    before = model.threshold
    model.run(X[:50], y[:50])
    assert model.threshold == before


def test_held_out_rows_choose_where_there_is_no_window():
    X, y = stream(500)
    model = Thresholded(PLAIN, criterion="balanced_accuracy", window=0)
    assert model.tune(X, y) == 0.0  # nothing was learnt
    P = model.run(X[:300], y[:300])
    assert_array_equal(P, PLAIN.clone().run(X[:300], y[:300]))
    scores = model.predict(X[300:])
    theta = model.tune(X[300:], y[300:])
    assert theta == best_threshold(scores, y[300:], np.ones(200), "balanced_accuracy") != 0.0
    assert_allclose(model.predict(X[300:]), scores - theta, rtol=0, atol=1e-15)
    assert model.n_seen == 300
    model.run(X[300:], y[300:])
    assert model.threshold == theta


def test_a_classifier_decides_by_the_threshold_and_says_one_half_there():
    X, y = stream(800)
    model = Classifier(Thresholded(PLAIN, criterion="f1", window=300))
    scores = model.run(X, (y + 1) / 2)
    alone = Thresholded(PLAIN, criterion="f1", window=300)
    assert_allclose(scores[:, 1], alone.run(X, y), rtol=0, atol=1e-12)
    assert_array_equal(scores[:, 0], -scores[:, 1])
    P = model.probabilities(X)
    assert_array_equal(P[:, 1] > 0.5, alone.predict(X) > 0)
    both = Standardized(Thresholded(PLAIN, criterion="f1", window=300))
    Classifier(both).run(X, (y + 1) / 2)
    with pytest.raises(ValueError, match="2 classes"):
        model.run(X[:3], [0, 1, 2])


def test_f1_of_a_rare_label_gains():
    """What it is for: one in five is +1, and the logistic loss has its even odds where half of them are missed."""
    X, y = stream(4000)
    gains = []
    for inner in (PLAIN, SILK(G, budget=60), PKRR(Fourier(G, 60, seed=0), lam=0.1)):
        f1 = [
            worth("f1", None, *counts(p[1000:], y[1000:], np.ones(3000), 0.0))
            for p in (inner.clone().run(X, y), Thresholded(inner, criterion="f1").run(X, y))
        ]
        gains.append(f1[1] - f1[0])
    assert min(gains) > 0.0
    assert max(gains) > 0.02


def rare(n, seed):
    """One in a hundred is +1, far out in two of three columns."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.01, 1.0, -1.0)
    return rng.normal(size=(n, 3)) + np.outer(y > 0, [3.0, 0.0, 2.0]), y


@pytest.mark.parametrize("inner", [FOGD(G, dim=100, loss="logistic", seed=0), SILK(Gaussian(1.0), budget=60)])
def test_with_one_in_a_hundred_the_threshold_is_no_worse_than_none(inner):
    f1 = []
    for seed in range(3):
        X, y = rare(5000, seed)
        one = np.ones(3500)
        runs = [inner.clone().run(X, y), Thresholded(inner, criterion="f1").run(X, y)]
        f1.append([worth("f1", None, *counts(p[1500:], y[1500:], one, 0.0)) for p in runs])
    plain, moved = np.mean(f1, axis=0)
    assert moved >= plain - 0.005


def test_a_cut_that_chance_alone_makes_better_is_left_at_zero():
    scores, labels = np.array([-3.0, -2.0, -1.0, 1.0, 2.0]), np.array([-1.0, -1.0, 1.0, 1.0, 1.0])
    assert best_threshold(scores, labels, np.ones(5)) == -1.5  # one row more is right
    assert best_threshold(scores, labels, np.ones(5), caution=1.0) == 0.0
    many = [np.repeat(part, 20) + 0.001 * np.tile(np.arange(20), 5) * (part is scores) for part in (scores, labels)]
    for criterion in ("accuracy", "balanced_accuracy", "f1"):
        assert best_threshold(*many, np.ones(100), criterion, caution=2.0) < -0.9
    assert best_threshold(scores, labels, np.ones(5), "recall", 1.0, caution=9.0) == -1.5  # a demand is a demand


@pytest.mark.parametrize(("criterion", "target"), AIMS)
@pytest.mark.parametrize("seed", range(5))
def test_the_other_label_is_served_as_its_mirror_image(criterion, target, seed):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(60) < 0.3, 1.0, -1.0)
    scores, w = rng.normal(size=60) + y, rng.integers(1, 3, 60).astype(float)
    for caution in (0.0, 1.0):
        mirrored = best_threshold(-scores, -y, w, criterion, target, caution=caution)
        own = best_threshold(scores, y, w, criterion, target, positive=-1, caution=caution)
        assert_array_equal(scores < own, -scores >= mirrored)


def test_the_rare_class_is_the_positive_one_whatever_it_is_called():
    X, y = stream(3000)
    found = {}
    for names in (("ok", "rare"), ("zero", "rare")):  # the rare one comes second in the alphabet, then first
        labels = np.where(y > 0, names[1], names[0])
        model = OnlineKernelClassifier(Thresholded(PLAIN, criterion="f1"))
        said = model.fit(X[:2000], labels[:2000]).predict(X[2000:])
        found[names] = f1_score(labels[2000:] == "rare", said == "rare")
    assert found["ok", "rare"] == pytest.approx(found["zero", "rare"], abs=0.01)
    plain = PLAIN.clone()
    plain.run(X[:2000], y[:2000])
    assert found["zero", "rare"] > f1_score(y[2000:] > 0, plain.predict(X[2000:]) >= 0)
    common, other = (Thresholded(PLAIN, criterion="f1", positive=label, caution=0.0) for label in (-1, 1))
    common.run(X, y)
    other.run(X, y)
    assert common.threshold > other.threshold  # of the common label f1 is best where nearly all are said to be it


def test_bad_arguments_are_refused_with_the_way_out():
    for options, message in [
        ({"criterion": "auc"}, "criterion must be one of"),
        ({"criterion": "recall"}, "criterion='recall' needs a target in"),
        ({"target": 0.5}, "target=0.5 is for criterion 'precision' or 'recall', got 'accuracy'"),
        ({"criterion": "recall", "target": 1.5}, "target must be at most 1, got 1.5"),
        ({"criterion": "recall", "target": 0.0}, "target must be a number greater than 0"),
        ({"window": -1}, "window must be a whole number of at least 0"),
        ({"positive": "yes"}, "positive must be 'rare', 1 or -1, got 'yes'"),
        ({"caution": -1}, "caution must be a number at least 0"),
        ({"refresh": 0}, "refresh must be a whole number of at least 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            Thresholded(PLAIN, **options)
    for loss in ("softmax", "novelty"):
        with pytest.raises(ValueError, match="does not learn -1/\\+1 labels"):
            Thresholded(FOGD(G, loss=loss))
    with pytest.raises(ValueError, match="does not take weights"):
        Thresholded(KONS(G)).run(*stream(5), weights=np.full(5, 2.0))
