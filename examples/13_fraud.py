"""
Fraud: one in a hundred, and a threshold
========================================

One payment in a hundred is a fraud, so "never a fraud" is right in 99 percent of the rows. A threshold decides which
payments raise an alarm. It is chosen from recent predictions: for the best F1, or for a given precision.
"""

import matplotlib.pyplot as plt
import numpy as np

import nystream

rng = np.random.default_rng(0)
rows = 12_000
X = rng.normal(size=(rows, 4))  # amount, hour, distance, age of the account, all scaled
risk = 2.2 * X[:, 0] * (X[:, 2] > 0.5) + np.abs(X[:, 1]) - 0.5 * X[:, 3]
y = np.where(risk + rng.normal(size=rows) > np.quantile(risk, 0.993), 1.0, -1.0)
print(f"{(y > 0).mean():.2%} are fraud")

# %%
# The same learner three times: as it is, and with two other thresholds. A threshold does not change the learner.

plain = nystream.FOGD(nystream.Gaussian(1.5), dim=400, loss="logistic", eta=0.5, seed=0)
deciders = {
    "as it is": plain,
    "best F1": nystream.Thresholded(plain, criterion="f1", window=3000),
    "precision 0.5": nystream.Thresholded(plain, criterion="precision", target=0.5, window=3000),
}
half = rows // 2
for name, decider in deciders.items():
    alarms = decider.clone().run(X, y)[half:] >= 0
    fraud = y[half:] > 0
    hit = np.sum(alarms & fraud)
    precision, recall = hit / max(1, alarms.sum()), hit / fraud.sum()
    print(f"{name:>14}: {alarms.sum():4d} alarms, precision {precision:.2f}, recall {recall:.2f}")

# %%
# Precision and recall of every threshold, on the second half of the rows.

scores = plain.clone().run(X, y)[half:]
order = np.argsort(-scores)
hits = np.cumsum(y[half:][order] > 0)
fig, axes = plt.subplots(figsize=(5, 3.2))
axes.plot(hits / hits[-1], hits / np.arange(1, len(hits) + 1), color="#0b7285")
axes.set(xlabel="recall", ylabel="precision", xlim=(0, 1), ylim=(0, 1))
plt.show()
