"""
Digits, one at a time
=====================

The model sees each handwritten digit once. How soon does it name the digits correctly, and which are hard?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import nystream

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(X))
X, y = X[order] / 16, y[order]

# %%
# Each digit is predicted before its label is read. The model finds the classes in the labels: nobody told it that there
# are ten.

model = nystream.Classifier(nystream.PKRR(nystream.Fourier(nystream.Gaussian(2.0), 300, seed=0), lam=0.1))
scores = model.run(X, y.astype(float))
right = scores.argmax(axis=1) == y
for start in (0, 100, 200, 500, 1000):
    stop = min(2 * start or 100, len(y))
    print(f"rows {start:4d} to {stop:4d}: {right[start:stop].mean():.1%} right")

# %%
# The last twelve digits that it got wrong, with its predictions.

wrong = np.flatnonzero(~right)[-12:]
fig, grid = plt.subplots(2, 6, figsize=(7, 2.8))
for axes, i in zip(grid.ravel(), wrong, strict=False):
    axes.imshow(X[i].reshape(8, 8), cmap="gray_r")
    axes.set_title(f"{y[i]}, said {scores[i].argmax()}", size=8)
for axes in grid.ravel():
    axes.axis("off")
plt.show()
