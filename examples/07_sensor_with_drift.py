"""
A sensor with drift
===================

A gas sensor ages slowly and is replaced once. Which learner follows, and when does it notice?
"""

import matplotlib.pyplot as plt
import numpy as np

import nystream

# The concentration is predicted from three raw channels. The sensitivity falls with age. At row 2,500 the sensor is
# replaced.
rng = np.random.default_rng(0)
rows, replaced = 4000, 2500
gas = rng.gamma(2.0, 1.0, rows)
age = np.where(np.arange(rows) < replaced, np.arange(rows), np.arange(rows) - replaced) / replaced
warmth = 20 + 5 * np.sin(np.arange(rows) / 200)
channels = np.stack([np.tanh(gas) * (1 - 0.5 * age), np.log1p(gas) * (1 - 0.3 * age) + 0.01 * warmth, warmth], axis=1)
channels += 0.02 * rng.normal(size=channels.shape)

# %%
# One learner never forgets, one always forgets, and `Auto` finds out by itself.

ridge = nystream.PKRR(nystream.Fourier(nystream.Gaussian(1.5), 150, seed=0), lam=0.1)
learners = {
    "never forgets": nystream.Standardized(ridge),
    "forgets": nystream.Standardized(nystream.Forgetting(decay=0.98)),
    "Auto": nystream.Auto(),
}
result = nystream.compare((channels, gas), learners, ["rmse", "rmse@200"], every=100)
print(result)

# %%
# Nobody tells `Auto` that the sensor was replaced. It says when it noticed the change, and at which row it estimates
# the change.

auto = nystream.Auto()
auto.run(channels, gas)
for alarm in auto.alarms():
    print(alarm)

# %%
# The error over the last 200 rows. The line marks the replacement.

figure = nystream.plot.curves(result, y="rmse@200")
figure.axes[0].axvline(replaced, color="crimson", ls="--", lw=1)
figure.axes[0].text(replaced + 30, figure.axes[0].get_ylim()[1] * 0.95, "replaced", color="crimson")
plt.show()
