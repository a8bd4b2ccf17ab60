"""The forecaster as a whole: laws, inputs, time, seasons, refusals."""

from __future__ import annotations

import copy
import datetime as dt
import math
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import nystream
from nystream import Forecaster, Model, NystromPKRR
from nystream.forecast.season import find_seasons
from nystream.kernels import Gaussian

H = 6
SMALL = NystromPKRR(Gaussian(1.0), max_atoms=20, seed=0)
START = np.datetime64("2024-03-25T00:00")


def labels(n=200, seed=0, missing=0.05):
    rng = np.random.default_rng(seed)
    t = np.arange(n)
    y = 10 + 3 * np.sin(2 * np.pi * t / 24) + rng.normal(size=n) * 0.3
    y[rng.random(n) < missing] = math.nan
    return y


def hours(n=200):
    return START + np.arange(n) * np.timedelta64(1, "h")


def inputs(n, seed=1):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    X[5, 0] = math.nan
    return X


def table(n):
    X = np.random.default_rng(2).normal(size=n)
    return [{"temp": float(X[i]), "open": bool(i % 3), "kind": "ab"[i % 2]} for i in range(n)]


CASES = {
    "season given": ({"season": 24}, None, False),
    "two seasons": ({"season": (6, 24)}, None, False),
    "no season": ({"season": ()}, None, False),
    "season found": ({}, None, False),
    "timestamps": ({}, None, True),
    "inputs": ({"season": 24}, inputs, False),
    "inputs and timestamps": ({}, inputs, True),
    "table": ({}, table, True),
    "own learner": ({"season": 24, "learner": SMALL}, None, False),
}
each_case = pytest.mark.parametrize("case", CASES)


class Stream:
    """A forecaster and a series for it."""

    def __init__(self, case, n=200):
        self.params, make, timed = CASES[case]
        self.n, self.y = n, labels(n)
        self.X = None if make is None else make(n + H)
        self.when = hours(n) if timed else None

    def make(self):
        return Forecaster(H, **self.params)

    def run(self, f, a=0, b=None, y=None):
        b = self.n if b is None else b
        X = None if self.X is None else self.X[a : b + H]
        return f.run((self.y if y is None else y)[a:b], X, None if self.when is None else self.when[a:b])

    def step(self, f, t):
        X = (None, None) if self.X is None else (self.X[t], self.X[t + 1 : t + 1 + H])
        return f.step(self.y[t], X[0], None if self.when is None else self.when[t], ahead=X[1])

    def ahead(self, t):
        return None if self.X is None else self.X[t + 1 : t + 1 + H]


@each_case
def test_run_equals_the_loop_of_step(case):
    stream = Stream(case)
    block, single = stream.make(), stream.make()
    P = stream.run(block)
    before = math.nan
    for t in range(stream.n):
        assert_array_equal(stream.step(single, t), before)
        assert_allclose(single.forecast(X=stream.ahead(t)), P[t], rtol=1e-9, atol=1e-9)
        before = P[t, 0]
    assert block.to_bytes() == single.to_bytes()


@each_case
def test_blocks_change_nothing(case):
    stream = Stream(case)
    whole, cut = stream.make(), stream.make()
    P = stream.run(whole)
    parts = [stream.run(cut, a, b) for a, b in ((0, 1), (1, 2), (2, 60), (60, 131), (131, stream.n))]
    assert_array_equal(np.vstack(parts), P)
    assert whole.to_bytes() == cut.to_bytes()


@each_case
def test_files_and_copies_resume_bit_for_bit(case, tmp_path):
    stream = Stream(case)
    f = stream.make()
    stream.run(f, 0, 97)
    f.save(tmp_path / "f.nys")
    loaded, copied = nystream.load(tmp_path / "f.nys"), copy.deepcopy(f)
    P = stream.run(f, 97)
    assert_array_equal(stream.run(loaded, 97), P)
    assert_array_equal(stream.run(copied, 97), P)
    assert loaded.to_bytes() == f.to_bytes()
    assert f.explain() == loaded.explain()


@each_case
def test_clones_begin_anew(case):
    stream = Stream(case)
    f = stream.make()
    P = stream.run(f)
    assert f.clone().n_seen == 0
    assert_array_equal(stream.run(f.clone()), P)


@each_case
def test_asking_changes_nothing(case):
    stream = Stream(case)
    f = stream.make()
    stream.run(f)
    before, X = f.to_bytes(), stream.ahead(stream.n - 1)
    first = f.forecast(X=X)
    f.forecast_interval(0.8, X=X)
    f.forecast_quantile([0.1, 0.9], X=X)
    f.explain(), f.decompose(X), f.weights(), f.alarms(), f.surprise()
    assert_array_equal(f.forecast(X=X), first)
    assert f.to_bytes() == before


@each_case
def test_no_look_ahead(case):
    """Other labels after row t change no forecast made up to t."""
    stream = Stream(case)
    P = stream.run(stream.make())
    for t in (3, 90, 150):
        y = stream.y.copy()
        y[t + 1 :] = 1000.0
        changed = stream.run(stream.make(), y=y)
        assert_array_equal(changed[: t + 1], P[: t + 1])
        assert not np.array_equal(changed[t + 1 :], P[t + 1 :])


@each_case
def test_parts_sum_to_the_forecast(case):
    stream = Stream(case)
    f = stream.make()
    stream.run(f)
    X = stream.ahead(stream.n - 1)
    parts = f.decompose(X)
    assert {"level", "recent errors"} <= set(parts)
    assert_allclose(sum(parts.values()), f.forecast(X=X))


def test_step_with_inputs_returns_the_forecast_for_them():
    f, X, y = Forecaster(H, season=24), inputs(150), labels(150, missing=0.0)
    for t in range(150):
        expected = f.forecast(1, X=X[t : t + 1])[0] if t else math.nan
        assert_allclose(f.step(y[t], X[t]), expected, rtol=1e-9)


def test_inputs_known_ahead_help():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 1))
    y = 5 + np.sin(np.arange(900) * np.pi / 12) + 4 * np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=900)
    truth = np.array([y[t + 1 : t + 1 + H] for t in range(600, 890)])
    blind = Forecaster(H, season=24).run(y)[600:890]
    seeing = Forecaster(H, season=24).run(y, X)[600:890]
    assert np.abs(seeing - truth).mean() < 0.3 * np.abs(blind - truth).mean()


def test_forecasts_are_nan_where_inputs_are_not_given():
    P = Forecaster(H, season=24).run(labels(60), inputs(60))
    assert np.isfinite(P[40]).all()
    assert np.isnan(P[57]).tolist() == [False, False, True, True, True, True]


def test_one_column_of_inputs_may_have_one_dimension():
    y, x = labels(120), inputs(120 + H)[:, 1]
    expected = Forecaster(H, season=24).run(y, x[:, None])
    assert_array_equal(Forecaster(H, season=24).run(y, x), expected)


def test_a_frame_of_inputs_is_read_by_name():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(table(120 + H))
    one = Forecaster(H, season=24).run(labels(120), frame)
    other = Forecaster(H, season=24).run(labels(120), frame[["kind", "temp", "open"]].to_dict("records"))
    assert_allclose(one, other, rtol=1e-6)


# -- time ----------------------------------------------------------------------------------------------------------
def test_gaps_are_missing_rows():
    y, when = labels(120, missing=0.0), hours(120)
    holes = y.copy()
    holes[70:75] = math.nan
    kept = ~np.isnan(holes)
    full, short = Forecaster(H), Forecaster(H)
    P = full.run(holes, when=when)
    assert_array_equal(short.run(y[kept], when=when[kept]), P[kept])
    assert short.n_seen == 120


def test_missing_rows_before_the_first_label_teach_nothing():
    y, when = labels(120, missing=0.0), hours(120)
    holes = y.copy()
    holes[:30] = math.nan
    late, whole = Forecaster(H), Forecaster(H)
    P = whole.run(holes, when=when)
    assert np.isnan(P[:30]).all()
    assert_allclose(late.run(y[30:], when=when[30:]), P[30:], rtol=1e-6)
    assert whole.n_seen == 120


def test_kinds_of_timestamps_agree():
    pd = pytest.importorskip("pandas")
    y = labels(60)
    stamps = hours(60)
    kinds = [
        stamps,
        [str(t) for t in stamps],
        stamps.astype("datetime64[us]").astype(object).tolist(),
        pd.DatetimeIndex(stamps),
        pd.Series(pd.DatetimeIndex(stamps)),
        pd.Series(pd.DatetimeIndex(stamps), dtype=object),
        pd.PeriodIndex(stamps, freq="h"),
    ]
    expected = Forecaster(H).run(y, when=stamps)
    for when in kinds:
        assert_array_equal(Forecaster(H).run(y, when=when), expected)


@pytest.mark.parametrize("package", ["polars", "pyarrow"])
def test_columns_of_other_packages_are_timestamps(package):
    other = pytest.importorskip(package)
    stamps = hours(60)
    micros = stamps.astype("datetime64[us]")
    column = other.Series(micros) if package == "polars" else other.array(micros)
    assert_array_equal(Forecaster(H).run(labels(60), when=column), Forecaster(H).run(labels(60), when=stamps))


@pytest.mark.parametrize(("distance", "length"), [("D", 7), ("W", 52), ("MS", 12), ("ME", 12)])
def test_days_and_months_follow_the_clock_of_the_time_zone(distance, length):
    pd = pytest.importorskip("pandas")
    when = pd.date_range("2023-03-01", periods=60, freq=distance, tz="Europe/Berlin")
    f, plain = (Forecaster(2, members=[nystream.forecast.Naive()]) for _ in range(2))
    f.run(np.arange(60.0), when=when)
    plain.run(np.arange(60.0), when=when.tz_localize(None))
    assert f.n_seen == 60
    assert f.calendar_.frequency.seasons()[0] == length
    assert_array_equal(f.times(np.arange(62)), plain.times(np.arange(62)))
    assert nystream.from_bytes(f.to_bytes()).step(1.0, when=when[-1] + (when[1] - when[0]) * 0 + when.freq) == 59.0


def test_a_day_without_rows_at_the_start_of_an_hourly_series_with_a_time_zone():
    pd = pytest.importorskip("pandas")
    when = pd.date_range("2024-03-29", periods=100, freq="h", tz="Europe/Berlin")
    f = Forecaster(H)
    f.run(np.arange(77.0), when=when[[0, *range(24, 100)]])
    assert str(f.calendar_.frequency) == "hour"
    assert f.n_seen == 100


def test_daylight_saving_is_seen_by_the_calendar():
    berlin = ZoneInfo("Europe/Berlin")
    first = dt.datetime(2024, 3, 30, 22, tzinfo=berlin)
    when = [(first.astimezone(dt.UTC) + dt.timedelta(hours=i)).astimezone(berlin) for i in range(12)]
    f = Forecaster(H)
    f.run(np.arange(12.0), when=when)
    assert f.n_seen == 12
    assert f.calendar_.columns(np.arange(12))[:, 0].tolist() == [22, 23, 0, 1, 3, 4, 5, 6, 7, 8, 9, 10]
    assert "Europe/Berlin" in f.explain()
    again = nystream.from_bytes(f.to_bytes())
    assert again.calendar_.columns(np.arange(12))[:, 0].tolist()[3:5] == [1, 3]


@pytest.mark.parametrize("first", ["2024-03-30T00:00", "2024-10-26T00:00"])
def test_offsets_of_timestamps_may_change_where_clocks_do(first):
    """Strings of ISO 8601 with the offset of summer and of winter: a block is the loop of `step`."""
    berlin = ZoneInfo("Europe/Berlin")
    start = dt.datetime.fromisoformat(first).replace(tzinfo=berlin).astimezone(dt.UTC)
    when = [(start + dt.timedelta(hours=i)).astimezone(berlin).isoformat() for i in range(60)]
    assert len({text[-6:] for text in when}) == 2
    block, loop = Forecaster(H), Forecaster(H)
    block.run(labels(60), when=when)
    for y, time in zip(labels(60), when, strict=True):
        loop.step(y, when=time)
    assert block.n_seen == loop.n_seen == 60
    assert loop.to_bytes() == block.to_bytes()
    with pytest.raises(ValueError, match="time zone"):
        loop.step(1.0, when=dt.datetime(2024, 12, 1, tzinfo=berlin))


@pytest.mark.parametrize(
    ("stamps", "frequency", "seasons"),
    [
        (np.array(["2020-01", "2020-02", "2020-03"], dtype="datetime64[M]"), "month", [12]),
        (np.array(["2020-01-31", "2020-02-29", "2020-03-31"], dtype="datetime64[D]"), "month", [12]),
        (np.array(["2020-01", "2020-04", "2020-07"], dtype="datetime64[M]"), "quarter", [4]),
        (np.datetime64("2020-01-01") + np.arange(3), "day", [7]),
        (np.datetime64("2020-01-01") + 7 * np.arange(3), "week", [52]),
        (np.datetime64("2020-01-01T00:00") + 30 * np.arange(3), "30 minutes", [48, 336]),
        (np.datetime64("2020-01-01T00:00:00") + np.arange(3), "second", [3600, 86400]),
    ],
)
def test_frequency_and_seasons_of_timestamps(stamps, frequency, seasons):
    f = Forecaster(2, members=nystream.forecast.default_members(None, 0)[:2])
    f.run(np.arange(3.0), when=stamps)
    assert str(f.calendar_.frequency) == frequency
    assert f.seasons == seasons
    assert f.calendar_.times(np.arange(3)).tolist() == stamps.astype("datetime64[us]").astype(np.int64).tolist()


def test_a_gap_at_the_very_start_is_understood():
    when = hours(40)[[0, 3, *range(4, 40)]]
    f = Forecaster(H)
    f.run(np.arange(38.0), when=when)
    assert str(f.calendar_.frequency) == "hour"
    assert f.n_seen == 40


def test_irregular_timestamps_are_refused_with_a_way_out():
    f = Forecaster(H)
    f.run(labels(100), when=hours(100))
    with pytest.raises(ValueError, match=r"lies between two rows.*resample='mean'"):
        f.step(1.0, when=hours(101)[-1] + np.timedelta64(7, "m"))


def test_timestamps_must_rise():
    f = Forecaster(H)
    f.run(labels(10), when=hours(10))
    with pytest.raises(ValueError, match="timestamps must rise"):
        f.step(1.0, when=hours(10)[-1])
    with pytest.raises(ValueError, match="timestamps must rise"):
        f.run([1.0, 2.0], when=hours(13)[[12, 11]])
    assert f.n_seen == 10


def test_resample_takes_irregular_timestamps():
    rng = np.random.default_rng(0)
    minutes = np.sort(rng.choice(60 * 24 * 5, 900, replace=False))
    when = START + minutes * np.timedelta64(1, "m")
    y = 10 + np.sin(2 * np.pi * minutes / 1440) + 0.1 * rng.normal(size=900)
    f = Forecaster(H, frequency="1h", resample="mean")
    f.run(y, when=when)
    cells = minutes // 60 - minutes[0] // 60  # full hours
    means = [y[cells == c].mean() if (cells == c).any() else math.nan for c in range(cells[-1])]
    assert_allclose(f.history(len(means)), means)
    regular = Forecaster(H, frequency="1h")
    regular.run(means, when=when[0].astype("datetime64[h]") + np.arange(len(means)) * np.timedelta64(1, "h"))
    assert_allclose(f.forecast(), regular.forecast())


def test_resample_needs_a_frequency():
    with pytest.raises(ValueError, match="needs frequency"):
        Forecaster(H, resample="mean")


# -- seasons -------------------------------------------------------------------------------------------------------
def test_a_season_is_found_without_timestamps():
    f = Forecaster(H)
    f.run(labels(300, missing=0.0))
    assert f.seasons == [24]
    assert "24 rows" in f.explain()


def test_a_noisy_season_is_found_at_its_length():
    t = np.arange(1024)
    day = 5 * np.sin(2 * np.pi * t / 24)
    week = -8.0 * ((t // 24) % 7 >= 5)
    weeks = 0
    for seed in range(10):
        noise = np.random.default_rng(seed).normal(size=1024)
        assert find_seasons((day + noise)[:512], None) == [24]
        assert find_seasons(day + noise, None)[0] == 24
        weeks += find_seasons(2.5 * day + week + 0.3 * noise, None) == [24, 168]
    assert weeks >= 6


def test_a_week_without_weekends_has_a_season():
    y = np.tile([1.0, 2.0, 3.0, 4.0, 5.0, math.nan, math.nan], 30)
    assert find_seasons(y, [7]) == [7]


def test_a_random_walk_has_no_season():
    found = 0
    for seed in range(6):
        f = Forecaster(H)
        f.run(np.cumsum(np.random.default_rng(seed).normal(size=300)))
        found += bool(f.seasons)
    assert found <= 1


def test_seasons_of_the_calendar_are_refuted_in_most_random_walks():
    walks = [np.cumsum(np.random.default_rng(seed).normal(size=512)) for seed in range(40)]
    assert sum(not find_seasons(y, [24, 168]) for y in walks) >= 20


def test_a_season_that_labels_refute_is_given_up():
    f = Forecaster(2, members=[nystream.forecast.Naive(), nystream.forecast.SeasonalNaive()])
    f.run(np.cumsum(np.random.default_rng(6).normal(size=600)), when=hours(600))
    assert f.seasons == []
    assert "Seasons: none, changed at row 512" in f.explain()


def test_intermittent_counts_have_finite_forecasts():
    y = np.random.default_rng(0).poisson(0.1, 400).astype(float)
    f = Forecaster(H)
    P = f.run(y)
    truth = np.array([y[t + 1 : t + 1 + H] for t in range(200, 390)])
    assert np.isfinite(P).all()
    assert np.sqrt(np.square(P[200:390] - truth).mean()) < 1.1 * truth.std()


def test_constant_labels():
    f = Forecaster(H, season=6)
    assert_allclose(f.run(np.full(100, 7.0))[50:], 7.0)
    low, high = f.forecast_interval()
    assert_allclose(low, 7.0)
    assert_allclose(high, 7.0)


@pytest.mark.parametrize("constant", [0.0, 7.0])
@pytest.mark.parametrize("timed", [True, False])
def test_labels_that_were_constant_at_first(constant, timed):
    """Errors of 0 must not make all later errors count as outliers."""
    t = np.arange(800)
    y = 10 + 5 * np.sin(2 * np.pi * t / 24) + np.random.default_rng(0).normal(size=800)
    y[:300] = constant
    f = Forecaster(H, season=None if timed else 24)
    P = f.run(y, when=START + t * np.timedelta64(1, "h") if timed else None)
    truth = np.array([y[i + 1 : i + 1 + H] for i in range(600, 790)])
    assert np.abs(P[600:790] - truth).mean() < 1.2
    low, high = f.forecast_interval()
    assert (high - low < 10).all()
    assert f.alarms()[0].row == 301


@pytest.mark.parametrize("scale", [1e-30, 1e-9, 1e12, 1e30])
def test_the_unit_of_labels_does_not_matter(scale):
    y = labels(120)
    P = Forecaster(H, season=24).run(y)
    assert_allclose(Forecaster(H, season=24).run(scale * y) / scale, P, rtol=0.02)


def test_labels_far_from_zero():
    y = labels(300, missing=0.0)
    P = Forecaster(H, season=24).run(y + 1e12) - 1e12
    truth = np.array([y[i + 1 : i + 1 + H] for i in range(200, 290)])
    assert np.abs(P[200:290] - truth).mean() < 1.0


# -- quantiles -----------------------------------------------------------------------------------------------------
def test_quantiles_do_not_cross_and_intervals_cover():
    y = labels(1500, missing=0.0)
    f = Forecaster(H, season=24)
    covered = []
    for t in range(1500):
        f.step(y[t])
        if t >= 500 and t + H < 1500:
            low, high = f.forecast_interval(0.9)
            covered.append((y[t + 1 : t + 1 + H] >= low) & (y[t + 1 : t + 1 + H] <= high))
    assert 0.87 < np.mean(covered) < 0.93
    levels = np.linspace(0.01, 0.99, 40)
    assert (np.diff(f.forecast_quantile(levels), axis=1) >= 0).all()
    assert f.forecast_quantile(0.5).shape == (H,)


def test_intervals_of_a_random_walk_widen_with_the_step():
    y = np.cumsum(np.random.default_rng(0).normal(size=1500))
    f = Forecaster(12, season=())
    f.run(y)
    low, high = f.forecast_interval(0.8)
    width = high - low
    assert (np.diff(width) > -0.1 * width[:-1]).all()
    assert width[-1] > 2 * width[0]


def test_intervals_are_infinite_while_nothing_is_known():
    f = Forecaster(H, season=24)
    f.step(1.0)
    low, high = f.forecast_interval()
    assert np.isneginf(low).all()
    assert np.isposinf(high).all()


def test_steps_with_few_errors_take_the_intervals_of_shorter_ones():
    f = Forecaster(24)
    f.run(labels(30, missing=0.0), when=hours(30))
    low, high = f.forecast_interval(0.9)
    assert np.isfinite(low).all()
    assert np.isfinite(high).all()
    assert (high - low)[-1] > (high - low)[0]


def test_intervals_of_constant_labels_have_no_width():
    f = Forecaster(H)
    f.run(np.full(100, 7.0), when=hours(100))
    low, high = f.forecast_interval()
    assert_array_equal(low, 7.0)
    assert_array_equal(high, 7.0)


def test_intervals_are_unknown_again_after_constant_labels():
    """A first error after endless zeros: a width of 0 around a forecast that was never tried would be wrong."""
    f = Forecaster(H, season=24)
    f.run(np.zeros(300))
    f.step(5.0)
    low, high = f.forecast_interval()
    assert np.isneginf(low).all()
    assert np.isposinf(high).all()
    y = 5 + np.random.default_rng(0).normal(size=300)
    f.run(y)
    low, high = f.forecast_interval()
    assert (high - low < 12).all()
    assert (high - low > 2).all()


@pytest.mark.filterwarnings("ignore:.* count as missing in predictions")
def test_a_refused_row_changes_nothing():
    f, times = Forecaster(H), hours(72)
    for i in range(70):
        f.step(float(i % 24), {"temp": float(i)}, times[i])
    before = f.to_bytes()
    for call in (
        lambda: f.step(1.0, {"temp": "warm"}, times[70]),
        lambda: f.run([1.0, 2.0], [{"temp": 1.0}, {"temp": "warm"}], times[70:]),
        lambda: f.run([1.0, 2.0], [{"temp": 1.0}] * 2, times[70:] + np.array([0, 1800], "m8[s]")),
    ):
        with pytest.raises(ValueError, match=r"warm|between two rows"):
            call()
        assert f.to_bytes() == before
    assert math.isfinite(f.step(1.0, {"temp": 3.0}, times[70]))


# -- refusals ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f: Forecaster(0), "horizon must be a whole number of at least 1"),
        (lambda f: Forecaster(3, season=1), "season must be a whole number of at least 2"),
        (lambda f: Forecaster(3, season=(2, 3, 4)), "at most two"),
        (lambda f: Forecaster(3, season="day"), "season must be a whole number of at least 2, got 'day'"),
        (lambda f: Forecaster(3, members=[]), "members must have at least one member"),
        (lambda f: Forecaster(3, frequency="fast"), "frequency must be as"),
        (lambda f: Forecaster(3).forecast(), "learnt nothing yet"),
        (lambda f: f.forecast(7), "the horizon is 6"),
        (lambda f: f.forecast(X=[[1.0]]), "came without inputs"),
        (lambda f: f.step(1.0, [1.0]), "with every row or with none"),
        (lambda f: f.step(1.0, when="2024-01-01"), "with every row or with none"),
        (lambda f: f.step(math.inf), "must be finite"),
        (lambda f: f.step("1"), "one number"),
        (lambda f: f.run([[1.0]]), "one dimension"),
        (lambda f: f.run([1.0, math.inf]), "label 1 is infinite"),
        (lambda f: f.forecast_interval(1.5), "coverage"),
        (lambda f: f.forecast_interval(0.999), "intervals cover at most 99%"),
        (lambda f: f.forecast_quantile([0.001, 0.5]), "levels from 0.005 to 0.995"),
        (lambda f: Forecaster(3).step(1.0, when="tomorrow"), "no timestamp"),
        (lambda f: Forecaster(3).run([1.0], when=[]), "1 labels and 0 timestamps"),
        (lambda f: Forecaster(3).run([1.0], [[1.0]] * 9), "X has 9 rows"),
    ],
)
def test_refusals(call, message):
    f = Forecaster(H, season=24)
    f.run(labels(30))
    before = f.to_bytes()
    with pytest.raises(ValueError, match=message):
        call(f)
    assert f.to_bytes() == before


def test_inputs_must_be_given_to_forecast():
    f = Forecaster(H, season=24)
    f.run(labels(30), inputs(30))
    with pytest.raises(ValueError, match="pass X"):
        f.forecast()
    with pytest.raises(ValueError, match="2 columns"):
        f.forecast(X=[[1.0]])
    assert f.forecast(X=inputs(10)[:3]).shape == (3,)


def test_holidays_need_their_package():
    try:
        import holidays  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match="pip install holidays"):
            Forecaster(H, holidays="DE")
    else:
        f = Forecaster(H, holidays="DE")
        f.run(np.arange(60.0), when=np.datetime64("2024-12-24T00:00") + np.arange(60) * np.timedelta64(1, "h"))
        assert f.calendar_.columns(np.array([0, 30]))[:, -1].tolist() == [0.0, 1.0]


def test_memory_is_bounded():
    f = Forecaster(H, season=24, learner=SMALL)
    f.run(labels(500))
    before = f.nbytes
    f.run(labels(1500, seed=3))
    assert f.nbytes <= 1.01 * before


def test_a_model_may_be_the_learner():
    f = Forecaster(H, season=24, learner=Model(SMALL))
    assert np.isfinite(f.run(labels(60))[-1]).all()
