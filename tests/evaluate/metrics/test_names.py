import pytest

from nystream.evaluate.metrics import METRICS, MSE, Accuracy, Meter, Metric, Seconds, Windowed, as_metric, as_metrics


@pytest.mark.parametrize("name", METRICS)
def test_every_name_gives_a_metric_or_meter_of_that_name_with_a_direction(name):
    metric = as_metric(name)
    assert isinstance(metric, (Metric, Meter))
    assert metric.column == metric.name == name
    neither = ("weights", "importance", "coverage")
    assert metric.direction in ("lower", "higher") if name not in neither else metric.direction is None


def test_errors_are_better_when_lower_and_scores_when_higher():
    higher = {"r2", "accuracy", "balanced_accuracy", "auc", "f1", "kappa", "rows_per_second"}
    assert {name for name in METRICS if as_metric(name).direction == "higher"} == higher


def test_a_number_after_the_at_sign_makes_a_window():
    metric = as_metric("accuracy@500")
    assert isinstance(metric, Windowed)
    assert (type(metric.metric), metric.size, metric.column) == (Accuracy, 500, "accuracy@500")
    assert metric.direction == "higher"


def test_objects_are_copied_so_that_no_two_evaluations_share_one():
    mine = MSE().update([0.0], [1.0])
    found = as_metric(mine)
    assert found is not mine
    assert found.update([0.0], [3.0]).value == 9.0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("acuracy", "unknown metric 'acuracy'; did you mean 'accuracy'"),
        ("zzz", "unknown metric 'zzz'; there are mse, rmse"),
        ("mse@", "'mse@': after @ comes the number of rows, as in 'mse@1000'"),
        ("mse@0", "after @ comes"),
        ("mse@1e3", "after @ comes"),
        ("seconds@10", "seconds is read from the learner and has no windowed form"),
        (3, "a metric is a name or a Metric, got 3"),
    ],
)
def test_a_wrong_name_is_refused_with_the_way_out(wrong, message):
    with pytest.raises(ValueError, match=message):
        as_metric(wrong)


def test_several_metrics_need_distinct_columns():
    assert [m.column for m in as_metrics(["mse", "mse@5", Seconds()])] == ["mse", "mse@5", "seconds"]
    assert [m.column for m in as_metrics("mse")] == ["mse"]
    with pytest.raises(ValueError, match="metrics has 'mse' twice"):
        as_metrics(["mse", MSE()])
    with pytest.raises(ValueError, match="metrics is empty"):
        as_metrics([])
