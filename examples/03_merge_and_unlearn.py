"""
Models that merge and forget, both exactly
==========================================

Three sites learn separately and their models are merged. Then one site is taken out again.
"""

import matplotlib.pyplot as plt
import numpy as np

import nystream

X, y = nystream.streams.bumps(3000, seed=0)
pattern = nystream.PKRR(nystream.Fourier(nystream.Gaussian(0.5), 200, seed=0), lam=0.1)

# %%
# Each of three sites learns its own rows. The rows stay at their site; only a model of fixed size is sent.

sites = [slice(0, 1000), slice(1000, 1800), slice(1800, 3000)]
models = []
for rows in sites:
    model = pattern.clone()
    model.run(X[rows], y[rows])
    models.append(model.to_bytes())
print("bytes that travel from each site:", [len(content) for content in models])

# %%
# The merged model is that of one pass over all rows, whatever the order of the merges.

merged = nystream.from_bytes(models[0])
for content in models[1:]:
    merged.merge(nystream.from_bytes(content))
whole = pattern.clone()
whole.run(X, y)
difference = np.abs(merged.predict(X) - whole.predict(X)).max()
print(f"merged: {merged.n_seen} rows, largest difference to one pass over all of them {difference:.1e}")
assert difference < 1e-10

# %%
# The second site withdraws its consent: the model becomes what it would be without those rows.

merged.unlearn(X[sites[1]], y[sites[1]])
without = pattern.clone()
for rows in (sites[0], sites[2]):
    without.run(X[rows], y[rows])
difference = np.abs(merged.predict(X) - without.predict(X)).max()
print(f"unlearnt: {merged.n_seen} rows left, largest difference to a model that never saw them {difference:.1e}")
assert difference < 1e-9

# %%
# `unlearn` refuses rows that the model cannot have learnt. Then the model does not change.

try:
    merged.unlearn(10 * X[:5], y[:5])
except ValueError as refusal:
    print("refused:", refusal)

grid = np.stack(np.meshgrid(np.linspace(-1, 1, 60), np.linspace(-1, 1, 60)), axis=-1).reshape(-1, 2)
fig, row = plt.subplots(1, 3, figsize=(9, 3))
shown = {"one site": nystream.from_bytes(models[0]), "all three": whole, "the second taken out": merged}
for axes, (name, model) in zip(row, shown.items(), strict=True):
    axes.imshow(model.predict(grid).reshape(60, 60), origin="lower", extent=(-1, 1, -1, 1))
    axes.set_title(f"{name}: {model.n_seen} rows", size=9)
plt.show()
