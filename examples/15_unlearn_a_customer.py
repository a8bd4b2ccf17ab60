"""
Unlearning a customer
=====================

A customer withdraws consent. The model becomes, exactly, what it would be if it had never seen those rows.
"""

import matplotlib.pyplot as plt
import numpy as np

import nystream

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (2000, 1))
y = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=2000)
theirs = (rng.random(2000) < 0.1) & (X[:, 0] > 0.3)  # one customer, who is unlike the others
y[theirs] += 1.5

model = nystream.PKRR(nystream.Fourier(nystream.Gaussian(0.3), 100, seed=0), lam=0.1)
without = model.clone()
model.run(X, y)
print(f"{model.n_seen} rows learnt, {theirs.sum()} of them theirs")
before = model.predict(np.linspace(-1, 1, 200)[:, None])

# %%
# `unlearn` subtracts the customer's rows from the model. It trains nothing again, and nothing of the rows stays.

model.unlearn(X[theirs], y[theirs])
without.run(X[~theirs], y[~theirs])
grid = np.linspace(-1, 1, 200)[:, None]
difference = np.abs(model.predict(grid) - without.predict(grid)).max()
print(f"{theirs.sum()} rows forgotten, {model.n_seen} left")
print(f"largest difference to a model that never saw them: {difference:.1e}")
assert difference < 1e-9

# %%
# `unlearn` refuses rows that were never learnt. Then the model does not change.

try:
    model.unlearn(X[:1] + 50, y[:1])
except ValueError as refusal:
    print("refused:", refusal)

fig, axes = plt.subplots(figsize=(7, 3))
axes.plot(X[~theirs], y[~theirs], ".", ms=2, color="silver")
axes.plot(X[theirs], y[theirs], ".", ms=3, color="crimson", label="theirs")
axes.plot(grid, before, color="crimson", label="before")
axes.plot(grid, model.predict(grid), color="#0b7285", label="after")
axes.legend(frameon=False)
plt.show()
