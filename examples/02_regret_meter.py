"""
The guarantee meter
===================

See while the stream runs how much more a learner loses than the best model in hindsight.
"""

import matplotlib.pyplot as plt
import numpy as np

import nystream

X, y = nystream.streams.sine(2000, periods=3, noise=0.2, seed=0)
model = nystream.PKAWV(nystream.Taylor(nystream.Gaussian(0.3), degree=20), lam=0.1)

print("rows     loss  best in hindsight   regret    bound  dimensions")
for start in range(0, 2000, 400):
    p = model.run(X[start : start + 400], y[start : start + 400])
    # The best function is refitted to all rows so far, with the labels known, and charged lam |f|^2 for its norm.
    meter = model.solver_.meter_
    print(
        f"{model.n_seen:4d} {meter.loss.sum():8.2f} {meter.best.sum():18.2f} {model.regret():8.3f} "
        f"{model.regret_bound():8.2f} {model.effective_dimension():11.2f}"
    )
    assert model.regret() <= model.regret_bound()

# %%
# The bound holds for every stream, even if an adversary sees the learner and chooses the labels against it.

opponent = nystream.KernelAWV(nystream.Gaussian(1.0), lam=1.0)
played = nystream.streams.greedy_adversary(opponent, 30, d=2, seed=0)
print(f"\nagainst an adversary: regret {opponent.regret():.3f}, bound {opponent.regret_bound():.3f}")
assert opponent.regret() <= opponent.regret_bound()

# %%
# Where few rows were seen, the leverage is large, and so is the standard deviation of the prediction.

points = np.array([[0.0], [0.9], [1.5]])
print("\n    x  prediction  deviation  leverage")
for x, p, std, leverage in zip(
    points[:, 0], model.predict(points), model.std(points), model.leverage(points), strict=True
):
    print(f"{x:5.1f} {p:11.3f} {std:10.3f} {leverage:9.4f}")

fresh, labels = nystream.streams.sine(5000, periods=3, noise=0.2, seed=1)
inside = np.abs(model.predict(fresh) - labels) < 2 * model.std(fresh)
print(f"\nlabels of a new stream within two deviations: {inside.mean():.1%}")

grid = np.linspace(-1.6, 1.6, 300)[:, None]
middle, width = model.predict(grid), 2 * model.std(grid)
fig, axes = plt.subplots(figsize=(7, 3))
axes.plot(fresh[:400], labels[:400], ".", ms=2, color="gray")
axes.fill_between(grid[:, 0], middle - width, middle + width, alpha=0.25, lw=0, color="#0b7285")
axes.plot(grid, middle, color="#0b7285")
axes.set_ylim(-3, 3)
plt.show()
