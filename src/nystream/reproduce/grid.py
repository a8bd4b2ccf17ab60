"""The list of the tables and figures of the four papers: those that are computed again, and the results that differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nystream.reproduce.outcome import Cell, Outcome

__all__ = ["DIFFERENCES", "GRID", "Difference", "Item"]


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper.

    Attributes
    ----------
    paper : str
    what : str
        Its number.
    experiments : tuple of str
        Those that do it again; none: nobody does.
    missing : str
        What of it is missing, or why all of it is; empty: it is done.
    """

    paper: str
    what: str
    experiments: tuple[str, ...]
    missing: str = ""

    @property
    def state(self) -> str:
        """In the words of the page."""
        if not self.experiments:
            return f"not done: {self.missing}"
        return f"partly: {self.missing}" if self.missing else "done"


@dataclass(frozen=True)
class Difference:
    """A published result, the result here, and why they differ; `here` is made from the figures of the record."""

    published: str
    here: Callable[[Outcome], str]
    why: str


FAR_OFF = 0.1
"""Relative difference from a published figure above which the page gives a reason for it."""
_KONS = "KONS (Calandriello, Lazaric, Valko 2017)"
_PKAWV = "PKAWV (Jezequel, Gaillard, Rudi 2019)"
_NOLANA = "NOLANA (Si, Kumar, Li 2018)"
_ILK = "ILK (Cheng et al. 2006)"
GRID = (
    Item(_NOLANA, "Table 1", ("nolana-table1",)),
    Item(_NOLANA, "Table 2", ("nolana-table2",), "four of five data sets: webspam is not at hand"),
    Item(_NOLANA, "Figure 1", ("nolana-figure1",)),
    Item(_NOLANA, "Figure 2", ("nolana-figure2",)),
    Item(_NOLANA, "Figure 3", ("nolana-figure3",)),
    Item(
        _NOLANA,
        "Figure 4",
        ("nolana-figure4",),
        "four of five data sets: webspam is not at hand; 50,000 rows of ijcnn1 and of covtype",
    ),
    Item(_ILK, "Figure 1", ("ilk-figure1",)),
    Item(_ILK, "Figure 2", ("ilk-figure2",), "the paper's own clips are not public; other clips take their place"),
    Item(_ILK, "Figure 3", ("ilk-figure3",), "the paper's own clip is not public; a clip of ours is shaken"),
    Item(_ILK, "Figure 4", ("ilk-figure4",)),
    Item(_PKAWV, "Table 1", ("pkawv-table1", "pkawv-exponents")),
    Item(_PKAWV, "Figure 1", ("pkawv-figure1",)),
    Item(
        _PKAWV,
        "Figure 2",
        ("pkawv-figure2",),
        "30,000 of the 5,000,000 rows of SUSY are at hand, and PKRR with Taylor degree 4 is left out there (7,315 "
        "features); the exact learner stops after 3,000 rows",
    ),
    Item(_PKAWV, "Figure 3", ("pkawv-figure3",)),
    Item(
        _PKAWV,
        "Figure 4",
        ("pkawv-figure4",),
        "on ijcnn1 PKRR with Taylor degree 4 is left out (14,950 features); the exact learner stops after 3,000 rows",
    ),
    Item(_KONS, "Section 6", ("kons-section6",)),
    Item(_KONS, "Theorems 1 and 3", ("kons-regret",)),
)


def _row(outcome: Outcome, table: int, *keys: Cell) -> dict[str, Cell]:
    """The first row of a table that begins with these cells, by column."""
    found = outcome.tables[table]
    for row in found.rows:
        if row[: len(keys)] == keys:
            return dict(zip(found.columns, row, strict=True))
    raise ValueError(f"table {found.title!r} has no row that begins with {keys}")


def _value(cell: Cell) -> float:
    if not isinstance(cell, int | float):
        raise ValueError(f"{cell!r} is no number")
    return float(cell)


def _number(outcome: Outcome, table: int, column: str, *keys: Cell) -> float:
    return _value(_row(outcome, table, *keys)[column])


def _table_of(outcome: Outcome, title: str) -> int:
    """The place of the first table whose title has these words."""
    return next(i for i, table in enumerate(outcome.tables) if title in table.title)


def _accuracies(outcome: Outcome) -> str:
    rows = outcome.tables[0].rows
    gaps = [_value(row[1]) - _value(row[3]) for row in rows]
    first, third = _value(rows[0][1]), _value(rows[2][1])
    return f"{first:.2f} at eps 0, {third:.2f} at eps 50; {min(gaps):+.2f} to {max(gaps):+.2f} points over all eps"


def _beaten(outcome: Outcome) -> str:
    parts = []
    for table in outcome.tables:
        figures = {str(row[0]): _value(row[1]) for row in table.rows if "our" not in str(row[0])}
        best = (min if "RMSE" in table.title else max)(figures, key=lambda name: figures[name])
        shown = ", ".join(f"{name} {figures[name]:.2f}" for name in dict.fromkeys((best, "NOLANA")))
        parts.append(f"{table.title.split(',')[0]}: {shown}")
    return "; ".join(parts)


def _far_off(outcome: Outcome) -> str:
    """The published figures of Table 2 that the same method misses by more than a tenth, in either direction."""
    parts = []
    for table in outcome.tables:
        place = table.columns.index("published")
        found = []
        for row in table.rows:
            if row[place] is None or "our" in str(row[0]):
                continue
            here, published = _value(row[1]), _value(row[place])
            if abs(here / published - 1) > FAR_OFF:
                found.append(f"{row[0]} {here:.2f}, not {published:.2f}")
        if found:
            parts.append(f"{table.title.split(',')[0]}: {'; '.join(found)}")
    return ". ".join(parts)


def _moves(outcome: Outcome) -> str:
    table = outcome.tables[0]
    here, published = table.columns.index("moves"), table.columns.index("moves, published")
    off = []
    for row in table.rows:
        ours, theirs = _value(row[here]), _value(row[published])
        if theirs and abs(ours / theirs - 1) > FAR_OFF:
            off.append(f"{ours:,.0f}, not {theirs:,.0f}, at eps {row[0]}")
    return ", ".join(off) or "none"


def _edge(outcome: Outcome) -> str:
    rows = [row for row in outcome.tables[0].rows if row[2] == "warm"]
    high = [_value(r[4]) for r in rows if _value(r[1]) > _value(r[0]) / 2]
    low = [_value(r[4]) for r in rows if _value(r[1]) < _value(r[0]) / 2]
    return f"{min(high):.1f} to {max(high):.1f} times the time at rank 0.8 m, {min(low):.1f} to {max(low):.1f} at 0.2 m"


def _worst(outcome: Outcome, title: str, column: str = "loss") -> str:
    table = outcome.tables[_table_of(outcome, title)]
    place = table.columns.index(column)
    pairs = sorted((_value(row[place]), str(row[0])) for row in table.rows if row[place] is not None)
    return ", ".join(f"{name} {value:.3f}" for value, name in pairs[:4])


def _digits(outcome: Outcome, task: str) -> str:
    names = ("SILK", "SVMD", "NORMA")
    return ", ".join(f"{name} {_number(outcome, 0, 'error', task, 128, name):.1f}" for name in names)


_PLAYED = ("Kernel-AWV", "PKAWV Taylor M = 4", "PKAWV Nystrom", "FOGD", "KONS")
DIFFERENCES: dict[str, tuple[Difference, ...]] = {
    "nolana-table1": (
        Difference(
            "accuracy 92.00 at eps 0, 92.10 at eps 50",
            _accuracies,
            "The paper gives neither width, step nor order of rows. With a logistic loss, AdaGrad steps and full rank, "
            "published accuracies are reached at every eps.",
        ),
        Difference(
            "moves of landmarks: 9,298, 7,742, 5,523, 1,262, 23, 0",
            lambda o: f"more than a tenth off: {_moves(o)}",
            "So few rows are that far from every landmark that their number depends on the shuffle.",
        ),
    ),
    "nolana-table2": (
        Difference(
            "NOLANA is best on cpusmall, usps and covtype, RRF on ijcnn1",
            _beaten,
            "Every method is tuned alike here, on rows that are not reported; the paper does not say how. Tuned FOGD "
            "and RRF are 2 to 10 points above their published figures on ijcnn1 and covtype.",
        ),
        Difference(
            "the figures of the single methods, in the tables below",
            lambda o: f"more than a tenth off: {_far_off(o)}",
            "All are better here. PA has a constant column, and its C and variant are tuned. The others have a kernel "
            "width and a step that were tuned for each of them and each data set; the paper gives neither.",
        ),
    ),
    "nolana-figure1": (
        Difference(
            "a warm start is faster than a new decomposition",
            _edge,
            "A step of the warm start has a decomposition of size r of its own: it pays for small r alone. LAPACK's "
            "decomposition of 50 to 200 rows takes a millisecond or less.",
        ),
    ),
    "nolana-figure2": (
        Difference(
            "both stages are above the first alone, and above landmarks that stay",
            lambda o: o.remarks[0] + " " + o.remarks[1],
            "On ijcnn1 the default setting of the figure is not tuned; moves cost more than they bring there, as in "
            "Table 2 without our changes.",
        ),
    ),
    "nolana-figure3": (
        Difference(
            "moving landmarks have the smaller error of the kernel",
            lambda o: " ".join(o.remarks),
            "On cpusmall it makes no difference whether rows always move a landmark or only from a distance on. The "
            "paper's widths and data preparation are not known.",
        ),
    ),
    "nolana-figure4": (
        Difference(
            "NOLANA has the best accuracy for its time on most data sets (curves without figures)",
            lambda o: " ".join(o.remarks),
            "Moves of landmarks cost a decomposition each; here the first-order methods are compiled, and a pass of "
            "FOGD takes a small part of the time of NOLANA.",
        ),
    ),
    "ilk-figure1": (
        Difference(
            "ILK and SILK make fewer mistakes than NORMA",
            lambda o: (
                f"ILK {_number(o, 0, 'mistakes', 'ILK'):.0f}, SILK {_number(o, 0, 'mistakes', 'SILK(60)'):.0f}, "
                f"NORMA {_number(o, 0, 'mistakes', 'NORMA'):.0f}"
            ),
            "All are tuned alike here, step and decay. At equal steps that are too large, ILK makes fewer: the second "
            "table.",
        ),
    ),
    "ilk-figure2": (
        Difference(
            "SILK's ROC curves are above those of truncated NORMA",
            lambda o: (
                f"highway: areas {_number(o, 0, 'area', 'highway', 'SILK'):.4f} and "
                f"{_number(o, 0, 'area', 'highway', 'truncated NORMA'):.4f}"
            ),
            "Other clips, and both are tuned alike.",
        ),
    ),
    "ilk-figure3": (
        Difference(
            "SILK sees new objects although the camera shakes (pictures without figures)",
            lambda o: o.remarks[0],
            "Another clip; the shake is made. How far the paper's camera moves is not given. Colours enter with the "
            "same coefficient and decay alike, so that the smallest is the oldest: SILK and truncated NORMA drop the "
            "same ones.",
        ),
    ),
    "ilk-figure4": (
        Difference(
            "two classes, buffer 128: SILK, SVMD, NORMA, from the least error",
            lambda o: _digits(o, "0-4 against 5-9"),
            "NORMA and SVMD are tuned as SILK is. The paper's settings for them are not given.",
        ),
        Difference(
            "ten classes, buffer 128: SILK, SVMD, NORMA",
            lambda o: _digits(o, "ten classes"),
            "SILK is first, as published. The paper's step to the runner-up is worse than the exact step used here.",
        ),
    ),
    "pkawv-table1": (
        Difference(
            "PROS-N-KONS: n^(4g/(1+g)^2), that is 0.64 at g = 1/4",
            lambda o: f"{_number(o, 2, 'met', 'PROS-N-KONS, mu = lam: regret'):.2f} met",
            "mu = lam here, for which the bound allows 0.40 if the projection cost nothing; the logarithm adds 0.14. "
            "Every restart loses what was learnt.",
        ),
        Difference(
            "PKAWV: n^(g/(1+g)) log n, that is 0.20 at g = 1/4",
            lambda o: f"{_number(o, 2, 'met', 'PKAWV: regret'):.2f} met",
            "The logarithm: over these n, n^0.20 log n has the slope 0.34.",
        ),
        Difference(
            "PKAWV: a cost of n^(4g/(1-g^2)), that is 1.07 at g = 1/4",
            lambda o: f"{_number(o, 2, 'met', 'PKAWV: cost'):.2f} met",
            "The logarithm: the squared size has the factor (log n)^2, with which the slope over these n is 1.34.",
        ),
        Difference(
            "Sketched-KONS: c n^(g/(1+g)) log n, that is 0.20 at g = 1/4",
            lambda o: f"{_number(o, 2, 'met', 'Sketched-KONS, share 0.3: regret'):.2f} met",
            "The logarithm gives 0.34; the rest is chance in which rounds enter, and n is small.",
        ),
        Difference(
            "Gaussian kernel, d = 2: regret (log n)^3 at a cost of (log n)^4",
            lambda o: (
                f"powers {_number(o, 1, 'met', 2, 'Kernel-AWV: regret'):.1f} and "
                f"{_number(o, 1, 'met', 2, 'PKAWV Taylor: cost'):.1f} met"
            ),
            "n of at most 4,000 is far from the limit; the degree changes by one or two over these n.",
        ),
    ),
    "pkawv-exponents": (
        Difference("nothing: not in the paper", lambda o: o.remarks[0], "It tests Table 1 and Figure 1 on streams."),
    ),
    "pkawv-figure1": (
        Difference(
            "PROS-N-KONS: 4g/(1+g)^2 at best, 0.556 at g = 0.2",
            lambda o: f"{_number(o, 0, 'here', '0.200', 'PROS-N-KONS'):.3f}",
            "The bound as it could be read here allows less; its last term is uncertain in the text at hand.",
        ),
        Difference(
            "PKAWV: the optimal rate from m = n^(2g/(1-g^2)) on",
            lambda o: f"m = n^{_number(o, 0, 'here, size', '0.200', 'PKAWV'):.3f} at g = 0.2",
            "No difference.",
        ),
    ),
    "pkawv-figure2": (
        Difference(
            "cod-rna: PKRR with Taylor features and Nystrom points reach the error of the exact learner; FOGD, "
            "PROS-N-KONS and Sketched-KONS stay above (curves without figures)",
            lambda o: _worst(o, "cod-rna, the paper's setting"),
            "10,000 rows and 300 atoms by default; FOGD is much better with a tuned step.",
        ),
        Difference(
            "SUSY, 5,000,000 rows",
            lambda o: _worst(o, "susy-30k, the paper's setting"),
            "30,000 rows are at hand.",
        ),
    ),
    "pkawv-figure4": (
        Difference(
            "casp, ijcnn1: the same order as in Figure 2 (curves without figures)",
            lambda o: "; ".join(f"{n}: {_worst(o, n + ', the paper')}" for n in ("casp", "ijcnn1")),
            "10,000 rows and 300 atoms by default.",
        ),
    ),
    "pkawv-figure3": (
        Difference(
            "PKAWV's regret is close to that of Kernel-AWV and below those of the others (curves without figures)",
            lambda o: ", ".join(f"{name} {_number(o, 0, 'n = 80', name):.0f}" for name in _PLAYED),
            "FOGD has 1,000 features here, more than rounds, and its adversary finds less against it. Each learner has "
            "an adversary of its own.",
        ),
    ),
    "kons-section6": (
        Difference(
            "sampling by leverage alone has linear regret",
            lambda o: f"exponent {_number(o, 0, 'exponent at the end', 'Sketched-KONS, gamma 0'):.2f}",
            "At 4,000 rounds it is not yet 1.",
        ),
        Difference(
            "a share gamma of the rounds costs a factor of at most 1/gamma: 2 at gamma = 0.5",
            lambda o: (
                f"{_number(o, 0, 'T = 4,000', 'Sketched-KONS, gamma 0.5') / _number(o, 0, 'T = 4,000', 'KONS'):.2f}"
            ),
            "The bound is for the worst stream.",
        ),
    ),
    "kons-regret": (
        Difference(
            "regret grows as log T for curved losses, as sqrt T for others",
            lambda o: ", ".join(f"{row[0]}: {row[-2]}" for row in o.tables[0].rows),
            "No difference.",
        ),
        Difference(
            "a round costs gamma^2 of that of KONS: 0.01 at gamma = 0.1",
            lambda o: format(_number(o, 1, "time / KONS's", 0.1), ".3f"),
            "Every point stays in the function: its kernel row costs the same at any gamma.",
        ),
    ),
}
"""By experiment."""
