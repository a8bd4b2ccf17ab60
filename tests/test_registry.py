"""What is told about learners agrees with what they do."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from nystream import learners
from nystream.model.building import build
from nystream.persist.tags import tag_of
from nystream.registry import FAMILIES, LEARNERS, list_learners
from nystream.runtime.params import Params
from oracles.cases import CASES

ROOT = Path(__file__).parents[1]
MEASURED = json.loads((ROOT / "docs/learners.json").read_text())["learners"]
NOISY = {"sigma": 0.3, "dim": 20, "standardize": False}


@pytest.mark.parametrize("name", LEARNERS)
def test_every_place_that_a_learner_needs_is_there(name):
    """The message lists every place that is missing, with its file."""
    record = LEARNERS[name]
    test = f"tests/{record.path.partition(':')[0].replace('.', '/test_')}.py"
    places = {
        f"docs/algorithms/{name}.md: the page of the algorithm": (ROOT / f"docs/algorithms/{name}.md").exists(),
        f"{test}: its tests": (ROOT / test).exists(),
        "tests/oracles/cases/*.py: a case against its oracle (an example is in CONTRIBUTING.md)": any(
            case.learner == record.class_name for case in CASES
        ),
        "src/nystream/learners/__init__.py: an import, and its name in __all__": (
            not record.path.startswith("learners.") or record.class_name in learners.__all__
        ),
        f"docs/learners.json: its figures (python docs/make_learners.py {name})": name in MEASURED,
        "src/nystream/registry.py: its family is in FAMILIES": record.family in FAMILIES,
    }
    missing = [place for place, is_there in places.items() if not is_there]
    missing += [f"src/nystream/registry.py: {kind}, which its files contain, in `parts`" for kind in untagged(record)]
    assert not missing, f"{record.class_name} is not complete:\n" + "\n".join(missing)


def untagged(record):
    """Names of classes in the state of its example, after a round, that have no tag for files."""
    learner, found = record.example.clone(), set()
    learner.run(np.ones((1, 2)), np.ones(1))
    waiting = [learner]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Params):
            found |= set() if tag_of(type(part)) else {type(part).__name__}
            waiting += part._state().values()
        elif isinstance(part, (list, tuple, dict)):
            waiting += part.values() if isinstance(part, dict) else part
    return sorted(found)


def test_advice_is_a_few_words():
    assert all(len(record.advice.split()) <= 4 for record in LEARNERS.values())


@pytest.mark.parametrize("name", LEARNERS)
def test_the_tasks_of_a_record_are_those_that_its_learner_can_be_built_for(name):
    record = LEARNERS[name]
    assert ("regression" in record.tasks) == takes_numbers(record)
    assert ("novelty" in record.tasks) == takes_no_labels(record)
    assert "classification" in record.tasks


def takes_numbers(record):
    for settings in ({}, {"loss": "epsilon_insensitive"}):
        try:
            build(record.name, "regression", settings)
        except ValueError:
            continue
        return True
    return False


def takes_no_labels(record):
    if "loss" not in record.cls._names():
        return False
    try:
        return build(record.name, settings={"loss": "novelty"}).labels == "none"
    except ValueError:
        return False


@pytest.mark.parametrize("name", LEARNERS)
def test_a_live_guarantee_is_told_of_those_that_compute_one(name):
    assert LEARNERS[name].is_live == LEARNERS[name].example.can("regret_bound")


@pytest.mark.parametrize("name", LEARNERS)
def test_what_is_said_about_growing_is_what_memory_does(name):
    """Labels that are all noise, on a square: dictionaries settle, what stores every mistake goes on."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(2000, 2)), np.where(rng.random(2000) < 0.5, 1.0, -1.0)
    settings = {key: 30 for key in ("budget", "landmarks", "window") if key in LEARNERS[name].cls._names()}
    if name == "auto":
        settings["memory"] = "4MB"  # its warm-up, in which it does grow, ends before the first half then
    learner = build(name, settings=settings, **NOISY)
    y = y if learner.labels != "class" else (y + 1) / 2
    sizes = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in (slice(0, 1000), slice(1000, 2000)):
            learner.run(X[part], y[part])
            sizes.append(learner.size)
    assert (sizes[1] > 1.2 * sizes[0]) == LEARNERS[name].grows


def test_learners_are_listed_by_task():
    assert {entry.name for entry in list_learners("novelty")} >= {"silk", "norma", "ilk"}
    assert all("classification" in entry.tasks for entry in list_learners(None))
    with pytest.raises(ValueError, match="no task is called 'ranking'; there are regression, classification, novelty"):
        list_learners("ranking")


@pytest.mark.parametrize("name", LEARNERS)
def test_traits_are_done_and_not_only_told(name):
    rng = np.random.default_rng(1)
    X, f = rng.uniform(-1, 1, (30, 2)), rng.normal(size=30)
    learner = LEARNERS[name].example.clone()
    y = {"real": f, "sign": np.sign(f), "class": (f > 0).astype(float)}[learner.labels]
    has = LEARNERS[name].traits
    for trait, able in (("weights", lambda: learner.clone().run(X, y, np.linspace(0.5, 2, 30))),):
        if has[trait]:
            able()
        else:
            with pytest.raises((TypeError, ValueError), match="weight"):
                able()
    if learner.labels == "real":
        two = learner.clone()
        if has["several targets"]:
            assert two.run(X, np.stack([f, -f], axis=1)).shape == (30, 2)
        else:
            with pytest.raises(ValueError):  # noqa: PT011  each says it in its own words
                two.run(X, np.stack([f, -f], axis=1))
    if has["unlearns"]:
        learner.run(X, y)
        assert learner.unlearn(X[:3], y[:3]).n_seen == 27


def test_defaults_are_those_of_the_signature():
    assert LEARNERS["auto"].defaults["memory"] == "64MB"
    assert tuple(LEARNERS["silk"].defaults) == LEARNERS["silk"].cls._names()


def test_settings_of_a_record_are_parameters_of_its_class():
    for record in LEARNERS.values():
        assert {*record.settings, *record.task_settings} <= set(record.cls._names())
        assert (record.members is not None) == ("learners" in record.cls._names())
