"""
Novelty
=======

Which rows are unlike all recent rows? No labels are needed. A new state of a machine raises an alarm at first, and
counts as normal after a while.
"""

import matplotlib.pyplot as plt
import numpy as np

import nystream

# A machine has two sensors and two states. From row 1,500 on it has a third state. Sometimes it has a fault.
rng = np.random.default_rng(0)
centres = np.array([[0.0, 0.0], [2.0, 1.0], [1.0, -2.0]])
state = np.where(np.arange(3000) < 1500, rng.integers(0, 2, 3000), rng.integers(0, 3, 3000))
X = centres[state] + 0.25 * rng.normal(size=(3000, 2))
faults = rng.choice(np.arange(300, 3000), 25, replace=False)
X[faults] = rng.uniform(-4, 4, (25, 2))

# %%
# A low score means that the row is new. Each row is scored before it is learnt.

model = nystream.SILK(nystream.Gaussian(0.5), loss="novelty", C=0.05, tau=0.002, budget=200)
score = model.run(X)
cut = np.quantile(score[200:1500], 0.02)
alarm = score < cut
calm = np.delete(alarm, faults)[300:1400].mean()
print(f"faults found: {alarm[faults].mean():.0%}; alarms at other rows before 1500: {calm:.1%}")
for start in (1500, 1600, 2000, 2900):
    third = state[start : start + 100] == 2
    print(
        f"rows {start} to {start + 100}: the third state is an alarm in {alarm[start : start + 100][third].mean():.0%}"
    )

# %%
fig, axes = plt.subplots(figsize=(8, 2.8))
axes.plot(score, ".", ms=2, color="silver")
axes.plot(faults, score[faults], "o", ms=4, mfc="none", color="crimson", label="faults")
axes.axhline(cut, color="#0b7285", lw=1, label="alarm below")
axes.axvline(1500, color="black", ls="--", lw=1, label="a third state")
axes.set(xlabel="rows", ylabel="score")
axes.legend(frameon=False, fontsize=8)
plt.show()
