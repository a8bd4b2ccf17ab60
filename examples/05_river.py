"""
In river
========

Learn dictionaries one row at a time, in river's pipelines. Features may come and go, and frames are learnt at once.
"""

import math

import matplotlib.pyplot as plt
import pandas as pd
from river import compose, datasets, evaluate, metrics, preprocessing

import nystream
from nystream.river import KernelClassifier, KernelRegressor

# %%
# There is nothing to choose: the default learner finds scales, kernels and the speed of forgetting by itself.

score = evaluate.progressive_val_score(datasets.TrumpApproval().take(500), KernelRegressor(), metrics.MAE())
print("approval rates, default learner:", score)

# %%
# Any learner of nystream works after any preprocessing of river.

kernel = nystream.Gaussian(2.0)
model = preprocessing.StandardScaler() | KernelClassifier(nystream.FOGD(kernel, loss="logistic", seed=0))
print("phishing, FOGD:", evaluate.progressive_val_score(datasets.Phishing().take(500), model, metrics.ROCAUC()))

# %%
# If a learner takes only numbers, words and other categories must become numbers first.

encoded = compose.SelectType(str) | preprocessing.OneHotEncoder()
shop = (encoded + compose.SelectType(float)) | KernelRegressor(nystream.KernelRidge(nystream.Gaussian(1.0), lam=0.1))
for day in range(60):
    shop.learn_one({"weekday": "sun" if day % 7 == 0 else "work", "rain": float(day % 3)}, 5.0 if day % 7 == 0 else 1.0)
print("sales on a Sunday:", round(shop.predict_one({"weekday": "sun", "rain": 1.0}), 2))

# %%
# A sensor that is installed later is a feature that appears later. A sensor that fails is a feature that is missing.
# The default learner treats it as a missing value, and this learner as 0.

model = KernelRegressor(nystream.PKRR(nystream.Fourier(nystream.Gaussian(1.0), 200, seed=0), lam=0.01))
for t in range(400):
    row = {"hour": math.sin(t / 10)}
    if t >= 200:
        row["humidity"] = math.cos(t / 7)
    model.learn_one(row, row["hour"] ** 2 + row.get("humidity", 0.0))
print("with both:", round(model.predict_one({"humidity": 0.5, "hour": 0.5}), 2), "(is 0.75)")
print("humidity missing:", round(model.predict_one({"hour": 0.5}), 2), "(is 0.25)")

# %%
# A whole frame gives the same model as its rows one by one, but faster.

frame = pd.DataFrame({"hour": [0.1, 0.2], "humidity": [0.3, 0.4]})
twin = model.clone()
twin.learn_many(frame, pd.Series([0.31, 0.44]))
print("frame:", twin.predict_many(frame).round(2).tolist())

hours = [h / 50 for h in range(-50, 51)]
fig, axes = plt.subplots(figsize=(6, 2.6))
for humidity in (0.0, 0.5):
    guesses = [model.predict_one({"hour": h, "humidity": humidity}) for h in hours]
    axes.plot(hours, guesses, label=f"humidity {humidity}")
axes.set(xlabel="hour", ylabel="predicted")
axes.legend(frameon=False)
plt.show()
