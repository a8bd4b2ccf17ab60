"""The figures as a page."""

from __future__ import annotations

from typing import Any

from growing.learners import AXES
from nystream.registry import LEARNERS

__all__ = ["page"]

NEAR = 0.35
"""Exponents that are larger than the stated ones by more than this are set in bold."""


def page(results: dict[str, Any]) -> str:
    """Return the page as Markdown: how it was measured, and one line for each learner."""
    commit = (results["commit"] or "unknown")[:10]
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    lines = [
        "# How the cost of a row grows",
        "",
        "This page shows how the processor time of a row grows with the rows so far, the columns, the size of the "
        "learner and the classes. Size means the number of random features, stored points, landmarks, or rows of a "
        "window. One quantity grows at a time; the others stay at 10 columns, size 100 and two classes.",
        "",
        "- `cost` is the stated cost. `nystream list` explains its letters.",
        "- `us` is the time of a row in microseconds, at 10 columns, size 100 and two classes.",
        "- The other columns give the measured exponent, in brackets the exponent that the stated cost implies, and "
        "the largest value that was measured. An exponent of 1.0 means that the time doubles when the quantity "
        "doubles. It is the slope of log time against log quantity over the upper half of the measured values. It is "
        f"bold if it is more than {NEAR:g} above the stated one.",
        "",
        "Many measured exponents are below the stated ones: at these sizes, a large part of the time of a row does not "
        "grow. Two are above. Projectron with 2,000 points reads 32 MB for every row, which does not fit into the "
        "processor's caches. The time of RRF grows with the rows. The labels of this benchmark are random, so the "
        "scales that RRF learns probably become so large that the sines are computed one at a time.",
        "",
        f"A sweep ends where a learner needs more than {results['seconds']['warm']:g} seconds of processor time to "
        f"reach its size, where the stream needs more than {results['seconds']['stream']:g} seconds, or where a row "
        f"needs more than {1e3 * results['seconds']['row']:g} ms.",
        "",
        f"`python benchmarks/scale/growth.py` measures and writes this page, and its help text describes the method. "
        f"Measured on {results['date'][:10]} with commit {commit}, one thread, {results['machine']}, "
        f"Python {results['python']}, {versions}.",
        "",
        f"| | cost | us | {' | '.join(f'{axis}, up to' for axis in AXES)} |",
        "|---|---|---:|" + "---|" * len(AXES),
    ]
    for name, sweeps in results["learners"].items():
        at = dict(map(tuple, sweeps["size"]["points"])).get(100)
        cells = [name, f"`{LEARNERS[name].cost}`", "" if at is None else f"{1e6 * at:.3g}"]
        cells += [_cell(sweeps[axis]) for axis in AXES]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(sweep: dict[str, Any]) -> str:
    if sweep["exponent"] is None:
        return ""
    text = f"{sweep['exponent']:.1f}".replace("-0.0", "0.0")
    text = f"**{text}**" if sweep["exponent"] > sweep["said"] + NEAR else text
    return f"{text} ({sweep['said']}), {sweep['points'][-1][0]:,}"
