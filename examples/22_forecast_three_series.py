"""
Three series, forecast while they arrive
========================================

The series are passengers by month, the flow of water by the hour, and a load curve by the half hour. A forecaster
without settings learns each of them row by row, and forecasts the next year or day with intervals.
"""

import matplotlib.pyplot as plt
import numpy as np
from river import datasets

import nystream

# %%
# The first two series come with river.

passengers = [(x["month"], y) for x, y in datasets.AirlinePassengers()]
water = [(x["Time"].replace(tzinfo=None), y) for x, y in datasets.WaterFlow()]

# %%
# The third is generated: a load curve with a daily and a weekly shape.

t = np.arange(48 * 28)
load = 50 + 20 * np.sin(2 * np.pi * (t - 16) / 48) - 10 * ((t // 48) % 7 >= 5)
load += np.random.default_rng(0).normal(size=len(t))
times = np.datetime64("2024-05-06T00:00") + t * np.timedelta64(30, "m")

# %%
# The last season is held back, so that the forecast can be compared with the true values.

series = {
    "airline passengers, thousands a month": (12, *zip(*passengers, strict=True)),
    "water flow, by the hour": (24, *zip(*water[: 24 * 28], strict=True)),
    "a load curve, by the half hour": (48, times, load),
}
fig, axes = plt.subplots(3, 1, figsize=(8, 8))
for ax, (title, (horizon, when, labels)) in zip(axes, series.items(), strict=True):
    f = nystream.Forecaster(horizon)
    f.run(labels[:-horizon], when=when[:-horizon])
    low, high = f.forecast_interval(0.9)
    shown, ahead = np.asarray(when[-5 * horizon :], "datetime64[m]"), np.asarray(when[-horizon:], "datetime64[m]")
    ax.plot(shown, labels[-5 * horizon :], color="black", lw=1, label="labels")
    ax.fill_between(ahead, low, high, color="#0b7285", alpha=0.25, lw=0, label="90% interval")
    ax.plot(ahead, f.forecast(), color="#0b7285", lw=1.5, label="forecast")
    ax.set_title(title, fontsize=9, loc="left")
    inside = np.mean((low <= labels[-horizon:]) & (labels[-horizon:] <= high))
    print(f"{title}: seasons {f.seasons}, {inside:.0%} of the last {horizon} labels inside")
axes[0].legend(frameon=False, ncols=3, fontsize=8)
fig.tight_layout()
plt.show()

# %%
# The members with the largest weights in the last forecast, and the parts of that forecast.

print(f.explain())
