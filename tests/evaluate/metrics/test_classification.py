import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, softmax
from sklearn import metrics as sk

from nystream.evaluate.metrics import F1, Accuracy, BalancedAccuracy, Kappa, LogLoss

ORACLES = {
    Accuracy: sk.accuracy_score,
    BalancedAccuracy: sk.balanced_accuracy_score,
    F1: sk.f1_score,
    Kappa: sk.cohen_kappa_score,
}


def signs(n=400, seed=1):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.3, 1.0, -1.0)
    return y, y + 1.5 * rng.normal(size=n), rng.random(n)


def classes(n=400, k=5, seed=2):
    rng = np.random.default_rng(seed)
    y = np.floor(k * rng.random(n) ** 2)
    return y, np.eye(k)[y.astype(int)] + 0.7 * rng.normal(size=(n, k)), rng.random(n)


def fed(metric, Y, P, w=None, cuts=(7, 8, 100)):
    for part in np.split(np.arange(len(Y)), cuts):
        metric.update(Y[part], P[part], None if w is None else w[part])
    return metric.value


@pytest.mark.parametrize("kind", ORACLES)
@pytest.mark.parametrize("weighted", [False, True])
def test_sign_decisions_have_the_values_of_scikit_learn(kind, weighted):
    y, p, w = signs()
    w = w if weighted else None
    assert_allclose(fed(kind(), y, p, w), ORACLES[kind](y, np.where(p >= 0, 1, -1), sample_weight=w), rtol=1e-12)


@pytest.mark.parametrize("kind", ORACLES)
@pytest.mark.parametrize("weighted", [False, True])
def test_class_decisions_have_the_values_of_scikit_learn(kind, weighted):
    y, p, w = classes()
    w = w if weighted else None
    more = {"average": "macro"} if kind is F1 else {}
    expected = ORACLES[kind](y, p.argmax(axis=1), sample_weight=w, **more)
    assert_allclose(fed(kind(), y, p, w), expected, rtol=1e-12)
    assert_allclose(kind().over(np.eye(5)[y.astype(int)], p, w), expected, rtol=1e-12)  # one-hot labels


@pytest.mark.parametrize("kind", ORACLES)
def test_classes_that_appear_late_count_as_if_they_had_been_known(kind):
    y, p, _ = classes()
    order = np.argsort(y > 2, kind="stable")
    y, p = y[order], p[order]
    p[y <= 2, 3:] = -np.inf
    early = int((y <= 2).sum())
    assert kind().update(y[:early], p[:early, :3]).update(y[early:], p[early:]).value == kind().update(y, p).value


@pytest.mark.parametrize("kind", ORACLES)
def test_a_nan_prediction_is_a_wrong_decision_for_no_class(kind):
    y, p, _ = classes(n=50)
    p[::7] = np.nan
    decided = p.argmax(axis=1)
    decided[::7] = 99
    seen = [c for c in range(5) if c in y or c in decided]
    expected = {
        Accuracy: lambda: sk.accuracy_score(y, decided),
        BalancedAccuracy: lambda: np.mean(sk.recall_score(y, decided, labels=np.unique(y), average=None)),
        F1: lambda: np.mean(sk.f1_score(y, decided, labels=seen, average=None)),
        Kappa: lambda: sk.cohen_kappa_score(y, decided),
    }[kind]()
    assert_allclose(kind().over(y, p), expected, rtol=1e-12)


def test_zero_decides_for_plus_one_and_ties_for_the_smallest_class():
    assert Accuracy().update([1, 1], [0.0, -0.0]).value == 1.0
    assert Accuracy().update([1, 2], [[0.0, 3.0, 3.0], [0.0, 3.0, 3.0]]).value == 0.5


def test_f1_of_signs_is_that_of_plus_one_even_when_classes_were_few():
    assert np.isnan(F1().update([-1, -1], [-1.0, -1.0]).value)  # no positive seen or decided: undefined
    assert F1().update([-1, -1], [-1.0, 1.0]).value == 0.0
    assert F1().update([1, -1], [1.0, 1.0]).value == pytest.approx(2 / 3)
    assert F1().update([0, 0], [[1.0, 0.0], [1.0, 0.0]]).value == 1.0  # classes: macro over those present


def test_undefined_values_are_nan():
    assert np.isnan(Kappa().update([1, 1], [1.0, 1.0]).value)
    assert all(np.isnan(kind().value) for kind in (*ORACLES, LogLoss))


@pytest.mark.parametrize("weighted", [False, True])
def test_log_loss_has_the_values_of_scikit_learn(weighted):
    y, p, w = signs()
    w = w if weighted else None
    p = expit(p)
    p[:3] = [0.0, 1.0, 0.5]
    assert_allclose(fed(LogLoss(), y, p, w), sk.log_loss(y, p, sample_weight=w), rtol=1e-9)
    y, p, w = classes()
    p = softmax(p, axis=1)
    assert_allclose(fed(LogLoss(), y, p), sk.log_loss(y, p), rtol=1e-9)


def test_a_class_without_an_output_had_probability_zero():
    largest = -np.log(np.finfo(float).eps)
    assert_allclose(LogLoss().update([2], [[0.5, 0.5]]).value, largest)


def test_labels_and_scores_of_the_wrong_kind_are_refused():
    with pytest.raises(ValueError, match=r"accuracy needs labels that are -1 or \+1; got 0.0 at row 1"):
        Accuracy().update([1, 0], [1.0, 1.0])
    with pytest.raises(ValueError, match="class numbers 0, 1, 2"):
        Kappa().update([0.5], [[1.0, 0.0]])
    with pytest.raises(ValueError, match="class numbers"):
        Kappa().update([np.nan], [[1.0, 0.0]])
    with pytest.raises(ValueError, match="one-hot"):
        F1().update([[1.0, 1.0]], [[1.0, 0.0]])
    with pytest.raises(ValueError, match="3 labels for 2 predictions"):
        Accuracy().update([1, 1, 1], [1.0, 1.0])
    with pytest.raises(ValueError, match=r"logloss takes probabilities.*1.7 at row 1"):
        LogLoss().update([1, 1], [0.5, 1.7])
    with pytest.raises(ValueError, match="logloss takes probabilities that sum to 1"):
        LogLoss().update([1], [[0.5, 0.6]])
