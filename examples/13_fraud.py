"""
Rare events, and a threshold
============================

A sensor log of a space shuttle: one row in fourteen is an anomaly, so "never an anomaly" is right in 93 percent of the
rows. A threshold decides which rows raise an alarm. It is chosen from recent predictions: for the best F1, or for a
given precision. The data are real: they come with river.
"""

import matplotlib.pyplot as plt
import numpy as np
from river import datasets

import nystream

pairs = [(list(x.values()), y) for x, y in datasets.Shuttle().take(12_000)]
X = np.array([x for x, _ in pairs], dtype=float)
y = np.where(np.array([label for _, label in pairs]), 1.0, -1.0)
rows, half = len(y), len(y) // 2
print(f"{rows:,} rows of {X.shape[1]} sensors, {(y > 0).mean():.2%} are anomalies")

# %%
# The same learner three times: as it is, and with two other thresholds. A threshold does not change the learner.

plain = nystream.FOGD(nystream.Gaussian(1.5), dim=400, loss="logistic", eta=0.05, seed=0)
deciders = {
    "as it is": plain,
    "best F1": nystream.Thresholded(plain, criterion="f1", window=3000),
    "precision 0.9": nystream.Thresholded(plain, criterion="precision", target=0.9, window=3000),
}
for name, decider in deciders.items():
    alarms = nystream.Standardized(decider.clone()).run(X, y)[half:] >= 0
    anomaly = y[half:] > 0
    hit = np.sum(alarms & anomaly)
    precision, recall = hit / max(1, alarms.sum()), hit / anomaly.sum()
    print(f"{name:>14}: {alarms.sum():4d} alarms, precision {precision:.3f}, recall {recall:.3f}")

# %%
# Precision and recall of every threshold, on the second half of the rows.

scores = nystream.Standardized(plain.clone()).run(X, y)[half:]
order = np.argsort(-scores)
hits = np.cumsum(y[half:][order] > 0)
fig, axes = plt.subplots(figsize=(5, 3.2))
axes.plot(hits / hits[-1], hits / np.arange(1, len(hits) + 1), color="#0b7285")
axes.set(xlabel="recall", ylabel="precision", xlim=(0, 1), ylim=(0, 1.02))
plt.show()
