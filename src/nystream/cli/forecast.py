"""`nystream forecast`: the next rows of a series, with intervals, from a file or a pipe."""

from __future__ import annotations

import importlib
import sys
import time as clock
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from nystream import persist
from nystream.cli import options as opt
from nystream.cli.answers import writer
from nystream.cli.cleaning import checked_policy, naming_the_option
from nystream.cli.predict import form_of, open_answers
from nystream.cli.progress import Bar, bar_of
from nystream.cli.rows import open_rows
from nystream.cli.series import Part, Series, series_of
from nystream.cli.stopping import Stoppable
from nystream.forecast import Forecaster
from nystream.forecast.intervals import MOST_COVERED
from nystream.runtime.params import positive

__all__ = ["forecast"]

BLOCK = 256
"""Rows that are read at once."""
WIDTH = 24
"""Characters of the bars beside the table."""
NOTES = "series"
"""Name of the columns' description among the notes of a saved forecaster."""


def forecast(
    source: opt.Source,
    target: opt.Target = None,
    time: Annotated[
        list[str] | None,
        typer.Option(
            "--time",
            help="Column with the time of each row; several with commas are put together (date,hour or "
            "year,month,day,hour). Without it: the only column of times, or none.",
        ),
    ] = None,
    horizon: Annotated[int | None, typer.Option(min=1, help="Rows to forecast; needed for a new forecaster.")] = None,
    known: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns that are known ahead, with commas, as weather forecasts or holidays. Rows at the end without "
            "a target give them for the rows to come."
        ),
    ] = None,
    every: Annotated[
        int | None, typer.Option(min=1, help="Write the forecast made after every so many rows too, not only the last.")
    ] = None,
    interval: Annotated[float, typer.Option(help="Share of the labels that intervals cover.")] = 0.9,
    season: Annotated[
        list[str] | None, typer.Option(help="Rows of a season, with commas; none: there is no season. Else found.")
    ] = None,
    frequency: Annotated[
        str | None, typer.Option(help="Distance of the rows, as 30min, 1h, D or MS; else found.")
    ] = None,
    resample: Annotated[
        str | None, typer.Option(help="mean, sum or last of the rows within a --frequency, where times are irregular.")
    ] = None,
    holidays: Annotated[str | None, typer.Option(help="Country of public holidays, as DE or US-CA.")] = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="Write forecasts here as CSV, JSON lines or Parquet; - is stdout.")
    ] = None,
    chart: Annotated[
        Path | None, typer.Option(help="Draw the last rows and the forecast to this .png or .svg.")
    ] = None,
    kind: opt.Kinds = None,
    header: opt.Header = None,
    day_first: opt.DayFirst = False,
    save: opt.Save = None,
    resume: opt.Resume = None,
    rows: opt.Rows = None,
    on_error: opt.OnError = "stop",
    data: opt.Data = None,
    quiet: opt.Quiet = False,
) -> None:
    """Forecast the next rows of a series, with intervals, and learn it row by row on the way."""
    policy = checked_policy(on_error)
    positive("--interval", interval, below=1.0)
    if interval > MOST_COVERED:
        raise ValueError(f"--interval is at most {MOST_COVERED}, got {interval:g}")
    forecaster = _resumed(resume) if resume is not None else None
    new = {"--season": season, "--frequency": frequency, "--resample": resample, "--holidays": holidays}
    _check_together(forecaster, horizon, {**new, "--kind": kind})
    _check_files(save, chart)
    found = open_rows(source, wanted=False, rows=rows, data=data, header=header)
    with naming_the_option():
        series = series_of(
            found,
            target=target,
            time=_listed(time),
            known=_listed(known),
            kinds=opt.kinds_of(kind),
            day_first=day_first,
            policy=policy,
            before=None if forecaster is None else forecaster.notes_.get(NOTES),
        )
    for line in series.about():
        _say(line, quiet)
    if forecaster is None:
        assert horizon is not None
        forecaster = Forecaster(
            horizon, season=_season(season), frequency=frequency, resample=resample, holidays=holidays
        )
    form = form_of(out) if out not in (None, "-") else "csv"
    bar = bar_of(source, found.total, limit=rows, quiet=quiet)
    before = forecaster.n_seen
    with Stoppable(series) as stream, naming_the_option(), open_answers(out or "-", form) as file:
        lines = writer(form, file) if out is not None or every is not None else None
        try:
            ahead = _learn(forecaster, series, stream, bar, lines, every, interval, quiet)
        except (ValueError, OSError) as error:
            stream.failure, ahead = stream.failure or _in_options(error), None
        finally:
            bar.clear()
        if forecaster.n_seen > before:
            forecaster.notes_[NOTES] = series.notes()
        _save(forecaster, save, stream, before, quiet)
        if forecaster.n_seen and stream.failure is None:
            for line in [*forecaster.explain().splitlines(), *series.summary()]:
                _say(line, quiet)
            ahead = _known_ahead(forecaster, series, ahead)
            next_rows = _columns(forecaster, ahead, interval)
            if lines is None:
                _print_table(next_rows, interval)
            elif not every:
                lines.write(next_rows, len(next_rows["forecast"]))
            if chart is not None:
                _draw(forecaster, ahead, chart, f"{series.target}: the next {forecaster.horizon} rows", series.target)
                _say(f"wrote {chart}", quiet)
        if lines is not None:
            lines.finish()
        stream.raise_failure()
    if stream.exit_code:
        raise typer.Exit(stream.exit_code)
    if not forecaster.n_seen:
        raise ValueError(f"{series.name} has no row with a number in column {series.target!r}")


# -- learning ----------------------------------------------------------------------------------------------------------
def _learn(
    forecaster: Forecaster,
    series: Series,
    stream: Stoppable,
    bar: Bar,
    lines: Any,
    every: int | None,
    interval: float,
    quiet: bool,
) -> Any:
    """Learn the rows, and return the inputs of the rows after the last one with a label, where there are any.

    With known columns a row is learnt when the rows of the horizon after it are here, since forecasts need their
    inputs; rows without a label at the end are not learnt: they are the rows to come.
    """
    progress = _Progress(forecaster, bar, quiet)
    waiting: Part | None = None
    for part in stream.blocks(BLOCK):
        waiting = part if waiting is None else waiting.followed_by(part)
        last = len(waiting) - forecaster.horizon if series.known else waiting.labelled
        ready = min(max(last, 0), waiting.labelled)
        if ready:
            _learn_part(forecaster, waiting, ready, progress, lines, every, interval)
            waiting = waiting[ready:]
    if waiting is None:
        return None
    ready = waiting.labelled if series.known or series.time else len(waiting)
    if ready:
        _learn_part(forecaster, waiting, ready, progress, lines, every, interval)
        waiting = waiting[ready:]
    progress.finish()
    return waiting.inputs(slice(0, forecaster.horizon)) if series.known and len(waiting) else None


def _learn_part(
    forecaster: Forecaster, part: Part, n: int, progress: _Progress, lines: Any, every: int | None, interval: float
) -> None:
    """Learn the first n rows; the others may be known ahead."""
    H, at = forecaster.horizon, 0
    while at < n:
        before = forecaster.n_seen
        stop = min(n, at + (1 if every is not None else BLOCK), at + progress.rows_left)
        forecaster.run(part.y[at:stop], part.inputs(slice(at, stop + H)), part.when(slice(at, stop)))
        progress.add(stop - at)
        if every is not None and forecaster.n_seen // every > before // every:  # gaps in time are rows too
            X = part.inputs(slice(stop, stop + H))
            if X is None or len(X):
                columns = _columns(forecaster, X, interval)
                made = _times(forecaster, np.full(len(columns["forecast"]), forecaster.n_seen - 1))
                lines.write({"made": made, **columns}, len(made))
        at = stop


class _Progress:
    """A line at rows 1, 2, 4, ...: errors of all forecasts so far, and the speed."""

    TITLES = ("rows", "mae", "of seasonal", "of naive", "90% covers", "rows/s")

    def __init__(self, forecaster: Forecaster, bar: Bar, quiet: bool) -> None:
        self._forecaster, self._bar, self._quiet = forecaster, bar, quiet
        self._began, self._rows, self._next = clock.perf_counter(), 0, 16
        _say("".join(f"{title:>14}" for title in self.TITLES), quiet)

    @property
    def rows_left(self) -> int:
        """Rows until the next line."""
        return self._next - self._rows

    def add(self, rows: int) -> None:
        """Add to the count of rows learnt."""
        self._rows += rows
        self._bar.add(rows)
        if self._rows == self._next:
            self._next *= 2
            self._tell()

    def finish(self) -> None:
        """Tell the last reading, unless it was told."""
        if 0 < self._rows != self._next // 2:
            self._tell()

    def _tell(self) -> None:
        found = self._forecaster.score_.overall()
        seasonal, naive = (found["mae"] / found[k] if found[k] > 0 else np.nan for k in ("seasonal naive", "naive"))
        speed = self._rows / max(clock.perf_counter() - self._began, 1e-9)
        cells = [f"{self._rows:,}", _figure(found["mae"]), _share(seasonal), _share(naive), _share(found["coverage"])]
        self._bar.clear()
        _say("".join(f"{cell:>14}" for cell in [*cells, f"{speed:,.0f}"]), self._quiet)


# -- what is written -------------------------------------------------------------------------------------------------
def _known_ahead(forecaster: Forecaster, series: Series, ahead: Any) -> Any:
    """Return the inputs of the rows to come; where there are none, repeat those of the last row and say so."""
    if series.known and ahead is None:
        _say(
            f"no rows follow the last {series.target}: {', '.join(series.known)} are taken to stay as they are; add "
            f"rows with these columns and without {series.target}",
            quiet=False,
        )
        return [forecaster.kept_rows_[-1]] * forecaster.horizon
    if series.known and len(ahead) < forecaster.horizon:
        _say(f"{len(ahead)} rows follow the last {series.target}: the forecast has as many", quiet=False)
    return ahead


def _columns(forecaster: Forecaster, X: Any, interval: float) -> dict[str, Any]:
    made = forecaster.forecast(X=X)
    low, high = forecaster.forecast_interval(interval, X)
    rows = forecaster.n_seen + np.arange(len(made))
    low, high = (np.where(np.isfinite(end), end, np.nan) for end in (low, high))
    return {
        "when": _times(forecaster, rows),
        "step": np.arange(1, len(made) + 1),
        "forecast": made,
        "low": low,
        "high": high,
    }


def _times(forecaster: Forecaster, rows: np.ndarray) -> list[Any]:
    """Return the times of rows, or their numbers from 1 where there are none."""
    times = forecaster.times(rows)
    if times is None:
        return [int(row) + 1 for row in rows]
    return [str(t).replace("T", " ").removesuffix(".000000").removesuffix(":00") for t in times]


def _print_table(columns: dict[str, Any], interval: float) -> None:
    """Print the forecast as a table with bars, on standard output."""
    low, high, made = columns["low"], columns["high"], columns["forecast"]
    ends = np.concatenate([low[np.isfinite(low)], high[np.isfinite(high)], made])
    least, most = float(ends.min()), float(ends.max())
    scale = (WIDTH - 1) / (most - least) if most > least else 0.0

    def place(value: float) -> int:
        return round((value - least) * scale)

    digits = _digits(float(np.abs(made).max()), most - least)
    width = max(len("when"), *(len(str(t)) for t in columns["when"]))
    titles = f"{'forecast':>12}{'low':>12}{'high':>12}"
    print(f"{'when':<{width}}{titles}   {interval:.0%} interval and forecast")
    for t, p, a, b in zip(columns["when"], made, low, high, strict=True):
        bar = [" "] * WIDTH
        if np.isfinite(a) and np.isfinite(b):
            bar[place(a) : place(b) + 1] = "-" * (place(b) + 1 - place(a))
        bar[place(p)] = "o"
        cells = "".join(f"{'-' if v != v else f'{v:,.{digits}f}':>12}" for v in (p, a, b))
        print(f"{t!s:<{width}}{cells}   {''.join(bar).rstrip()}")


def _digits(largest: float, spread: float) -> int:
    """Return how many digits after the point show a hundredth of the spread."""
    if not spread > 0 or largest >= 1e6:
        return 0
    return int(min(max(0, np.ceil(2 - np.log10(spread))), 6))


def _draw(forecaster: Forecaster, X: Any, path: Path, title: str, name: str) -> None:
    plot = importlib.import_module("nystream.plot")
    figure = plot.forecast(forecaster, X, title=title)
    figure.axes[0].set_ylabel(name)
    figure.savefig(path, dpi=150)


# -- options ---------------------------------------------------------------------------------------------------------
def _resumed(path: Path) -> Forecaster:
    found = persist.load(path)
    if not isinstance(found, Forecaster):
        raise ValueError(f"{path} holds a {type(found).__name__}, and no forecaster; `nystream forecast -f` saves one")
    if not found.n_seen:
        raise ValueError(f"{path} holds a forecaster that has learnt nothing; begin a new one")
    return found


def _check_together(forecaster: Forecaster | None, horizon: int | None, new: dict[str, Any]) -> None:
    if forecaster is None and horizon is None:
        raise ValueError("--horizon is missing: how many rows to forecast, as in --horizon 24")
    if forecaster is None:
        if new["--resample"] and not new["--frequency"]:
            raise ValueError("--resample needs --frequency, the distance of the rows, as 1h")
        return
    given = [option for option, value in new.items() if value]
    if horizon not in (None, forecaster.horizon):
        raise ValueError(f"the saved forecaster has --horizon {forecaster.horizon}; leave it out, or begin a new one")
    if given:
        raise ValueError(f"--initial goes on with the saved forecaster: leave out {', '.join(given)}")


def _check_files(save: Path | None, chart: Path | None) -> None:
    if save is not None:
        persist.check_target(save)
    if chart is not None:
        persist.check_target(chart)
        if chart.suffix.lower() not in (".png", ".svg", ".pdf"):
            raise ValueError(f"--chart writes .png, .svg or .pdf, not {chart.name!r}")


def _save(forecaster: Forecaster, path: Path | None, stream: Stoppable, before: int, quiet: bool) -> None:
    if path is None:
        return
    if stream.is_forced:
        _say(f"stopped in the middle of a block: {path} is not written", quiet=False)
    elif forecaster.n_seen == before:
        _say(f"nothing was learnt: {path} is not written", quiet=False)
    else:
        forecaster.save(path)
        rows = f" with the {forecaster.n_seen - before:,} rows learnt before the end" if stream.is_cut else ""
        _say(f"saved {path}{rows}", quiet and not stream.is_cut)


def _in_options(error: Exception) -> Exception:
    """Return the error with options of the command in place of parameters."""
    text = str(error).replace("Forecaster(..., frequency='1h', resample='mean')", "--frequency 1h --resample mean")
    text = text.replace("resample='mean'", "--frequency 1h --resample mean with the distance that you want")
    return ValueError(text) if isinstance(error, ValueError) and text != str(error) else error


def _season(words: list[str] | None) -> Any:
    if words is None:
        return None
    found = _listed(words)
    if found == ["none"]:
        return ()
    try:
        return [int(word) for word in found]
    except ValueError:
        raise ValueError(f"--season takes lengths in rows, as 24 or 24,168, or none; got {','.join(found)}") from None


def _listed(words: list[str] | None) -> list[str]:
    return [name.strip() for word in words or () for name in word.split(",") if name.strip()]


def _figure(value: float) -> str:
    return "-" if value != value else f"{value:.5g}"


def _share(value: float) -> str:
    return "-" if value != value else f"{value:.1%}"


def _say(line: str, quiet: bool) -> None:
    """Print progress to standard error, since standard output belongs to the forecast."""
    if not quiet:
        print(line, file=sys.stderr, flush=True)
