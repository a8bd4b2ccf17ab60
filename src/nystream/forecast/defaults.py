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
AR, QUICK_AR = "autoregression", "quick autoregression"


def default_members(learner: Any) -> list[Member]:
    """The members of design page `docs/algorithms/forecaster.md`; those on the kernel learner only if there is one."""
    members: list[Member] = [
        Naive(),
        SeasonalNaive(),
        Smoother([tuple(gains) for gains in SMOOTHERS.values()], list(SMOOTHERS)),
        LogSmoother(SLOW),
        Ridges([Ridge(None, "rg", name=AR), Ridge(None, "rg", forgetting=0.998, name=QUICK_AR)]),
    ]
    on_smoothers = [Ridge(SLOW, "ryl", name="ridge on slow smoother"), Ridge(FAST, "ryl", name="ridge on fast smoother")]
    if learner is None:
        return [*members, Ridges([*on_smoothers, Ridge(SLOW, "rylg", [AR], name="large ridge on slow smoother")])]
    on_kernel = [
        Ridge("kernel", "ryl", name="ridge on kernel"),
        Ridge("kernel", "rylg", [AR], name="large ridge on kernel"),
        Ridge(SLOW, "rylg", ["kernel", AR], name="large ridge on slow smoother"),
    ]
    return [*members, Kernel(learner), Ridges([*on_smoothers, *on_kernel])]
