"""
A race
======

Several learners learn the same rows. Compare their error, speed and size, as `nystream race` does. The data are real:
parts of photographs in seven classes, which come with river.
"""

import numpy as np
from river import datasets

import nystream
from nystream.model.building import build

pairs = [(list(x.values()), label) for x, label in datasets.ImageSegments()]
order = np.random.default_rng(0).permutation(len(pairs))  # the file has one class after the other
X = np.array([pairs[i][0] for i in order], dtype=float)
y = np.unique([pairs[i][1] for i in order], return_inverse=True)[1]
names = ["auto", "baseline", "nystrom-pkrr", "ons", "fogd", "silk"]
learners = {name: build(name, "classification", sigma=4.0, dim=200) for name in names}
result = nystream.compare((X, y), learners, ["accuracy", "accuracy@300", "rows_per_second", "bytes"], every=250)
print(result)
print("best over the last 300 rows:", result.best("accuracy@300"))

# %%
# The accuracy along the stream is on the left, the accuracy against speed on the right.

figure = nystream.plot.race_chart(result)

# %%
# This command does the same and writes a page for the browser::
#
#     nystream race power.csv --target load --report race.html

nystream.plot.report(result, "race.html")
print("race.html is one file, with everything in it")
