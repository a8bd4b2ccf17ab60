"""Thresholds: every cut tried by hand, the stretch that chooses, and what the wrapper leaves alone."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import f1_score

import nystream
from nystream import Auto, Classifier, Model
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
    with pytest.raises(ValueError, match="learns without labels"):
        Thresholded(FOGD(G, loss="novelty"))
    with pytest.raises(ValueError, match=r"no probabilities for a threshold; use Thresholded\(Class"):
        Thresholded(FOGD(G, loss="multiclass_hinge"))
    with pytest.raises(ValueError, match="does not take weights"):
        Thresholded(KONS(G)).run(*stream(5), weights=np.full(5, 2.0))


# -- learners of classes, and costs ------------------------------------------------------------------------------------
COSTS = {"fp": 1.0, "fn": 6.0}
OF_CLASSES = {
    "auto": Auto(),
    "softmax": FOGD(G, dim=40, loss="softmax", eta=0.2, seed=0),
    "codes": Classifier(PKRR(Fourier(G, 40, seed=0), lam=0.1)),
    "log odds": Classifier(PLAIN),
    "margins": Classifier(SILK(G, budget=40)),
    "margins, scaled": Standardized(Classifier(SILK(G, budget=40))),
}


def cost(said, y, costs=COSTS):
    return costs["fn"] * np.sum((y == 1) & (said == 0)) + costs["fp"] * np.sum((y == 0) & (said == 1))


@pytest.mark.parametrize("name", OF_CLASSES)
def test_costs_decide_by_the_expected_cost_of_every_row(name):
    X, y = stream(400)
    y = (y + 1) / 2
    y[:30] = 0.0  # the second class is late
    inner = OF_CLASSES[name].for_classes()
    model, expected = Thresholded(OF_CLASSES[name], costs=COSTS), []
    assert model.labels == "class"
    scores = model.run(X, y)
    for x, label in zip(X, y, strict=True):
        no, yes = inner.probabilities(x[None])[0] if inner.d_ else (0.5, 0.5)
        said = inner.step(x, label)
        odds = said[1] - said[0] if inner.link == "softmax" else np.log(yes / no)
        expected.append(odds - np.log(COSTS["fp"] / COSTS["fn"]))
    assert_allclose(scores[:, 1] - scores[:, 0], expected, rtol=1e-6, atol=1e-7)
    P = model.probabilities(X)
    assert_allclose(P, inner.probabilities(X), rtol=1e-8, atol=1e-10)  # as they were: costs move the decision alone
    chosen = P[:, 1] * COSTS["fn"] > P[:, 0] * COSTS["fp"]
    assert_array_equal(model.predict(X).argmax(axis=1) == 1, chosen)
    assert chosen.sum() > (P[:, 1] > 0.5).sum()
    assert nystream.from_bytes(model.to_bytes()).predict(X).tobytes() == model.predict(X).tobytes()


@pytest.mark.parametrize("name", [name for name in OF_CLASSES if "scaled" not in name])  # its margins say too little
def test_costs_are_lower_than_without_them(name):
    X, y = stream(2000, seed=1)
    y = (y + 1) / 2
    plain = OF_CLASSES[name].for_classes().run(X, y)
    careful = Thresholded(OF_CLASSES[name], costs=COSTS).run(X, y)
    after = slice(200, None)
    assert cost(careful[after].argmax(axis=1), y[after]) < 0.9 * cost(plain[after].argmax(axis=1), y[after])


def test_the_positive_class_is_the_one_that_is_named_whichever_comes_first():
    X, y = stream(600)
    names, costs = np.where(y > 0, "fraud", "fine"), {"fp": 1, "fn": 8}
    flags = {}
    assert y[0] < 0
    for order in (slice(None), np.r_[np.argmax(y), np.arange(600)]):  # "fine" appears first, then "fraud"
        model = Model(Thresholded(Auto(), costs=costs, positive="fraud"))
        model.run(X[order], names[order])
        assert model.predict(X).tolist().count("fraud") > (y > 0).sum()
        number = model.classes.index("fraud")
        assert_allclose(model.learner_.threshold, np.log(1 / 8) * (1 if number else -1), rtol=0, atol=1e-15)
        flags[number] = model.predict(X) == "fraud"
        P = model.probabilities(X)[:, number]
        assert_array_equal(flags[number], 8 * P > 1 - P)
        again = nystream.from_bytes(model.to_bytes())
        assert_array_equal(again.run(X[:50], names[:50]), model.run(X[:50], names[:50]))
    assert set(flags) == {0, 1}
    for labels in (y > 0, (y > 0).astype(int)):  # of booleans and of 0 and 1 it is clear
        model = Model(Thresholded(Auto(), costs=costs), schema=nystream.Schema(["a", "b", "c"], task="classification"))
        model.run(X, labels)
        assert np.mean(model.predict(X) == 1) > np.mean(y > 0)


def test_a_model_with_one_class_so_far_predicts_it():
    X, y = stream(200)
    model = Model(Thresholded(Auto(), costs=COSTS, positive="late"))
    assert model.run(X[:20], ["early"] * 20).tolist() == [None] + ["early"] * 19
    model.run(X[20:], np.where(y[20:] > 0, "late", "early"))
    assert set(model.predict(X)) == {"early", "late"}
    with pytest.raises(ValueError, match="3 classes"):
        model.run(X[:1], ["third"])


def test_a_positive_class_that_is_unclear_or_unknown_is_refused():
    X, y = stream(50)
    names = np.where(y > 0, "b", "a")
    assert len(set(names)) == 2
    for positive, message in [
        (None, "need to know which class is the positive one; give positive='"),
        ("c", "positive='c' is not a class of this stream; its classes are '"),
        (1, "positive=1 is not a class of this stream"),
    ]:
        with pytest.raises(ValueError, match=message):
            Model(Thresholded(Auto(), costs=COSTS, positive=positive)).run(X, names)
    with pytest.raises(ValueError, match="positive='b' names a class"):
        Thresholded(Auto(), costs=COSTS, positive="b").run(X, (y + 1) / 2)
    model = Model(Thresholded(Auto(), costs=COSTS, positive="typo"))
    model.run(X[:3], ["a"] * 3)
    before = model.to_bytes()
    with pytest.raises(ValueError, match="positive='typo'"):
        model.run(X[3:6], ["b"] * 3)
    assert model.to_bytes() == before


def test_tables_reach_auto_through_a_threshold():
    rng = np.random.default_rng(0)
    shops = rng.choice(["x", "y", "z"], 400)
    y = np.where((shops == "z") & (rng.random(400) < 0.7), "bad", "good")
    rows = [{"shop": shop, "amount": float(amount)} for shop, amount in zip(shops, rng.normal(size=400), strict=True)]
    plain, model = Model(Auto()), Model(Thresholded(Auto(), costs={"fp": 1, "fn": 4}, positive="bad"))
    plain.run(rows, y)
    model.run(rows, y)
    assert_array_equal(model.probabilities(rows), plain.probabilities(rows))  # the same encoding, the same experts
    assert np.mean(model.predict(rows) == "bad") > 0.2


def test_a_criterion_of_probabilities_and_the_name_of_its_class():
    X, y = stream(3000)
    names = np.where(y > 0, "yes", "no")
    found = {}
    for positive in ("yes", "no", "rare"):
        model = Model(Thresholded(Classifier(PLAIN), criterion="recall", target=0.95, positive=positive, window=1500))
        said = model.run(X, names)[1000:]
        found[positive] = [np.mean(said[names[1000:] == name] == name) for name in ("yes", "no")]
    assert found["yes"][0] > 0.9 > found["no"][0]
    assert found["no"][1] > 0.9 > found["yes"][1]
    assert found["rare"] == found["yes"]
    theta = model.learner_.threshold
    assert np.mean(model.probabilities(X)[:, model.classes.index("yes")] > 0.5) < np.mean(model.predict(X) == "yes")
    X, y = stream(500, seed=2)
    assert model.learner_.tune(X, (y + 1) / 2) != theta


def test_bad_costs_are_refused_with_the_way_out():
    for options, message in [
        ({"costs": {"fp": 1}}, "costs must have the keys 'fp' and 'fn'"),
        ({"costs": {"fp": 1, "fn": 0}}, r"costs\['fn'\] must be a number greater than 0"),
        ({"costs": COSTS, "criterion": "f1"}, "give costs or criterion='f1', not both"),
        ({"costs": COSTS, "positive": "rare"}, "give positive=<the class>"),
        ({"positive": 1.5}, "positive must be 'rare' or a class"),
    ]:
        with pytest.raises(ValueError, match=message):
            Thresholded(Auto(), **options)
    with pytest.raises(ValueError, match=r"costs need probabilities.*Thresholded\(Classifier\(learner\), costs="):
        Thresholded(PLAIN, costs=COSTS)
    with pytest.raises(ValueError, match="cannot be tuned"):
        Thresholded(Auto(), costs=COSTS).tune(*stream(5))
