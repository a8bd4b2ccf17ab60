"""The source archive builds a wheel, and the wheel works on its own, away from the source tree."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("build", reason="the packaging tools are part of the dev extra")
pytest.importorskip("mesonpy", reason="the build backend is needed to build without a network")

ROOT = Path(__file__).resolve().parents[1]

SMOKE = """
import sys
import numpy as np
import nystream
assert "site" in nystream.__file__, nystream.__file__
X, y = nystream.streams.sine(300, seed=0)
model = nystream.PKAWV(nystream.Taylor(nystream.Gaussian(0.5), degree=6), lam=0.1)
p = model.run(X, y)
assert ((p - y) ** 2).mean() < 0.5 * y.var()
assert model.regret() <= model.regret_bound()
twin = nystream.from_bytes(model.to_bytes())
assert np.array_equal(twin.run(X, y), model.run(X, y))
print("works", nystream.__version__)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """sdist from the tree, wheel from the sdist, installed into an empty folder."""
    if not (ROOT / "meson.build").exists() or not (ROOT / ".git").exists():
        pytest.skip("not in a checkout: there is nothing to build from")
    folder = tmp_path_factory.mktemp("dist")
    environment = {**os.environ, "PYTHONPATH": ""}
    command = [
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        "--skip-dependency-check",
        "--outdir",
        str(folder),
        str(ROOT),
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    wheel = next(folder.glob("*.whl"))
    site = folder / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return folder, wheel, site


def test_the_archives_hold_what_they_should(built):
    folder, wheel, _ = built
    assert len(list(folder.glob("*.tar.gz"))) == 1
    names = zipfile.ZipFile(wheel).namelist()
    assert "nystream/py.typed" in names
    assert "nystream/_core/linalg/ldl.pyi" in names
    assert any(n.startswith("nystream/_core/linalg/ldl.") and n.endswith((".so", ".pyd")) for n in names)
    assert not [n for n in names if n.endswith((".pyx", ".h", "meson.build")) or "__pycache__" in n]
    assert any(n.endswith("licenses/LICENSE") for n in names)


def test_the_wheel_works_away_from_the_source_tree(built, tmp_path):
    _, _, site = built
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "MESONPY"))}
    environment["PYTHONPATH"] = str(site)
    script = tmp_path / "smoke.py"
    script.write_text(SMOKE)
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("works 0.")
