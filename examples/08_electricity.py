"""
Electricity demand, hour by hour
================================

Twenty weeks of hourly demand, with weekdays, weather and a heat wave. Each hour is predicted before its demand is
known. Two naive forecasts stand beside the model.
"""

import matplotlib.pyplot as plt
import numpy as np

import nystream

rng = np.random.default_rng(0)
hours = np.arange(24 * 7 * 20)
temperature = 15 + 10 * np.sin(hours / 24 / 365 * 2 * np.pi) + 5 * np.sin((hours - 9) / 24 * 2 * np.pi)
temperature += np.where((hours > 2000) & (hours < 2170), 12, 0) + rng.normal(0, 1, len(hours))  # a hot week
work = (hours // 24 % 7 < 5) * np.exp(-(((hours % 24) - 13) ** 2) / 30)
demand = 40 + 25 * work + 0.05 * (temperature - 18) ** 2 + rng.normal(0, 1, len(hours))
X = np.stack([hours % 24, hours // 24 % 7, temperature], axis=1)

# %%
# The demand of the last hours is not among the inputs: `Auto` uses the last labels by itself (`lags=True`).

model = nystream.Auto()
p = model.run(X, demand)
day = np.r_[demand[:24], demand[:-24]]  # the same hour of the day before
for name, guess in {"Auto": p, "same hour yesterday": day, "last hour": np.r_[demand[:1], demand[:-1]]}.items():
    print(f"{name:>20}: RMSE {np.sqrt(np.mean((guess - demand)[500:] ** 2)):.2f}")
print(model.explain().splitlines()[0])

# %%
# The picture shows the hot week, and half a day before and after it.

show = slice(1990, 2190)
fig, axes = plt.subplots(figsize=(8, 3))
axes.plot(hours[show], demand[show], color="gray", label="demand")
axes.plot(hours[show], p[show], color="#0b7285", label="predicted before it was known")
axes.set(xlabel="hour", ylabel="demand")
axes.legend(frameon=False)
plt.show()
