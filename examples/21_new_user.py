"""
From a file to a server
=======================

Learn a CSV file with dates and thousands separators, predict, explain, continue, and serve. Commands do all of it.
"""

import csv
import json
import math
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from urllib.request import Request, urlopen

import matplotlib.pyplot as plt
import numpy as np

PROGRAM = Path(sys.executable).with_name("nystream")
rng, begin, rows = np.random.default_rng(0), datetime(2023, 1, 1), []
for hour in range(6000):
    when, warm, is_open = begin + timedelta(hours=hour), 15 + 8 * rng.normal(), rng.random() < 0.7
    sales = 1500 + 900 * math.sin(math.tau * when.hour / 24) + 25 * warm + 600 * is_open * (when.weekday() > 4)
    rows.append([when.strftime("%d %B %Y %H:%M"), f"{warm:.1f}", is_open, f"{sales + 90 * rng.normal():,.1f}"])
names = ["when", "temperature", "open", "sales"]
for name, part in {"first": rows[:4000], "later": rows[4000:5000], "last": rows[5000:]}.items():
    with open(f"{name}.csv", "w", newline="") as file:
        csv.writer(file).writerows([names, *part])
print(*Path("first.csv").read_text().splitlines()[:3], sep="\n")


def nystream(*words):
    """Run a command. Print the first line of its output, or else the last line of its messages."""
    done = subprocess.run([PROGRAM, *words], check=True, capture_output=True, text=True)
    shown = done.stdout.splitlines()[:1] or done.stderr.splitlines()[-1:]
    print(" ".join(["$ nystream", *words]), *shown, sep="\n  ")


def told(name):
    """Print the error of predictions beside that of the mean, and the share of labels inside the intervals."""
    found = list(csv.reader(Path(f"{name}-said.csv").read_text().splitlines()))[1:]
    y, said, low, high = np.array([[float(cell.replace(",", "")) for cell in row] for row in found]).T
    rmse, inside = np.sqrt(np.mean((said - y) ** 2)), np.mean((low <= y) & (y <= high))
    print(f"{name}: RMSE {rmse:.0f}, always the mean {y.std():.0f}; {inside:.0%} inside")
    plt.subplots(figsize=(7, 2.5))[1].fill_between(range(96), low[:96], high[:96], alpha=0.3)
    plt.plot(range(96), y[:96], "k.", range(96), said[:96], "C0")


# %%
# Learn the first rows. The command finds out by itself which columns are dates, numbers and booleans.

nystream("run", "first.csv", "--target", "sales", "-f", "shop.nys")
options = ["-i", "shop.nys", "--interval", "0.9", "--keep", "sales", "-o"]
nystream("predict", "later.csv", *options, "later-said.csv")
told("later")
nystream("explain", "-i", "shop.nys")

# %%
# More rows have come with their sales. Continue from the saved model, and predict the rows after them.

nystream("run", "later.csv", "--target", "sales", "-i", "shop.nys", "-f", "shop.nys")
nystream("predict", "last.csv", *options, "last-said.csv")
told("last")
plt.show()

# %%
# Start a server on a free port, send it the model, and ask for a prediction.

serve = {"args": [PROGRAM, "serve", "models", "--port", "0"], "stdout": subprocess.PIPE, "text": True}
with Path("server.log").open("w") as log, subprocess.Popen(**serve, stderr=log) as server:
    address = next(word for line in server.stdout for word in line.split() if word.startswith("http://"))
    file, kind = Path("shop.nys").read_bytes(), {"Content-Type": "application/octet-stream"}
    urlopen(Request(f"{address}/models/shop", file, kind, method="PUT")).close()
    body = json.dumps({"rows": [dict(zip(names[:3], rows[-1][:3], strict=True))], "interval": 0.9}).encode()
    with urlopen(Request(f"{address}/models/shop/predict", body, {"Content-Type": "application/json"})) as answer:
        print("served:", json.load(answer), "and it was", rows[-1][-1])
    server.terminate()
