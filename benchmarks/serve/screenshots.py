"""Pictures of the server's pages with lively streams: light and dark, wide and narrow.

    python benchmarks/serve/screenshots.py --out out/pages [--rows 3000] [--chromium /usr/bin/chromium]

A server is started in a folder that is thrown away. Three streams are learnt: the load of a building (numbers;
what the weather does to it changes after three fifths of the rows), the state of machines (classes, from numbers, a
category and dates) and a plain sensor. There are challengers, snapshots and alarms.
Needs Playwright, Pillow and a Chromium.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, sync_playwright
from sockets import Server

OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
SIZES = {"wide": (1440, 900), "narrow": (360, 780)}
KINDS = {"press": 0.8, "lathe": 0.0, "mill": -0.5, "saw": 0.3}
BLOCK = 20


def building(start: int, n: int, changed: bool, rng: np.random.Generator) -> tuple[list[dict[str, Any]], list[float]]:
    """Quarters of hours in a building, and its load."""
    rows, labels = [], []
    for i in range(start, start + n):
        hour = (i / 4) % 24
        temp = 9 + 7 * np.sin(2 * np.pi * (hour - 9) / 24) + rng.normal()
        wind = float(rng.gamma(2.0, 2.0))
        occupied = bool(7 < hour < 19)
        heating = (18 - temp) * (0.5 + 0.03 * wind) * (-0.7 if changed else 1.0)
        labels.append(round(float(12 + 6 * occupied + heating + rng.normal() * 0.7), 2))
        rows.append({"hour": hour, "temp": round(temp, 1), "wind": round(wind, 1), "occupied": occupied})
    return rows, labels


def machines(start: int, n: int, rng: np.random.Generator) -> tuple[list[dict[str, Any]], list[str]]:
    """Readings of machines, and how they run."""
    rows, labels = [], []
    for i in range(start, start + n):
        when = np.datetime64("2026-03-01T00:00") + np.timedelta64(i, "m")
        kind = str(rng.choice(list(KINDS)))
        vibration, heat = rng.normal(size=2).round(3).tolist()
        score = vibration * heat + KINDS[kind] + 0.4 * rng.normal()
        rows.append({"when": str(when), "machine": kind, "vibration": vibration, "heat": heat})
        labels.append("fault" if score > 1.2 else "worn" if score > 0.2 else "fine")
    return rows, labels


def teach(server: Server, given: argparse.Namespace) -> None:
    """A life in the folder, before the pictures are taken."""
    rng = np.random.default_rng(0)
    server.send("PUT", "/models/load", {"target": "load", "alarm_error": 6.0})
    server.send("PUT", "/models/machines", {"target": "state"})
    plain = {
        "columns": ["a", "b", "c"],
        "target": "y",
        "task": "regression",
        "learner": "fogd",
        "settings": {"dim": 64},
    }
    for name in ("sensor-7", "sensor-8"):
        server.send("PUT", f"/models/{name}", plain)
    change = given.rows * 3 // 5
    for start in range(0, given.rows, BLOCK):
        rows, labels = building(start, BLOCK, start >= change, rng)
        if start == given.rows * 4 // 5:
            labels[0] = 90.0
        server.send("POST", "/models/load/learn", {"rows": rows, "labels": labels})
        if start % (given.rows // 6 // BLOCK * BLOCK) == 0:
            server.send("POST", "/models/load/snapshots", {})
        if start == given.rows // 5:
            fogd = {"learner": "fogd", "settings": {"dim": 200}}
            server.send("PUT", "/models/load/challengers/fourier", fogd)
            server.send("PUT", "/models/load/challengers/second", {"learner": "pkrr", "settings": {"lam": 0.1}})
        rows, classes = machines(start, BLOCK, rng)
        server.send("POST", "/models/machines/learn", {"rows": rows, "labels": classes})
        X = rng.normal(size=(BLOCK * 5, 3))
        body = {"rows": X.tolist(), "labels": (np.sin(X[:, 0]) + X[:, 1] * 0.2).tolist()}
        server.send("POST", "/models/sensor-7/learn", body)


def go_on(server: Server, start: int, stop: threading.Event) -> None:
    """Rows that come while pictures are taken."""
    rng = np.random.default_rng(1)
    while not stop.wait(0.1):
        rows, labels = building(start, 5, True, rng)
        server.send("POST", "/models/load/step", {"rows": rows, "labels": labels})
        found, classes = machines(start, 5, rng)
        server.send("POST", "/models/machines/step", {"rows": found, "labels": classes})
        start += 5


def photograph(browser: Browser, server: Server, out: Path) -> None:
    """Both pages (and the one of classes) in every size and shade, as whole pages."""
    address = f"http://127.0.0.1:{server.port}"
    pages = {"models": "/", "view": "/view/load", "classes": "/view/machines", "missing": "/view/nobody"}
    for shade in ("light", "dark"):
        for size, (width, height) in SIZES.items():
            context = browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=shade, device_scale_factor=1
            )
            page = context.new_page()
            for name, path in pages.items():
                page.goto(address + path)
                if name == "missing":
                    page.wait_for_selector("#gone")
                else:
                    page.wait_for_selector("#connection[data-state=live]")
                if name == "models":
                    page.wait_for_selector("#health dd")
                if name == "classes":
                    page.click("#axis [data-axis=time]")
                if name == "models":
                    page.wait_for_selector("#models tbody tr")
                elif name != "missing":
                    page.wait_for_selector("#errors path.line.strong", state="attached")
                    page.click("#try button")
                    page.wait_for_selector("#try-answer .big")
                    page.evaluate("window.scrollTo(0, 0)")
                file = out / f"{name}-{size}-{shade}.png"
                page.screenshot(path=file, full_page=True)
                print(file, file.stat().st_size, "bytes")
            context.close()
    page = browser.new_page(viewport={"width": 1180, "height": 1190})
    page.goto(f"{address}/view/load")
    page.wait_for_selector("#relied path.area", state="attached")
    file = out / "serving.png"  # the picture of docs/serving.md
    page.screenshot(path=file)
    page.close()
    with Image.open(file) as picture:
        picture.convert("RGB").quantize(200).save(file, optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--chromium", default=shutil.which("chromium") or shutil.which("chromium-browser"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder) / "served")
        server.start()
        stop = threading.Event()
        more = threading.Thread(target=go_on, args=(server, given.rows, stop))
        try:
            teach(server, given)
            more.start()
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=given.chromium, args=OPTIONS)
                photograph(browser, server, given.out)
                browser.close()
        finally:
            stop.set()
            if more.is_alive():
                more.join()
            server.stop()


if __name__ == "__main__":
    main()
