"""
Kernels on strings
==================

A kernel needs no numbers. It only has to say how similar two rows are. Here rows are words, and the kernel counts the
pieces that two words share.
"""

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np

import nystream

# The words are from two made-up languages. The label says from which.
rng = np.random.default_rng(0)
PARTS = {1.0: ["ka", "to", "mi", "ra", "shi", "no"], -1.0: ["str", "auf", "ein", "gen", "ber", "lich"]}
labels = rng.choice([1.0, -1.0], 1200)
both = PARTS[1.0] + PARTS[-1.0]
words = ["".join(rng.choice(PARTS[label] if rng.random() < 0.8 else both, 3)) for label in labels]
print(words[:6])


class Pieces(nystream.Kernel):
    """The number of shared pieces of three letters, normalised. Rows are positions in a list of words."""

    def __init__(self, words):
        self.words = tuple(words)
        self.counts = [Counter(w[i : i + 3] for i in range(len(w) - 2)) for w in self.words]
        self.norms = np.array([sum(v * v for v in c.values()) for c in self.counts]) ** 0.5

    def __call__(self, X, Y):
        rows, columns = X[:, 0].astype(int), Y[:, 0].astype(int)
        shared = [
            [sum(v * b[k] for k, v in self.counts[i].items()) for b in map(self.counts.__getitem__, columns)]
            for i in rows
        ]
        return np.array(shared, dtype=float).reshape(len(rows), len(columns)) / np.outer(
            self.norms[rows], self.norms[columns]
        )


# %%
# Every learner that has a kernel accepts it. A budget limits the number of stored words, and so of comparisons.

X = np.arange(len(words), dtype=float)[:, None]
model = nystream.NystromPKRR(Pieces(words), lam=0.5, max_atoms=60, seed=0)
p = model.run(X, labels)
right = (p > 0) == (labels > 0)
for name, part in (("first 100", slice(0, 100)), ("last 500", slice(-500, None))):
    print(f"{name} words: {right[part].mean():.1%} right")
print(f"{model.size} words stored of {len(words)}")

fig, axes = plt.subplots(figsize=(7, 2.4))
axes.hist(
    [p[600:][labels[600:] > 0], p[600:][labels[600:] < 0]], bins=40, label=["one", "other"], color=["#0b7285", "silver"]
)
axes.set(xlabel="prediction", ylabel="words")
axes.legend(frameon=False)
plt.show()
