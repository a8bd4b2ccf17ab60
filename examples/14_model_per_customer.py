"""
One model per customer
======================

Customers differ. A model for each customer needs rows of that customer; a common model averages over all customers.
Both together are good early and late.
"""

import matplotlib.pyplot as plt
import numpy as np

import nystream

rng = np.random.default_rng(0)
customers, rows = 20, 4000
taste = rng.normal(size=(customers, 3))
who = rng.integers(0, customers, rows)
X = rng.uniform(-1, 1, (rows, 2))
y = np.sin(3 * X[:, 0]) + taste[who, 0] + taste[who, 1] * X[:, 1] + 0.1 * rng.normal(size=rows)

# %%
# Small models are cheap: each takes a few kilobytes, and you can save it in its own file, delete it or send it.

pattern = nystream.PKRR(nystream.Fourier(nystream.Gaussian(1.0), 40, seed=0), lam=0.3)
common, own = pattern.clone(), {}
errors = {"common": np.zeros(rows), "own": np.zeros(rows), "own, on top of the common one": np.zeros(rows)}
stacked = {}
for t in range(rows):
    x, label, name = X[t], float(y[t]), int(who[t])
    base = common.step(x, label)
    alone = own.setdefault(name, pattern.clone()).step(x, label)
    rest = stacked.setdefault(name, pattern.clone()).step(x, label - base)  # learns what the common one leaves over
    for key, guess in zip(errors, (base, alone, base + rest), strict=True):
        errors[key][t] = (guess - label) ** 2
print(f"{len(own)} models of {own[0].nbytes:,} bytes")
for key, error in errors.items():
    print(f"{key:>30}: first 500 rows {error[:500].mean():.3f}, last 1000 {error[-1000:].mean():.3f}")

# %%
fig, axes = plt.subplots(figsize=(7, 3))
for key, error in errors.items():
    axes.plot(np.convolve(error, np.ones(200) / 200, mode="valid"), label=key)
axes.set(xlabel="rows", ylabel="squared error, last 200", ylim=(0, None))
axes.legend(frameon=False)
plt.show()
