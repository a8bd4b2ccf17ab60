"""The results as Markdown: the method with the lowest error on equal rows, and all figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from peers.contestants import AUTO, CONTESTANTS
from peers.losses import losses

__all__ = ["lowest", "tables"]

OURS = [name for name, one in CONTESTANTS.items() if one.family == "nystream"]


def lowest(found: dict[str, dict[str, float]], among: list[str]) -> bool:
    """Return whether Auto has a lower error than each of these methods on the rows that the method learnt."""
    return all(one["Auto, same rows"] < one["error"] for name, one in found.items() if name in among and name != AUTO)


def tables(results: dict[str, Any], folder: Path) -> str:
    """The page benchmarks/results/peers.md; `folder` has the results of the other benchmarks."""
    streams = results["streams"]
    others = [name for name in CONTESTANTS if name not in OURS]
    short = [stream["found"] for stream in streams.values() if not stream["full"]]
    long = [stream["found"] for stream in streams.values() if stream["full"]]
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    commit = f"{(results['commit'] or 'unknown')[:10]}{' with changes' if results['changed'] else ''}"
    return "\n".join(
        [
            "# Peers side by side",
            "",
            "This page compares nystream with other libraries. It begins with the data on which others are better.",
            "",
            *losses(results, folder),
            "",
            "## The next row",
            "",
            f"This section compares nystream with {_libraries(results)} on real streams. Each method reads a stream "
            "once and predicts every row before it gets the label of the row (scikit-learn: before it gets the labels "
            "of a block of 100 rows). "
            f"A method that has used {results['limit']:g} seconds of processor time on a stream is stopped there. Auto "
            "is never stopped.",
            "",
            f"Auto has a lower error than every other library and baseline on {_wins(short, others)} streams"
            + f", and on {_wins(long, others)} streams at full length" * bool(long)
            + ". Each method is compared with Auto on the rows that the method learnt. If the other learners of "
            f"nystream are compared too, Auto has the lowest error on {_wins(short + long, list(CONTESTANTS))}. No "
            "method was tuned to a stream. But Auto was designed on the first ten streams of the table, which "
            "is a small advantage for Auto on them.",
            "",
            f"`python benchmarks/accuracy/peers.py` writes this page, and its help text describes the method. Measured "
            f"on {results['date'][:10]} with commit {commit}, one thread, {results['machine']}, "
            f"Python {results['python']}, {versions}. Chart: `docs/images/peers.png`.{_again(results)}",
            "",
            "The table gives the error rate, and for casp and cpusmall the root mean squared error; lower is better. "
            "`.103 / .054 (9,870)` means: the method was stopped after 9,870 rows, its error on them is .103, and the "
            "error of Auto on the same rows is .054. An error is bold if no other method has a lower one on the same "
            "rows. `linear ridge` is ridge regression on the columns, and `no change` repeats the last label.",
            "",
            *_errors(streams),
            "",
            "## All figures",
            "",
            "- `error`: the error of the table above, and `Auto, same rows` the error of Auto on the same rows if the "
            "method was stopped.",
            "- `log loss` and `ECE`, the expected calibration error: given for methods that predict probabilities.",
            "- `rows/s`: rows per second of processor time, prediction and learning together.",
            "- `MB`: the growth of the resident memory of the process, from before the model is built to its highest "
            "value. It is known to 1 or 2 MB.",
            "- `saved MB`: the size of the saved model (nystream: the size of its arrays).",
            "",
            *_everything(streams),
            "",
            "## Settings",
            "",
            "The library of each method and its settings. `loss A or B` means A for classes and B for numbers.",
            "",
            *(
                f"- **{name}**: {text}"
                for name, text in results["settings"].items()
                if any(name in one["found"] for one in streams.values())
            ),
            "",
        ]
    )


def _libraries(results: dict[str, Any]) -> str:
    """The other libraries that took part, in a sentence."""
    took_part = {method for stream in results["streams"].values() for method in stream["found"]}
    families = dict.fromkeys(one.family for name, one in CONTESTANTS.items() if name in took_part)
    names = [family for family in families if family not in ("nystream", "baseline")]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _again(results: dict[str, Any]) -> str:
    """What was measured later than the rest."""
    return "".join(
        f" {', '.join(one['methods'])}: measured again on {one['date'][:10]} with commit {one['commit'][:10]}"
        f" and nystream {one['versions']['nystream']} on {', '.join(one['streams'])}."
        for one in results.get("again", [])
    )


def _wins(streams: list[dict[str, dict[str, float]]], among: list[str]) -> str:
    return f"{sum(lowest(found, among) for found in streams)} of {len(streams)}"


def _errors(streams: dict[str, Any]) -> list[str]:
    head = ["| | " + " | ".join(streams) + " |", "|---" * (len(streams) + 1) + "|"]
    shape = [f"{one['rows']:,} x {one['columns']}" for one in streams.values()]
    lines = ["| rows x columns | " + " | ".join(shape) + " |"]
    took_part = [name for name in CONTESTANTS if any(name in stream["found"] for stream in streams.values())]
    lines += [
        f"| {name} | " + " | ".join(_error(name, stream) for stream in streams.values()) + " |" for name in took_part
    ]
    return head + lines


def _error(name: str, stream: dict[str, Any]) -> str:
    one = stream["found"].get(name)
    if one is None:
        return ""
    text = number(one["error"])
    whole = {other: values for other, values in stream["found"].items() if values["rows"] == stream["rows"]}
    if one["rows"] < stream["rows"]:
        best = one["error"] < one["Auto, same rows"]
        return f"{_bold(text, best)} / {number(one['Auto, same rows'])} ({one['rows']:,})"
    best = one["error"] == min(values["error"] for values in whole.values())
    if name == AUTO:
        best = lowest(stream["found"], list(CONTESTANTS))
    return _bold(text, best)


def _everything(streams: dict[str, Any]) -> list[str]:
    lines = [
        "| stream | method | rows | error | Auto, same rows | log loss | ECE | rows/s | MB | saved MB |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for stream_name, stream in streams.items():
        for name, one in stream["found"].items():
            cut = one["rows"] < stream["rows"]
            cells = [
                stream_name,
                name,
                f"{one['rows']:,}",
                number(one["error"]),
                number(one["Auto, same rows"]) if cut else "",
                number(one["log loss"]) if "log loss" in one else "",
                number(one["ECE"]) if "ECE" in one else "",
                f"{_two_digits(one['rows/s']):,.0f}",
                f"{one['resident'] / 1e6:.0f}",
                f"{round(_two_digits(one['saved'] / 1e6), 4):g}",
            ]
            lines.append("| " + " | ".join(cells) + " |")
    return lines


def number(value: float) -> str:
    """Three decimals of a rate without the leading 0, two of anything larger."""
    return f"{value:.3f}".removeprefix("0") if value < 1 else f"{value:.2f}"


def _two_digits(value: float) -> float:
    """Rows per second are not known better."""
    return float(f"{value:.2g}")


def _bold(text: str, bold: bool) -> str:
    return f"**{text}**" if bold else text
