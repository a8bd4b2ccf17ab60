"""
A scikit-learn pipeline with columns
====================================

A frame has categories and numbers. Encode it with a `ColumnTransformer`, or give it to a `Model` as it is.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import nystream
from nystream.sklearn import OnlineKernelRegressor

rng = np.random.default_rng(0)
rows = 2000
frame = pd.DataFrame(
    {
        "city": rng.choice(["Oslo", "Rome", "Lima"], rows),
        "area": rng.gamma(4, 20, rows),
        "age": rng.integers(0, 100, rows).astype(float),
    }
)
base = frame["city"].map({"Oslo": 5.0, "Rome": 4.0, "Lima": 2.0})
price = base * frame["area"] / 50 * np.exp(-frame["age"] / 80) + rng.normal(0, 0.3, rows)
frame.loc[rng.random(rows) < 0.1, "age"] = np.nan  # not always known
train, test = frame[:1500], frame[1500:]

# %%
# The usual way is to encode, to scale, and then to use any learner.

prepare = make_column_transformer((OneHotEncoder(), ["city"]), (StandardScaler(), ["area", "age"]))
learner = nystream.PKRR(nystream.Fourier(nystream.Gaussian(1.5), 300, seed=0), lam=0.1)
pipeline = make_pipeline(prepare, OnlineKernelRegressor(learner))
known = train["age"].notna()
pipeline.fit(train[known], price[:1500][known])
there = test["age"].notna()
print(f"pipeline, rows without holes: R2 {pipeline.score(test[there], price[1500:][there]):.3f}")

# %%
# With a `Model` none of this is needed: it takes the frame with its categories and missing cells.

model = nystream.Model()
model.run(train, price[:1500])
p, y = model.predict(test), price[1500:].to_numpy()
print(f"the frame as it is, all rows: R2 {1 - np.mean((p - y) ** 2) / y.var():.3f}")
print(f"trained on {model.n_seen} rows in one pass, {model.nbytes:,} bytes")
print(model.schema_)

fig, axes = plt.subplots(figsize=(3.6, 3.4))
axes.plot(y, p, ".", ms=3, color="#0b7285")
axes.axline((0, 0), slope=1, color="gray", ls=":")
axes.set(xlabel="price", ylabel="predicted")
plt.show()
