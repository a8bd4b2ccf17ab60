"""
A live dashboard
================

`prequential` calls a function at every reading while the stream runs. Here the function draws the readings; in a
notebook the picture would move. `nystream demo` and the server (`nystream serve`) have such pages built in.
"""

import matplotlib.pyplot as plt

import nystream

stream = nystream.streams.friedman(3000, drift="abrupt", at=1500, seed=0)
model = nystream.Baseline()
fig, (error, memory) = plt.subplots(2, 1, figsize=(7, 4), sharex=True, height_ratios=[3, 1])
(line,) = error.plot([], [], color="#0b7285")
(size,) = memory.plot([], [], color="gray")
error.set(ylabel="RMSE, last 200")
memory.set(ylabel="kB", xlabel="rows")
seen = {"rows": [], "rmse@200": [], "bytes": []}


def draw(snapshot):
    """Called at every reading."""
    seen["rows"].append(snapshot.n)
    for name in ("rmse@200", "bytes"):
        seen[name].append(snapshot.values[name])
    line.set_data(seen["rows"], seen["rmse@200"])
    size.set_data(seen["rows"], [b / 1000 for b in seen["bytes"]])
    for axes in (error, memory):
        axes.relim()
        axes.autoscale_view()
    if snapshot.n % 500 == 0:
        print(f"row {snapshot.n}: RMSE {snapshot.values['rmse@200']:.3f}, {snapshot.values['bytes']:,.0f} bytes")


nystream.prequential(stream, model, ["rmse@200", "bytes"], every=50, progress=draw)
error.axvline(1500, color="crimson", ls="--", lw=1)  # seen when it happens, not in the evening's report
plt.show()
