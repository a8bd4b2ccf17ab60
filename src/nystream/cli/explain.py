"""`nystream explain`: importance of columns in a saved model, and contributions to predictions."""

from __future__ import annotations

import importlib
import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer

from nystream.cli import options as opt
from nystream.cli.cleaning import check_columns
from nystream.cli.resuming import read
from nystream.cli.rows import RowSource, open_rows
from nystream.data.reading import Table
from nystream.evaluate.result import check_form
from nystream.explain import Importance, Reasons
from nystream.model import Model

__all__ = ["class_of", "explain"]

FEW = 5
"""Default number of explained rows."""
MEASURED = 2000
"""Largest number of rows for importance."""
FORMS = (".svg", ".png", ".pdf")
"""Of charts."""


def explain(
    initial: Annotated[Path, typer.Option("--initial", "-i", help="The saved model.")],
    source: opt.MaybeSource = None,
    importance: Annotated[
        bool, typer.Option("--importance", help="Importance of the columns; of a file with labels, on its rows.")
    ] = False,
    header: opt.Header = None,
    rows: opt.Rows = None,
    of: Annotated[
        str | None, typer.Option(help="Explain this class, or this target of several; else the predicted class.")
    ] = None,
    column: Annotated[
        str | None, typer.Option(help="With --chart: the course of predictions over this column.")
    ] = None,
    chart: Annotated[
        Path | None, typer.Option(help="Draw importance, or the course of --column, to this .svg, .png or .pdf file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON, for programs.")] = False,
    data: opt.Data = None,
) -> None:
    """Show which columns a saved model depends on; with a file, explain the predictions for its first rows."""
    if column is not None and chart is None:
        raise ValueError("--column is drawn: name a file for it with --chart")
    if chart is not None:
        check_form(chart, FORMS)
        importlib.import_module("nystream.plot")
    model = read(initial)
    found: Importance | None = None
    if source is not None and not importance:
        some = open_rows(source, wanted=False, rows=rows or FEW, data=data, header=header, model=model)
        _reasons(model, some, class_of(model, of), as_json)
    elif source is not None:
        some = open_rows(source, target=_targets(model), rows=rows or MEASURED, data=data, header=header, model=model)
        found = _measured(model, some)
        _tell(found, None, as_json)
    elif column is None:
        found = model.importance()
        _tell(found, None if importance else model.explain(), as_json)
    if chart is not None:
        plot = importlib.import_module("nystream.plot")
        if column is not None:
            figure = plot.partial_dependence(model, column, class_of(model, of))
        else:
            figure = plot.importance_chart(found or model.importance())
        figure.savefig(chart)


def class_of(model: Model, of: str | None) -> Any:
    """Return the class or target that a word means."""
    if of is None or model.task != "classification":
        return of
    return next((name for name in model.classes if str(name) == of), of)


def _targets(model: Model) -> list[str] | None:
    schema = model.schema_ or model.schema
    return None if schema is None else schema.targets or None


def _tell(importance: Importance, words: str | None, as_json: bool) -> None:
    if not as_json:
        print(f"{words}\n\n{importance}" if words else importance)
        return
    figures: dict[str, Any] = {
        "unit": importance.unit,
        "present": importance.present,
        "rows": importance.rows,
        "coverage": importance.coverage,
        "columns": [
            {name: None if isinstance(v, float) and math.isnan(v) else v for name, v in c._asdict().items()}
            for c in importance.columns
        ],
    }
    print(json.dumps({"explanation": words, **figures} if words else figures))


def _measured(model: Model, found: RowSource) -> Importance:
    """Measure the importance on rows with labels that come from elsewhere."""
    for rows, labels in found.blocks(MEASURED):
        return model.importance(rows, labels)
    raise ValueError(f"{found.name} has no rows")


def _reasons(model: Model, found: RowSource, of: Any, as_json: bool) -> None:
    first = 0
    for rows, _ in found.blocks(64):
        if first == 0 and isinstance(rows, Table) and model.schema_ is not None:
            check_columns(model.schema_, rows, found.name)
        for i, reasons in enumerate(model.explain_rows(rows, of)):
            print(_line(reasons, first + i) if as_json else f"row {first + i}: {reasons}")
        first += len(rows)


def _line(reasons: Reasons, row: int) -> str:
    figures = {"row": row, "of": reasons.of, "prediction": reasons.prediction, "base": reasons.base}
    return json.dumps({**figures, "reasons": dict(reasons)}, default=str)
