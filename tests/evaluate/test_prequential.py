import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.special import expit, softmax

from nystream import Auto
from nystream.evaluate import prequential
from nystream.evaluate.metrics import F1, METRICS, MSE, LogLoss, Windowed
from oracles.evaluate import Blocks, Linear, Ridge, class_stream, regression_stream, sign_stream

NUMBERS = ["mse", "rmse", "mae", "r2", "mse@70", "regret", "size", "bytes"]
SIGNS = ["accuracy", "balanced_accuracy", "logloss", "auc", "f1", "kappa", "logloss@50", "mse"]
CLASSES = ["accuracy", "balanced_accuracy", "logloss", "f1", "kappa", "f1@60"]
CASES = {
    "numbers": (Ridge, regression_stream, NUMBERS),
    "signs": (Linear, sign_stream, SIGNS),
    "classes": (lambda: Linear("softmax"), class_stream, CLASSES),
}


def same(a, b):
    assert a.columns.keys() == b.columns.keys()
    for column in a.columns:
        assert_array_equal(a[column], b[column], err_msg=column)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("delay", [0, 13])
def test_readings_have_the_same_bits_whatever_the_blocks(case, delay):
    learner, stream, metrics = CASES[case]
    X, Y = stream(330)
    whole = prequential((X, Y), learner(), metrics, every=100, block=1000, delay=delay)
    assert whole["n"].tolist() == [100, 200, 300, 330]
    for block in (1, 37, 100):
        same(whole, prequential(Blocks(X, Y), learner(), metrics, every=100, block=block, delay=delay))


@pytest.mark.parametrize("case", CASES)
def test_more_readings_change_no_reading(case):
    learner, stream, metrics = CASES[case]
    fine = prequential(stream(120), learner(), metrics, every=1)
    coarse = prequential(stream(120), learner(), metrics, every=40)
    assert len(fine["n"]) == 120
    for column in coarse.columns:
        assert_array_equal(fine[column][39::40], coarse[column], err_msg=column)


def test_without_delay_the_metrics_are_those_of_run():
    X, y = regression_stream(250)
    learner, twin = Ridge(), Ridge()
    result = prequential((X, y), learner, ["mse", "mse@30", "regret", "size"], every=60, block=17)
    P = twin.run(X, y)
    assert result["n"].tolist() == [60, 120, 180, 240, 250]
    assert result.final["mse"] == MSE().over(y[1:], P[1:])  # the first row is predicted before any label
    assert result["mse@30"].tolist() == [MSE().over(y[n - 30 : n], P[n - 30 : n]) for n in (60, 120, 180, 240, 250)]
    assert result.final["regret"] == pytest.approx(twin.regret())
    assert learner.n_seen == 250
    assert_array_equal(learner.predict(X), twin.predict(X))


def _after(delay, y, P):
    """The error of the rows that were predicted after a label was learnt; nothing (0) if there are none yet."""
    return MSE().over(y[delay + 1 :], P[delay + 1 :]) if len(y) > delay + 1 else 0


@pytest.mark.parametrize("delay", [1, 5, 60, 500])
def test_a_delay_equals_the_slow_loop_that_learns_each_row_that_much_later(delay):
    X, y = regression_stream(150)
    learner, twin = Ridge(), Ridge()
    result = prequential((X, y), learner, ["mse", "regret"], every=50, block=32, delay=delay)
    P = np.empty(150)
    regrets = []
    for t in range(150):
        P[t] = twin.predict(X[t : t + 1])[0]
        if t >= delay:  # the label of row t - delay arrives after row t
            twin.step(X[t - delay], y[t - delay])
        if (t + 1) % 50 == 0:
            regrets.append(twin.regret() if twin.n_seen else 0.0)
    assert np.nan_to_num(result["mse"]).tolist() == [_after(delay, y[:n], P[:n]) for n in (50, 100, 150)]
    assert result["regret"].tolist() == pytest.approx(regrets)
    for t in range(max(0, 150 - delay), 150):
        twin.step(X[t], y[t])
    assert_array_equal(learner.predict(X), twin.predict(X))  # outstanding labels are learnt at the end
    assert learner.n_seen == 150


def test_rows_of_a_delayed_learner_that_saw_no_label_count_nowhere():
    X, y = regression_stream(20)
    seen = []
    result = prequential((X, np.column_stack((y, -y))), Ridge(), "mse", delay=100, watch=seen.append)
    assert np.isnan(result.final["mse"])
    assert_array_equal(np.concatenate(seen), np.zeros((20, 2)))
    X, y = class_stream(20)
    result = prequential((X, y), Linear("softmax"), ["accuracy", "logloss"], delay=100)
    assert np.isnan([result.final["accuracy"], result.final["logloss"]]).all()


def test_probabilities_are_made_from_log_odds_where_the_loss_allows():
    X, y = sign_stream(90)
    assert prequential((X, y), Linear(), "logloss").final["logloss"] == LogLoss().over(
        y[1:], expit(Linear().run(X, y)[1:])
    )
    X, y = class_stream(90)
    y = np.minimum(y, 1.0)
    P = softmax(Linear("softmax").run(X, y), axis=1)
    assert prequential((X, y), Linear("softmax"), "logloss").final["logloss"] == LogLoss().over(y[1:], P[1:])


class Asked(Linear):
    """A learner whose predictions are not log odds by name of its loss, but that gives probabilities when asked."""

    @property
    def labels(self):
        return "class"

    def probabilities(self, X, ahead=None):
        return softmax(self.predict(X, ahead), axis=1)


@pytest.mark.parametrize("delay", [0, 7])
def test_a_learner_asked_for_probabilities_gives_them_before_each_label(delay):
    X, y = class_stream(80)
    told = prequential((X, y), Linear("softmax"), ["logloss", "f1"], every=30, delay=delay)
    asked = prequential((X, y), Asked(loss="other"), ["logloss", "f1"], every=30, delay=delay)
    assert_array_equal(told["f1"], asked["f1"])
    assert asked["logloss"].tolist() == pytest.approx(told["logloss"].tolist(), rel=1e-12)


def test_a_late_class_cannot_win_before_it_appeared():
    X, y = np.ones((4, 1)), np.array([0.0, 1.0, 0.0, 3.0])
    learner = Linear("softmax", eta=1.0)
    learner.run(np.ones((1, 1)), [0.0])
    learner.w_ = np.array([[-2.0, -1.0]])  # scores below 0, that of a class without weights
    result = prequential((X, y), learner, ["f1", "accuracy"], every=1, block=4)
    assert result["accuracy"][0] == 0.0  # row 0: class 1 wins
    assert result["f1"][0] == F1().over([0.0], [[-2.0, -1.0]])


def test_metrics_of_a_least_squares_classifier_read_its_signs():
    X, y = sign_stream(100)
    result = prequential((X, y), Ridge(), ["accuracy", "auc", "mse"])
    assert result.final["accuracy"] == METRICS["accuracy"]().over(y[1:], Ridge().run(X, y)[1:])


def test_readings_can_double():
    result = prequential(regression_stream(21), Ridge(), "mse", every="doubling", block=5)
    assert result["n"].tolist() == [1, 2, 4, 8, 16, 21]


def test_logarithmic_readings_are_dense_and_few():
    result = prequential(regression_stream(1000), Ridge(), "mse", every="logarithmic", block=7)
    between = [n for low in (128, 256) for n in range(low, 2 * low, low // 64)]
    assert result["n"].tolist() == [*range(1, 128), *between, *range(512, 1000, 8), 1000]


def test_a_limit_stops_without_asking_for_more():
    X, y = regression_stream(1000)
    stream = Blocks(X, y)
    result = prequential(stream, Ridge(), "mse", every=40, block=50, limit=100)
    assert result["n"].tolist() == [40, 80, 100]
    assert stream.given < 150
    assert prequential((X, y), Ridge(), "mse", limit=5000).rows == 1000


def test_progress_is_told_every_reading():
    told = []
    result = prequential(regression_stream(25), Ridge(), ["mse", "size"], every=10, progress=told.append, name="mine")
    assert [s.n for s in told] == [10, 20, 25]
    assert [s.values["mse"] for s in told] == result["mse"].tolist()
    assert {s.name for s in told} == {"mine"} == {result.name}
    assert [s.seconds for s in told] == sorted(s.seconds for s in told)


def test_only_the_learner_is_timed():
    class Slow:
        def blocks(self, size):
            X, y = regression_stream(10)
            for i in range(10):
                time.sleep(0.1)
                yield X[i : i + 1], y[i : i + 1]

    result = prequential(Slow(), Ridge(), "seconds")
    assert 0 < result.seconds < 0.5  # the stream itself took 1 s
    assert result.final["seconds"] == result.seconds


class Interrupting:
    """A stream during whose third block the user presses Ctrl-C."""

    def blocks(self, size):
        X, y = regression_stream(100)
        yield X[:30], y[:30]
        yield X[30:45], y[30:45]
        raise KeyboardInterrupt


@pytest.mark.parametrize("delay", [0, 4])
def test_an_interruption_gives_back_what_was_measured(delay):
    learner = Ridge()
    result = prequential(Interrupting(), learner, "mse", every=20, delay=delay)
    X, y = regression_stream(100)
    assert result.interrupted
    assert result["n"].tolist() == [20, 40, 45]
    assert result.rows == 45
    assert learner.n_seen == 45 - delay
    same(result, prequential((X[:45], y[:45]), Ridge(), "mse", every=20, delay=delay))


def test_an_interruption_before_the_first_row_gives_an_empty_result():
    class AtOnce:
        def blocks(self, size):
            raise KeyboardInterrupt

    result = prequential(AtOnce(), Ridge(), ["mse", "regret"])
    assert result.interrupted
    assert result.rows == 0
    assert np.isnan(result.final["mse"])


def test_an_interruption_inside_the_learner_gives_back_the_blocks_before_it():
    class Stopped(Ridge):
        def _run(self, X, Y, weights):
            if self.n_seen_ >= 60:
                raise KeyboardInterrupt
            return super()._run(X, Y, weights)

    result = prequential(regression_stream(100), Stopped(), ["mse"], every=30, block=20)
    assert result["n"].tolist() == [30, 60]
    assert result.interrupted


def test_the_result_tells_where_it_came_from():
    result = prequential(regression_stream(30), Ridge(lam=2.0, seed=7), ["mse", Windowed(MSE(), 5)], every=10, block=3)
    assert (result.name, result.learner) == ("Ridge", "Ridge(lam=2.0, seed=7)")
    assert result.directions == {"mse": "lower", "mse@5": "lower"}
    meta = result.meta
    assert (meta["rows"], meta["every"], meta["block"], meta["delay"], meta["seed"]) == (30, 10, 3, 0, 7)
    assert meta["versions"]["numpy"] == np.__version__


def test_metrics_given_as_objects_are_left_alone():
    mine = MSE()
    prequential(regression_stream(10), Ridge(), mine)
    assert np.isnan(mine.value)


class TestRefusals:
    def test_log_loss_of_predictions_that_are_no_log_odds(self):
        learner = Ridge()
        with pytest.raises(ValueError, match=r"logloss@5 needs probabilities.*loss='logistic'"):
            prequential(regression_stream(10), learner, "logloss@5")
        assert learner.n_seen == 0

    def test_an_error_of_numbers_for_class_scores(self):
        with pytest.raises(ValueError, match="mse cannot be read from Linear, whose labels are of kind 'class'"):
            prequential(class_stream(10), Linear("softmax"), "mse")

    def test_bad_rows_are_located_in_the_stream(self):
        X, y = regression_stream(100)
        X[73, 1] = np.nan
        learner = Ridge()
        with pytest.raises(ValueError, match=r"Ridge: X has nan at row 13.*block that starts at row 60 of the stream"):
            prequential((X, y), learner, "mse", block=20)
        assert learner.n_seen == 60

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"every": 0}, "every must be a whole number of at least 1"),
            ({"every": "sometimes"}, "every must be"),
            ({"block": 0}, "block must be"),
            ({"delay": -1}, "delay must be"),
            ({"limit": 0}, "limit must be"),
        ],
    )
    def test_wrong_options(self, options, message):
        with pytest.raises(ValueError, match=message):
            prequential(regression_stream(10), Ridge(), "mse", **options)

    def test_wrong_streams_and_learners(self):
        X, y = regression_stream(10)
        with pytest.raises(ValueError, match="the stream gave no rows"):
            prequential((X[:0], y[:0]), Ridge(), "mse")
        with pytest.raises(ValueError, match=r"one target for each of the 10 rows of X, got shape \(9,\)"):
            prequential((X, y[:9]), Ridge(), "mse")
        with pytest.raises(ValueError, match=r"a stream, an object with blocks\(size\), or a pair"):
            prequential([1, 2, 3], Ridge(), "mse")
        with pytest.raises(TypeError, match="a learner has predict, step and run"):
            prequential((X, y), Ridge, "mse")
        with pytest.raises(ValueError, match="auc needs labels, and there are none"):
            prequential(Blocks(X, None), NoLabels(), "auc")
        with pytest.raises(ValueError, match=r"mse cannot be read from NoLabels.*such as auc"):
            prequential((X, y), NoLabels(), "mse")


class NoLabels(Ridge):
    @property
    def labels(self):
        return "none"


def test_a_learner_without_labels_is_scored_by_the_labels_of_the_stream():
    X, y = sign_stream(50)
    assert prequential((X, y), NoLabels(), "auc").final["auc"] == 0.5  # learnt nothing but zeros: all scores tie
    assert prequential((X, None), NoLabels(), "size").final["size"] == 3


def test_log_loss_of_auto_comes_from_its_predictions_which_are_its_probabilities():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = (X[:, 0] > 0).astype(float)
    slow = Auto(task="classification")
    Q = np.full(150, 0.5)
    for t in range(150):
        if len(np.unique(y[:t])) == 2:
            Q[t] = slow.probabilities(X[t : t + 1], ahead=1)[0, int(y[t])]
        slow.step(X[t], y[t])
    late = int(np.argmax(y != y[0])) + 1  # both classes are known from here on
    result = prequential((X, y), Auto(task="classification"), "logloss", every=1)
    total = (result["n"] - 1) * result["logloss"]
    assert total[-1] - total[late - 1] == pytest.approx(-np.log(Q[late:]).sum(), rel=1e-9)
