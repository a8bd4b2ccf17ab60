"""Where other methods are better than nystream, from the results of four benchmarks: the first section of peers.md.

    python benchmarks/accuracy/peers/losses.py

writes this section anew from the results in benchmarks/results. It needs no other library.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

__all__ = ["losses"]

Lines = list[str]
HEADING = "## Where others are better"
OURS = ("Auto", "facade's fit")
STRETCHES = {"all rows": "all rows", "last third": "the last third of the rows"}
FORECASTS = {"mean absolute error": 0, "root mean squared error": 1}


def losses(results: dict[str, Any], folder: Path) -> Lines:
    """The section as lines of Markdown. `folder` has the results of the other benchmarks as JSON."""
    rows = _next_rows(results) + _later_rows(folder) + _refitted(folder) + _forecasts(folder)
    return [
        HEADING,
        "",
        "Each line is a stream, a table or a series on which another method has a lower error than nystream. The last "
        "column is the error of nystream divided by the lower error.",
        "",
        "| question | data | better method | its error | nystream | ratio |",
        "|---|---|---|---:|---:|---:|",
        *rows,
        "",
        "- Next row: the tables below. Each method of another library is compared on the rows that it learnt.",
        "- Later rows: the first 80% of the rows are learnt, the last 20% are predicted without labels "
        "(`python benchmarks/accuracy/later_rows.py`: six streams, three tables, LightGBM and HistGradientBoosting).",
        "- Refitted boosters: LightGBM, CatBoost and XGBoost, fitted again every 1,000 rows "
        "(`python benchmarks/accuracy/boosters.py`: twelve streams; `boosters.json` in this folder says what was "
        "measured when).",
        "- Forecasts: errors relative to the seasonal naive forecast (`python benchmarks/accuracy/forecast.py`: seven "
        "series; `forecast.md` in this folder has all figures).",
        "- Drift: `python docs/make_picture.py` compares Auto with seven regressors of river and with refitted "
        "LightGBM on a stream whose function changes. Auto has the lowest error there.",
        "- Tables: `python benchmarks/accuracy/tables.py` prints errors and speed on eight mixed tables. Its figures "
        "are not kept in this folder.",
        "",
        "Many methods are faster or smaller than Auto. The table gives the median over the streams of a method's rows "
        "per second and of the size of its saved model, divided by those of Auto.",
        "",
        "| method | rows per second, relative to Auto | saved model, relative to Auto |",
        "|---|---:|---:|",
        *_costs(results),
    ]


def _line(question: str, data: str, method: str, theirs: float, ours: float) -> str:
    return f"| {question} | {data} | {method} | {theirs:.4g} | {ours:.4g} | {ours / theirs:.3f} |"


def _family(results: dict[str, Any], method: str) -> str:
    return str(results["settings"][method]).partition(":")[0]


def _next_rows(results: dict[str, Any]) -> Lines:
    lines = []
    for name, stream in results["streams"].items():
        for method, one in stream["found"].items():
            if _family(results, method) != "nystream" and one["error"] < one["Auto, same rows"]:
                lines.append(_line("next row", name, method, one["error"], one["Auto, same rows"]))
    return lines or ["| next row | none of the streams | | | | |"]


def _later_rows(folder: Path) -> Lines:
    lines = []
    for name, one in _read(folder / "later_rows.json").items():
        errors = one["errors"]
        method = min((who for who in errors if who not in OURS), key=errors.__getitem__)
        if errors[method] < errors["Auto"]:
            lines.append(_line("later rows", name, method, errors[method], errors["Auto"]))
    return lines


def _refitted(folder: Path) -> Lines:
    lines = []
    for part, words in STRETCHES.items():
        for name, found in _read(folder / "boosters.json").get("streams", {}).items():
            errors = {who: one[part] for who, one in found.items() if part in one}
            method = min((who for who in errors if who != "Auto"), key=errors.__getitem__)
            if errors[method] < errors["Auto"]:
                lines.append(_line(f"refitted boosters, {words}", name, method, errors[method], errors["Auto"]))
    return lines


def _forecasts(folder: Path) -> Lines:
    lines = []
    for words, place in FORECASTS.items():
        for name, found in _read(folder / "forecast.json").get("accuracy", {}).items():
            errors = {who: one["relative"][place] for who, one in found.items()}
            method = min(errors, key=errors.__getitem__)
            if method != "Forecaster":
                lines.append(_line(f"forecasts, {words}", name, method, errors[method], errors["Forecaster"]))
    return lines


def _costs(results: dict[str, Any]) -> Lines:
    ratios: dict[str, list[tuple[float, float]]] = {}
    for stream in results["streams"].values():
        auto = stream["found"]["Auto"]
        for method, one in stream["found"].items():
            if _family(results, method) not in ("nystream", "baseline"):
                pair = one["rows/s"] / auto["rows/s"], one["saved"] / auto["saved"]
                ratios.setdefault(method, []).append(pair)
    return [
        f"| {method} | {median(rate for rate, _ in pairs):.2g} | {median(size for _, size in pairs):.2g} |"
        for method, pairs in ratios.items()
    ]


def _read(path: Path) -> dict[str, Any]:
    """The results in a file; none if the benchmark has not run."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def main() -> None:
    """Replace the section in the page."""
    folder = Path(__file__).parents[2] / "results"
    page = folder / "peers.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(HEADING)
    after = rest[rest.index("\n## ") + 1 :]
    section = losses(json.loads((folder / "peers.json").read_text(encoding="utf-8")), folder)
    page.write_text("\n".join([before + section[0], *section[1:], "", after]), encoding="utf-8")


if __name__ == "__main__":
    main()
