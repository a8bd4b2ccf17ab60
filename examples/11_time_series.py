"""
A time series with lags and intervals
=====================================

Predict the next value of a chaotic series from its last values, with an interval that says how sure the model is.
"""

import matplotlib.pyplot as plt
import numpy as np

import nystream

# A Mackey-Glass series with noise, which doubles halfway.
rng = np.random.default_rng(0)
series = [1.2] * 18
for _ in range(3000):
    series.append(series[-1] + 0.2 * series[-18] / (1 + series[-18] ** 10) - 0.1 * series[-1])
noise = np.where(np.arange(len(series)) < len(series) // 2, 0.02, 0.06)
series = np.array(series) + noise * rng.normal(size=len(series))

# %%
# The inputs are the last six values; the label is the next one.

lags = np.lib.stride_tricks.sliding_window_view(series, 6)[:-1]
following = series[6:]
print(f"{len(following)} values to predict from {lags.shape[1]} lags each")
model = nystream.Auto()
start = len(following) - 300
p = model.run(lags[:start], following[:start])
print(f"RMSE {np.sqrt(np.mean((p - following[:start])[500:] ** 2)):.4f}")
print(f"of the last value again {np.sqrt(np.mean((lags[500:start, -1] - following[500:start]) ** 2)):.4f}")

# %%
# Before each value comes, the model gives an interval that should contain nine of ten values. Then it learns the value.

low, high, middle = [], [], []
for x, value in zip(lags[start:], following[start:], strict=True):
    ends = model.predict_interval(x[None], coverage=0.9)
    low.append(ends[0][0])
    high.append(ends[1][0])
    middle.append(model.step(x, float(value)))
inside = (following[start:] >= low) & (following[start:] <= high)
print(f"{inside.mean():.1%} inside, mean width {np.mean(np.subtract(high, low)):.3f}")

t = np.arange(len(low))
fig, axes = plt.subplots(figsize=(8, 3))
axes.fill_between(t, low, high, color="#0b7285", alpha=0.25, lw=0, label="90% interval")
axes.plot(t, following[start:], ".", ms=3, color="black", label="what came")
axes.plot(t, middle, color="#0b7285", lw=1, label="predicted")
axes.legend(frameon=False, ncols=3, fontsize=8)
plt.show()
