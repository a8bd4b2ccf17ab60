"""
In scikit-learn
===============

The default classifier, pipelines, grid search, sample weights, classes that appear late, and feature maps as
transformers.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nystream
from nystream.sklearn import OnlineKernelClassifier, OnlineKernelRegressor

X, y = load_digits(return_X_y=True)
names = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])[y]
X_train, X_test, y_train, y_test = train_test_split(X / 16, names, random_state=0)

# %%
# There is nothing to choose. The classifier reads the rows once. Labels may be numbers or texts.

model = OnlineKernelClassifier().fit(X_train, y_train)
print(f"default learner: {model.score(X_test, y_test):.3f} of {len(y_test)} test rows right")
likely = model.predict_proba(X_test[:1])[0]
print(f"first test row: {model.classes_[likely.argmax()]} with probability {likely.max():.2f}, is {y_test[0]}")

# %%
# The default learner accepts missing values. Here every tenth pixel is missing.

lost = np.where(np.random.default_rng(0).random(X_test.shape) < 0.1, np.nan, X_test)
print(f"with missing values: {model.score(lost, y_test):.3f}")

# %%
# Any learner works in a pipeline and in a grid search. The search sets parameters of the learner and of its kernel by
# name.

learner = nystream.PKRR(nystream.Fourier(nystream.Gaussian(2.0), 300, seed=0), lam=0.1)
search = GridSearchCV(OnlineKernelClassifier(learner), {"learner__features__kernel__sigma": [1.0, 2.0, 4.0]}, cv=3)
search.fit(X_train, y_train)
print(f"searched: {search.best_params_}, {search.score(X_test, y_test):.3f}")

# %%
# On a stream, each prediction is made before its label is read. A class may appear at any time.

order = np.argsort(y_train == "nine", kind="stable")  # the nines come last
stream = OnlineKernelClassifier(learner)
right = np.concatenate(
    [stream.predict_then_learn(X_train[i], y_train[i]) == y_train[i] for i in np.array_split(order, 20)]
)
print(f"one pass, nines last: {right.mean():.3f} right; known at the end: {len(stream.classes_)} classes")

# %%
# Sample weights are exact for least squares: a row of weight 2 counts as two equal rows.

targets, weights = (y % 3).astype(float), np.where(y == 3, 2.0, 1.0)
weighted = OnlineKernelRegressor(learner).fit(X, targets, sample_weight=weights)
twice = OnlineKernelRegressor(learner).fit(np.vstack([X, X[y == 3]]), np.r_[targets, targets[y == 3]])
print(f"weights against repetitions: {np.abs(weighted.predict(X) - twice.predict(X)).max():.1e}")

# %%
# The feature maps are transformers for any linear model.

pipeline = make_pipeline(StandardScaler(), nystream.Nystrom(nystream.Gaussian(8.0), 200), SGDClassifier(random_state=0))
print(f"Nystrom features and scikit-learn's SGD: {pipeline.fit(X_train, y_train).score(X_test, y_test):.3f}")

fig, grid = plt.subplots(1, 8, figsize=(8, 1.5))
for axes, pixels, said in zip(grid, X_test, model.predict(X_test[:8]), strict=False):
    axes.imshow(pixels.reshape(8, 8), cmap="gray_r")
    axes.set_title(said, size=8)
    axes.axis("off")
plt.show()
