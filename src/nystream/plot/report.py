"""One self-contained HTML page about an evaluation: curves, tables, settings, versions."""

from __future__ import annotations

import html
import math
import os
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np

from nystream.evaluate.comparison import Comparison
from nystream.evaluate.metrics.meters import ImportanceShares, Weights
from nystream.evaluate.result import Result
from nystream.evaluate.table import figures
from nystream.explain import Importance
from nystream.plot.curves import axis_name, draw_lines, name_lines, of_predictions
from nystream.plot.explaining import importance_chart
from nystream.plot.inline import inlined
from nystream.plot.labels import around
from nystream.plot.page import cell, page, pairs, section, table
from nystream.plot.race import draw_speed
from nystream.plot.regret import regret_chart
from nystream.plot.style import INK, PALETTE, Figure, blank
from nystream.plot.weights import has_importance, has_weights, importance_over_time, weights_chart

__all__ = ["report"]

WIDTH, HEIGHT = 6.4, 3.5
"""Inches of a chart."""
BESIDE = 0.17
"""Inches of height that each name beside the lines needs; charts of many learners are higher."""
SPREAD = 20.0
"""Sizes, bytes and speeds that differ by more than this factor are drawn on a logarithmic axis."""
READINGS = 24
"""Rows of the table of a learner's readings, evenly spaced, the last always."""
WHOLE = ("n", "size", "bytes", "rows_per_second")
"""Columns of whole numbers, written with commas."""
TITLES = {"size": "size"}
"""Columns whose words on an axis are explained below their title instead."""
EXPLAINED = {
    "regret": "total loss minus that of the best function in hindsight; dotted: what theory allows at most",
    "size": "points or features that the learner stores",
    "bytes": "of all arrays that the learner holds",
    "rows_per_second": "seconds inside the learner only",
}


def report(
    result: Result | Comparison,
    path: str | os.PathLike[str] | None = None,
    *,
    title: str = "Evaluation",
    about: Mapping[str, str] | None = None,
    importance: Mapping[str, Importance] | None = None,
    changes: Collection[int] = (),
) -> str:
    """Write a page about a result or a comparison, and return it.

    Everything is inside: style, SVG and tables. Nothing is fetched and no script runs; light or dark as the reader's
    system has it. What was measured is drawn: the metrics of predictions, so far and windowed, regret and its bound,
    size, bytes, speed, the weights of the parts of learners that have some, and the importance of columns.

    Parameters
    ----------
    result : Result or Comparison
    path : path, optional
        Where to write it, .html.
    title : str
    about : mapping of str to str, optional
        What else to tell of the run, as the source of the rows; values of several lines keep them.
    importance : mapping of str to Importance, optional
        What `Model.importance()` said at the end, by the names of the learners.
    changes : rows, optional
        Where a learner noticed that the stream had changed: lines across the charts of metrics.

    Examples
    --------
    >>> import nystream
    >>> learner = nystream.PKRR(nystream.Fourier(nystream.Gaussian(0.5), 50, seed=0))
    >>> result = nystream.prequential(nystream.streams.sine(500, seed=0), learner, ["mse", "regret"], every=50)
    >>> text = nystream.plot.report(result, title="Sine")
    >>> text.startswith("<!DOCTYPE html>"), text.count("<svg")
    (True, 2)
    """
    comparison = result if isinstance(result, Comparison) else Comparison([result])
    charts = [_chart(comparison, column, f"c{i}", changes) for i, column in enumerate(_columns(comparison))]
    charts += _speed(comparison, f"c{len(charts)}")
    charts += [_parts(r, f"w{i}") for i, r in enumerate(comparison) if has_weights(r)]
    charts += [_over_time(r, f"i{i}") for i, r in enumerate(comparison) if has_importance(r)]
    bars = [_bars(name, found, f"b{i}") for i, (name, found) in enumerate((importance or {}).items())]
    sections = [
        section("Last readings", _finals(comparison)),
        section("Over the stream", f'<div class="charts">\n{"".join(charts)}</div>') if charts else "",
        section("Columns", f'<div class="charts">\n{"".join(bars)}</div>') if bars else "",
        section("Learners", _settings(comparison)),
        section("Run", pairs(_facts(comparison, about or {}))),
        section("Readings", *(_readings(r) for r in comparison)),
    ]
    versions = comparison.results[0].meta.get("versions", {})
    footer = "Written by " + ", ".join(f"{name} {number}" for name, number in versions.items())
    text = page(title, _lead(comparison), sections, footer if versions else "")
    if path is not None:
        if Path(path).suffix.lower() not in (".html", ".htm"):
            raise ValueError(f"a report is a page of HTML; end {os.fspath(path)!r} with .html")
        Path(path).write_text(text, encoding="utf-8", newline="\n")
    return text


def _lead(comparison: Comparison) -> str:
    rows = max(r.rows for r in comparison)
    who = "1 learner" if len(comparison) == 1 else f"{len(comparison)} learners"
    stopped = "; stopped before the end" if comparison.interrupted else ""
    return f"{who}, {rows:,} rows, each predicted before its label was used{stopped}"


def _drawable(comparison: Comparison, column: str) -> bool:
    """Return whether every learner has the column, and some learner a number in it."""
    if not all(column in r.columns for r in comparison):
        return False
    return any(bool(np.isfinite(r[column]).any()) for r in comparison)


def _columns(comparison: Comparison) -> list[str]:
    wanted = [m for m in comparison.metrics if of_predictions(m)]
    wanted += [m for m in ("regret", "size", "bytes", "rows_per_second") if m in comparison.metrics]
    return [column for column in wanted if _drawable(comparison, column)]


def _chart(comparison: Comparison, column: str, key: str, changes: Collection[int]) -> str:
    results, note = list(comparison), _explained(comparison, column)
    marked = changes if of_predictions(column) else ()
    if marked:
        note = "; ".join(part for part in (note, "upright lines: changes of the stream that were noticed") if part)
    figure = regret_chart(results, size=_size(results)) if column == "regret" else _lines(results, column, marked)
    return _figure(figure, key, TITLES.get(column, axis_name(column)), note)


def _lines(results: list[Result], column: str, changes: Collection[int] = ()) -> Figure:
    """Draw a line for each learner; counts are shown from 0, unless they need a logarithmic axis."""
    figure = blank(*_size(results))
    axes = figure.add_subplot()
    log = "" if of_predictions(column) else _scale(results, column)
    tags = draw_lines(axes, results, column, log=log)
    if not of_predictions(column) and not log:
        axes.set_ylim(0, 1.02 * axes.get_ylim()[1])
    for row in changes:
        axes.axvline(row, color=INK, alpha=0.35, linewidth=0.8, zorder=0)
    axes.set_ylabel("")
    name_lines(figure, [(axes, tags)])
    return figure


def _size(results: list[Result]) -> tuple[float, float]:
    return WIDTH, max(HEIGHT, 1.0 + BESIDE * len(results))


def _explained(comparison: Comparison, column: str) -> str:
    if column in EXPLAINED:
        return EXPLAINED[column]
    better = next(r.directions.get(column, "lower") for r in comparison)
    return f"{'' if '@' in column else 'so far; '}{better} is better"


def _scale(results: list[Result], column: str) -> str:
    finals = [r.final[column] for r in results if r.final[column] > 0]
    return "y" if finals and max(finals) > SPREAD * min(finals) else ""


def _speed(comparison: Comparison, key: str) -> list[str]:
    """Return the chart of the first metric against speed, where there is more than one learner to compare."""
    metric = next((m for m in comparison.metrics if of_predictions(m) and _drawable(comparison, m)), None)
    if metric is None or len(comparison) < 2:
        return []
    figure = blank(*_size(list(comparison)))
    axes = figure.add_subplot()
    tags = draw_speed(axes, comparison, metric, "")
    figure.set_layout_engine("tight")
    figure.draw_without_rendering()
    around(axes, tags)
    return [
        _figure(figure, key, f"{axis_name(metric)} against speed", "last readings; rows per second inside the learner")
    ]


def _parts(result: Result, key: str) -> str:
    figure = weights_chart(result, size=(WIDTH, HEIGHT))
    return _figure(figure, key, f"what {result.name} relies on", "its parts, by the sizes of their weights")


def _over_time(result: Result, key: str) -> str:
    figure = importance_over_time(result, size=(WIDTH, HEIGHT))
    return _figure(figure, key, f"what the predictions of {result.name} depend on", "columns, by shares of importance")


def _bars(name: str, importance: Importance, key: str) -> str:
    small = f"at the end, on {importance.rows:,} rows: how much larger the error is when a column's values change rows"
    return _figure(importance_chart(importance), key, f"importance of columns to {name}", small)


def _figure(figure: Figure, key: str, title: str, small: str) -> str:
    caption = f"{html.escape(title)}<small>{html.escape(small)}</small>"
    return f"<figure><figcaption>{caption}</figcaption>\n{inlined(figure, key, title)}</figure>\n"


def _finals(comparison: Comparison) -> str:
    """Return a table of the last readings, with the best of each column marked."""
    shown = [m for m in _tabled(comparison.metrics) if any(not math.isnan(v) for v in comparison.final(m).values())]
    columns = []
    for metric in shown:
        finals = comparison.final(metric)
        best = comparison.best(metric) if len(comparison) > 1 and metric != "regret_bound" else None
        texts = _numbers(metric, list(finals.values()))
        columns.append([cell(t, "best" if n == best else "") for t, n in zip(texts, finals, strict=True)])
    names = [cell(r.name, key=_key(i)) for i, r in enumerate(comparison)]
    seconds = [cell(f"{r.seconds:.3g}") for r in comparison]
    header = ["learner", *(TITLES.get(m, axis_name(m)) for m in shown), "seconds"]
    return table(header, zip(names, *columns, seconds, strict=True))


def _tabled(columns: Collection[str]) -> list[str]:
    """Return the columns of tables: weights and importance have charts instead."""
    parts = {*Weights.parts(columns).values(), *ImportanceShares.parts(columns).values()}
    return [column for column in columns if column not in parts]


def _numbers(column: str, values: list[float]) -> list[str]:
    if column in WHOLE:
        return [f"{v:,.0f}" if math.isfinite(v) else "–" for v in values]
    return [text if text != "-" else "–" for text in figures(values)]


def _key(i: int) -> str:
    """Return the style of a learner's line in the charts."""
    dashes = ("solid", "dashed", "dotted", "double")
    return (
        f"border-top-color: var(--line{i % len(PALETTE)}); border-top-style: {dashes[i // len(PALETTE) % len(dashes)]}"
    )


def _settings(comparison: Comparison) -> str:
    rows = [(cell(r.name, key=_key(i)), cell(r.learner, "words", code=True)) for i, r in enumerate(comparison)]
    return table(["name", "constructor call"], rows, words=True)


def _facts(comparison: Comparison, about: Mapping[str, str]) -> dict[str, str]:
    meta = comparison.results[0].meta
    facts = {**about, "rows": f"{max(r.rows for r in comparison):,}"}
    words = {
        "every": "rows between readings",
        "block": "rows handed over at once",
        "delay": "rows before a label arrives",
    }
    for name, told in words.items():
        if meta.get(name):
            facts[told] = str(meta[name])
    for name, number in meta.get("versions", {}).items():
        facts[name] = str(number)
    return facts


def _readings(result: Result) -> str:
    n = len(result["n"])
    kept = sorted(range(n - 1, -1, -max(1, math.ceil(n / READINGS))))
    names = _tabled(result.columns)
    texts = [_numbers(name, result[name][kept].tolist()) for name in names]
    inside = table(
        [TITLES.get(name, axis_name(name)) for name in names],
        zip(*([cell(t) for t in ts] for ts in texts), strict=True),
    )
    return f"<details><summary>{html.escape(result.name)}</summary>\n{inside}</details>"
