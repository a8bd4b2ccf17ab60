"""
A race
======

Several learners learn the same rows. Compare their error, speed and size, as `nystream race` does.
"""

import nystream
from nystream.model.building import build

stream = nystream.streams.friedman(2500, drift="gradual", at=1200, width=300, seed=0)
names = ["baseline", "nystrom-pkrr", "ons", "rrf", "fogd", "silk"]
learners = {name: build(name, "regression", sigma=4.0, dim=200) for name in names}
result = nystream.compare(stream, learners, ["rmse", "rmse@300", "rows_per_second", "bytes"], every=250)
print(result)
print("best over the last 300 rows:", result.best("rmse@300"))

# %%
# The error along the stream is on the left, the error against speed on the right.

figure = nystream.plot.race_chart(result)

# %%
# This command does the same and writes a page for the browser::
#
#     nystream race power.csv --target load --report race.html

nystream.plot.report(result, "race.html")
print("race.html is one file, with everything in it")
