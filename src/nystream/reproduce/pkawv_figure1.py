"""Figure 1 of the PKAWV paper: the exponent of the regret over that of the dictionary's size."""

from __future__ import annotations

import numpy as np

from nystream.reproduce.experiment import Experiment, Setting
from nystream.reproduce.outcome import Line, Outcome, Panel, Table
from nystream.reproduce.pkawv_rates import GAMMA_MOST, SUMMARY, least, regret_of_size
from nystream.reproduce.pkawv_streams import SOURCE

__all__ = ["EXPERIMENT"]

CAPACITIES = (0.2, GAMMA_MOST, 0.6)


def _panel(gamma: float) -> Panel:
    sizes = np.linspace(0.0, 1.0, 101)
    curves = [Line(name, tuple(sizes), tuple(regret_of_size(name, gamma, x) for x in sizes)) for name in SUMMARY]
    ends = {
        "optimal rate g/(1+g)": ((0.0, 1.0), (gamma / (1 + gamma),) * 2),
        "m = n^(2g/(1-g^2))": ((2 * gamma / (1 - gamma**2),) * 2, (0.0, 1.0)),
        "published floor of PROS-N-KONS, 4g/(1+g)^2": ((0.0, 1.0), (4 * gamma / (1 + gamma) ** 2,) * 2),
    }
    marks = [Line(name, x, y, dashed=True) for name, (x, y) in ends.items() if max(x) <= 1]
    return Panel(f"g = {gamma:.3f}", "log m / log n", "log regret / log n", (*curves, *marks))


def _run(setting: Setting) -> Outcome:
    rows = []
    for gamma in setting.each(CAPACITIES, "capacities"):
        published = {
            "PKAWV": (gamma / (1 + gamma), 2 * gamma / (1 - gamma**2)),
            "PROS-N-KONS": (4 * gamma / (1 + gamma) ** 2, None),
        }
        for name, bound in SUMMARY.items():
            size, regret = least(name, gamma)
            rate, points = published.get(name, (None, None))
            if points is not None and points > 1:
                rate, points = None, None
            rows.append((f"{gamma:.3f}", name, bound, rate, regret, points, size))
    columns = ("g", "algorithm", "bound", "published regret", "here", "published size", "here, size")
    table = Table("Least exponents of n: regret, and the smallest size that has it", columns, tuple(rows), digits=3)
    remarks = (
        f"Above g = sqrt(2) - 1 = {GAMMA_MOST:.3f} PKAWV would need more than n points for the optimal rate; with "
        "m = n it then has the exponent in the table, unless the features are known beforehand.",
        "The paper states that PROS-N-KONS cannot have an exponent below 4g/(1+g)^2. Its bound, as read here, has "
        "g(3+g)/(1+g)^2, which is smaller for g < 1: the last term of that bound, n mu/lam, could not be read with "
        "certainty in the paper's text.",
    )
    return Outcome((table,), tuple(_panel(gamma) for gamma in CAPACITIES), remarks)


EXPERIMENT = Experiment(
    name="pkawv-figure1",
    title="The exponent of the regret over that of the dictionary's size.",
    source=f"{SOURCE}, Figure 1.",
    protocol="As in the paper nothing is run: the curves are the bounds in the table, least over lam, with "
    "d_eff(lam) = (n/lam)^g and mu = n m^(-1/g). An exponent is at most 1, the regret of predicting 0. What the "
    "learners here need is in pkawv-exponents.",
    run=_run,
)
