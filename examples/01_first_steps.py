"""
First steps
===========

Learn a stream, save the model in a file, load it again, and compare it with other learners.
"""

import numpy as np

import nystream

# %%
# A nonlinear stream of 4000 rows whose function changes at row 2000. Any arrays will do.

X, y = nystream.streams.friedman(4000, drift="abrupt", at=2000, seed=0)

# %%
# One pass, and nothing to choose. Every prediction is made before its label is read, so every row is a test row.

model = nystream.Auto()
p = model.run(X[:-1], y[:-1])
print(f"error of always saying the mean: {y.var():.2f}, of {model}: {np.mean((p - y[:-1]) ** 2):.2f}")
print(model.explain())

# %%
# `step` learns one row. It is the same algorithm on the same state.

low, high = model.predict_interval(X[-1:], coverage=0.9)
print(f"the next row: with probability 0.9 between {low[0]:.2f} and {high[0]:.2f}, ", end="")
print(f"predicted {model.step(X[-1], float(y[-1])):.2f}, label {y[-1]:.2f}")
print(f"{model.n_seen} rows seen, {model.nbytes:,} bytes")

# %%
# A model is saved as one file. The loaded model continues exactly where the saved one stopped.

model.save("first_steps.nys")
again = nystream.load("first_steps.nys")
assert np.array_equal(again.predict(X[:100]), model.predict(X[:100]))

# %%
# Compare several learners, with a reading every 1000 rows. "mse@500" is the error over the last 500 rows.

kernel = nystream.Gaussian(2.0)
learners = {
    "Auto": model.clone(),
    "PKAWV": nystream.PKAWV(nystream.Fourier(kernel, 300, seed=0), lam=0.1),
    "PKRR": nystream.PKRR(nystream.Fourier(kernel, 300, seed=0), lam=0.1),
    "FOGD": nystream.FOGD(kernel, dim=300, loss="squared", eta=0.2, seed=0),
}
result = nystream.compare((X, y - 14), learners, ["mse", "mse@500", "regret", "size"], every=1000)
print(result)
print("best over the last 500 rows:", result.best("mse@500"))
result.save("first_steps.json")  # or .csv
figure = nystream.plot.curves(result, y="mse@500")  # figure.savefig("first_steps.png")
