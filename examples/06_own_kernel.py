"""
A kernel of one's own
=====================

Write a kernel as a class with one method. Add and multiply it, make features of it, and save it in files.
"""

import matplotlib.pyplot as plt
import numpy as np

import nystream


class Tanimoto(nystream.Kernel):
    """The number of bits that both rows have, over those that at least one has: for fingerprints of molecules."""

    def __call__(self, X, Y):
        XY = X @ Y.T
        return XY / ((X * X).sum(1)[:, None] + (Y * Y).sum(1) - XY)

    def diag(self, X):  # optional, where k(x, x) is cheaper than a call for each row
        return np.ones(len(X))


# %%
# Molecules of 64 bits. Their activity is the share of motif 1 that they contain, minus that of motif 2.

rng = np.random.default_rng(0)
motifs = rng.random((2, 64)) < 0.2
X = (rng.random((1500, 64)) < 0.15) | (motifs[rng.integers(0, 2, 1500)] & (rng.random((1500, 64)) < 0.7))
X = X[X.any(axis=1)].astype(float)
y = X @ motifs[0] / motifs[0].sum() - X @ motifs[1] / motifs[1].sum() + 0.05 * rng.normal(size=len(X))
half = len(X) // 2

# %%
# You can add and multiply kernels, also with those of the package. Every learner that has a kernel accepts the result.

kernels = {
    "Tanimoto": Tanimoto(),
    "Gaussian": nystream.Gaussian(2.0),
    "both": 0.7 * Tanimoto() + 0.3 * nystream.Gaussian(2.0),
    "product": Tanimoto() * nystream.Linear(),
}
fig, axes = plt.subplots(figsize=(6, 2.2))
for name, kernel in kernels.items():
    p = nystream.KernelRidge(kernel, lam=0.1).run(X, y)
    axes.barh(name, np.mean((p - y)[half:] ** 2), color="#0b7285")
    print(f"{name:>9}: error {np.mean((p - y)[half:] ** 2):.4f} over the second half   {kernel!r}")
print(f"{'variance':>9}: {y.var():.4f}")
axes.set_xlabel("error over the second half")
axes.locator_params(axis="x", nbins=5)
plt.show()

# %%
# Ridge regression on features from 200 landmarks needs only bounded memory.

model = nystream.PKRR(nystream.Nystrom(Tanimoto(), 200).fit(X), lam=0.1)
p = model.run(X, y)
print(f"200 landmarks: error {np.mean((p - y)[half:] ** 2):.4f}, {model.nbytes:,} bytes")

# %%
# A file holds no code. `load` imports a class that is not part of nystream only if you name it.

content = model.to_bytes()
try:
    nystream.from_bytes(content)
except ValueError as refusal:
    print("refused:", refusal)
again = nystream.from_bytes(content, trust=["__main__.Tanimoto"])
assert np.array_equal(again.predict(X), model.predict(X))
