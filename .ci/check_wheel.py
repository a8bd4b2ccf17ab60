"""What a release hands out, looked at: python .ci/check_wheel.py dist

Of the source archive: a second one is the same bit for bit, and everything that builds is in it. Of the wheel: its
parts, its licence, its size, what its modules link to, no path of the machine that built it. Then it is installed
into an environment of its own, with nothing but the base dependencies, and the first lines of the README run there.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SYSTEM = {"libc.so.6", "libm.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
"""What a module may link to: what every Linux has."""


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check_source(archive: Path) -> None:
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    for needed in (
        "LICENSE",
        "README.md",
        "pyproject.toml",
        "meson.build",
        "src/nystream/_core/meson.build",
        "PKG-INFO",
    ):
        assert needed in names, f"{needed} is not in {archive.name}"
    assert not [name for name in names if name.endswith((".so", ".c", ".pyc"))], (
        "something built is in the source archive"
    )
    print(f"{archive.name}: {archive.stat().st_size / 1e6:.2f} MB, {len(names)} files, sha256 {digest(archive)[:16]}")
    if (ROOT / ".git").exists():
        with tempfile.TemporaryDirectory() as folder:
            build = [sys.executable, "-m", "build", "--no-isolation", "--sdist", "--outdir", folder, str(ROOT)]
            subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
            (again,) = Path(folder).iterdir()
            assert digest(again) == digest(archive), (
                "a second source archive differs (has anything been committed since?)"
            )
        print("  a second one is the same, bit for bit")


def check_parts(wheel: Path, folder: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
        files = archive.infolist()
    names = [file.filename for file in files]
    kinds = Counter(Path(name).suffix or Path(name).name for name in names)
    unpacked = sum(file.file_size for file in files)
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB, {unpacked / 1e6:.2f} MB unpacked, {len(names)} files")
    print("  " + ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()))
    strangers = [name for name in names if not re.match(r"nystream(/|-[^/]+\.dist-info/)", name)]
    assert not strangers, f"outside the package: {strangers}"
    junk = [name for name in names if name.endswith((".pyx", ".pxd", ".h", ".c", ".pyc", "meson.build"))]
    assert not junk, f"of no use where it is installed: {junk}"
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names), "the licence is missing"
    assert "nystream/py.typed" in names
    metadata = next(folder.glob("*.dist-info/METADATA")).read_text(encoding="utf-8")
    needs = r"^(?:Requires-Dist: [^;\n]*$|Requires-Python: .*|License-Expression: .*)"
    print("  " + "; ".join(re.findall(needs, metadata, re.MULTILINE)))


def check_modules(folder: Path) -> None:
    modules = sorted(folder.rglob("*.so"))
    assert modules, "there is nothing compiled in the wheel"
    linked: Counter[str] = Counter()
    for module in modules:
        dynamic = subprocess.run(["readelf", "-d", str(module)], check=True, capture_output=True, text=True).stdout
        linked.update(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
        assert not re.search(r"\((RPATH|RUNPATH)\)", dynamic), f"{module} looks for libraries at a fixed place"
        sections = subprocess.run(
            ["readelf", "-S", "-W", str(module)], check=True, capture_output=True, text=True
        ).stdout
        assert ".debug_info" not in sections, f"{module} carries debugging symbols"
        assert str(ROOT).encode() not in module.read_bytes(), f"{module} names a folder of the machine that built it"
    print(f"  {len(modules)} modules link to " + ", ".join(f"{name} ({count})" for name, count in linked.most_common()))
    assert set(linked) <= SYSTEM, f"not on every Linux: {set(linked) - SYSTEM}"


def check_platform(wheel: Path) -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", str(wheel)], capture_output=True, text=True, check=False
    )
    if shown.returncode:
        print("  auditwheel is not installed or refused: " + shown.stderr.strip()[-300:])
        return
    print("  auditwheel: " + " ".join(shown.stdout.split()))


def check_alone(wheel: Path, folder: Path) -> None:
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel.resolve()], check=True
    )
    subprocess.run([python, "-I", ROOT / ".ci" / "ten_lines.py", ROOT / "README.md"], check=True, cwd=folder)


def main(dist: Path) -> None:
    (archive,), (wheel,) = list(dist.glob("*.tar.gz")), list(dist.glob("*.whl"))
    check_source(archive)
    with tempfile.TemporaryDirectory() as folder:
        check_parts(wheel, Path(folder, "wheel"))
        check_modules(Path(folder, "wheel"))
        check_platform(wheel)
        check_alone(wheel, Path(folder, "venv"))


main(Path(sys.argv[1]))
