"""What is installed has all its parts; the source archive builds a wheel that works away from the source tree."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import nystream

ROOT = Path(__file__).resolve().parents[2]

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


def check_parts(names):
    """The list of files has the compiled core with its types, the pages, the licence, and no sources of the core."""
    assert "nystream/py.typed" in names
    core = [n for n in names if n.startswith("nystream/_core/")]
    compiled = sorted(n.split(".")[0] for n in core if n.endswith((".so", ".pyd")))
    assert len(compiled) == len(list((ROOT / "src/nystream/_core").rglob("*.pyx")))
    assert sorted(n.removesuffix(".pyi") for n in core if n.endswith(".pyi")) == compiled
    assert not [n for n in names if n.endswith((".pyx", ".pxd", ".h", "meson.build"))]
    assert any(n.endswith("licenses/LICENSE") for n in names)
    pages = {f"nystream/serve/assets/{path.name}" for path in (ROOT / "src/nystream/serve/assets").iterdir()}
    assert pages <= set(names)


def test_what_is_installed_has_all_its_parts():
    check_parts([path.as_posix() for path in importlib.metadata.files("nystream")])


@pytest.mark.exhaustive  # it compiles everything anew
def test_the_source_archive_builds_a_wheel_that_works_away_from_the_source_tree(tmp_path):
    pytest.importorskip("build", reason="the packaging tools are part of the dev extra")
    pytest.importorskip("mesonpy", reason="the build backend is needed to build without a network")
    if not (ROOT / "meson.build").exists() or not (ROOT / ".git").exists():
        pytest.skip("not in a checkout: there is nothing to build from")
    build = [sys.executable, "-m", "build", "--no-isolation", "--skip-dependency-check"]
    done = subprocess.run(
        [*build, "--outdir", str(tmp_path), str(ROOT)],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": "",
            "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]),
        },
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(tmp_path.glob("*.tar.gz"))) == 1
    site = tmp_path / "site"
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as archive:
        names = archive.namelist()
        archive.extractall(site)
    check_parts(names)
    assert not [n for n in names if "__pycache__" in n]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "MESONPY"))}
    (tmp_path / "smoke.py").write_text(SMOKE)
    done = subprocess.run(
        [sys.executable, "smoke.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**environment, "PYTHONPATH": str(site)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"works {nystream.__version__}")
