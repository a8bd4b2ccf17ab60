"""The members that a forecaster has unless others are given."""

from __future__ import annotations

from typing import Any

from nystream.forecast.kernel import Kernel
from nystream.forecast.log_smoother import LogSmoother
from nystream.forecast.member import Member
from nystream.forecast.naive import Naive, SeasonalNaive
from nystream.forecast.ridge import Ridge, Ridges
from nystream.forecast.smoother import Gains, Smoother

__all__ = ["default_members"]

SLOW, FAST = "slow smoother", "fast smoother"
SMOOTHERS = {SLOW: Gains(0.005, short=0.1, long=0.1), FAST: Gains(0.02, short=0.1, long=0.3)}


def default_members(learner: Any, seasons: int) -> list[Member]:
    """Return the members of docs/algorithms/forecaster.md, for a series with none, one or two seasons.

    learner : of the kernel member, or a member that stands for it; None where there are no inputs for it.
    """
    members: list[Member] = [
        Naive(),
        SeasonalNaive(),
        Smoother([tuple(gains) for gains in SMOOTHERS.values()], list(SMOOTHERS)),
        LogSmoother(),
    ]
    ridges = [
        Ridge(None, "rg", name="autoregression"),
        Ridge(None, "rg", forgetting=0.998, name="quick autoregression"),
        Ridge(SLOW, "ryl", name="ridge on slow smoother"),
        Ridge(FAST, "ryl", name="ridge on fast smoother"),
    ]
    if seasons:
        base = "seasonal naive" if seasons == 1 else "long seasonal naive"
        ridges.append(Ridge(base, "rl", name=f"ridge on {base}"))
    others: list[str] = []
    if learner is not None:
        kernel = learner if isinstance(learner, Member) else Kernel(learner)
        members.append(kernel)
        (name,) = kernel.names
        ridges.append(Ridge(name, "ryl", name=f"ridge on {name}"))
        ridges.append(Ridge(name, "rylg", name=f"large ridge on {name}"))
        others = [name]
    ridges.append(Ridge(SLOW, "rylg", others, name="large ridge on slow smoother"))
    return [*members, Ridges(ridges)]
