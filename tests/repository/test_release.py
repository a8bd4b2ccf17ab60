"""What a release and a visitor of the repository need: workflows, pins, licences, forms, the papers to cite."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted(GITHUB.glob("workflows/*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def read_yaml(path):
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def commands_of(path):
    """The commands of all steps of a workflow."""
    jobs = read_yaml(path)["jobs"].values()
    return [step["run"] for job in jobs for step in job["steps"] if "run" in step]


def test_there_is_a_workflow_for_pull_requests_nights_and_releases():
    assert {path.stem for path in WORKFLOWS} >= {"checks", "nightly", "release"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_the_commands_of_a_workflow_exist(path):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = "\n".join(commands_of(path))
    for line in re.findall(r"\bmake ((?:[a-z][\w-]*(?![\w=-]) ?)+)", commands):
        for target in line.split():
            assert re.search(rf"^{target}\b[\w\s-]*:", makefile, re.MULTILINE), target
    for file in re.findall(r"\.ci/[\w.-]+", commands):
        assert (ROOT / file).exists(), file


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_the_actions_of_a_workflow_are_pinned_to_commits(path):
    used = re.findall(r"uses: (\S+)(.*)", path.read_text(encoding="utf-8"))
    assert used
    for action, comment in used:
        assert re.search(r"@[0-9a-f]{40}$", action), action
        assert re.match(r" # v\d+\.\d+\.\d+$", comment), f"{action}: name the version in a comment"


def test_pull_requests_are_tested_on_the_oldest_and_the_newest_python():
    tested = read_yaml(GITHUB / "workflows" / "checks.yml")["jobs"]["test"]["strategy"]["matrix"]["python"]
    known = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    assert tested == [known[0], known[-1]]
    assert PROJECT["project"]["requires-python"] == f">={known[0]}"
    nightly = read_yaml(GITHUB / "workflows" / "nightly.yml")["jobs"]["all-tests"]["strategy"]["matrix"]["python"]
    assert nightly == known
    wheels = [f"cp{version.replace('.', '')}-*" for version in known]
    assert PROJECT["tool"]["cibuildwheel"]["build"] == wheels


@pytest.mark.parametrize("name", ["build", "host"])
def test_what_builds_a_release_is_pinned_with_hashes(name):
    text = (ROOT / ".ci" / f"release-{name}.txt").read_text(encoding="utf-8")
    parts = re.split(r"\n(?=[\w-]+==)", text)[1:] if text.startswith("#") else re.split(r"\n(?=[\w-]+==)", text)
    pinned = {re.match(r"[\w-]+", part)[0].lower() for part in parts}
    assert all("--hash=sha256:" in part for part in parts)
    wanted = re.findall(r"^([\w-]+)", (ROOT / ".ci" / f"release-{name}.in").read_text(encoding="utf-8"), re.MULTILINE)
    assert {each.lower() for each in wanted} <= pinned
    if name == "build":
        needed = {re.match(r"[\w-]+", each)[0].lower() for each in PROJECT["build-system"]["requires"]}
        assert needed <= pinned


def test_every_dependency_has_its_licence_on_the_page():
    command = [sys.executable, str(ROOT / "tools" / "licences.py"), "--check"]
    subprocess.run(command, check=True)


@pytest.mark.parametrize("path", sorted(GITHUB.glob("ISSUE_TEMPLATE/*.yml")), ids=lambda path: path.stem)
def test_a_form_asks_something(path):
    form = read_yaml(path)
    if path.stem == "config":
        return
    assert {"name", "description", "body"} <= set(form)
    identifiers = [part["id"] for part in form["body"]]
    assert len(set(identifiers)) == len(identifiers)
    assert all(part["attributes"]["label"] for part in form["body"])


def test_the_citation_has_the_papers_and_the_version():
    cited = read_yaml(ROOT / "CITATION.cff")
    assert len(cited["references"]) == 4
    version = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text(encoding="utf-8"))[1]
    assert cited["version"] == version
    for paper in cited["references"]:
        for learner in paper["notes"].split(", "):
            text = (ROOT / "src" / "nystream" / "__init__.py").read_text(encoding="utf-8")
            registry = (ROOT / "src" / "nystream" / "registry.py").read_text(encoding="utf-8")
            assert learner in text or learner in registry, learner


def test_the_pages_for_visitors_are_there_and_short():
    for name, lines in {"ROADMAP.md": 50, "CODE_OF_CONDUCT.md": 50, "SECURITY.md": 50, "CHANGELOG.md": 60}.items():
        assert len((ROOT / name).read_text(encoding="utf-8").splitlines()) <= lines, name
