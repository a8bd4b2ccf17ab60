"""What is told about learners agrees with what they do."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from nystream.catalogue import CATALOGUE, build
from nystream.choosing import NOTES, TASKS, defaults, of_task, tasks, traits

NOISY = {"sigma": 0.3, "dim": 20, "standardize": False}


def test_every_learner_of_the_catalogue_has_a_note_and_no_other():
    assert list(NOTES) == list(CATALOGUE)
    assert all(len(note.advice.split()) <= 4 for note in NOTES.values())


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_live_guarantee_is_told_of_those_that_compute_one(name):
    assert NOTES[name].live == CATALOGUE[name].example.can("regret_bound")


@pytest.mark.parametrize("name", CATALOGUE)
def test_what_is_said_about_growing_is_what_memory_does(name):
    """Labels that are all noise, on a square: dictionaries settle, what stores every mistake goes on."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(2000, 2)), np.where(rng.random(2000) < 0.5, 1.0, -1.0)
    settings = {key: 30 for key in ("budget", "landmarks", "window") if key in CATALOGUE[name].cls._names()}
    if name == "auto":
        settings["memory"] = "4MB"  # its warm-up, in which it does grow, ends before the first half then
    learner = build(name, settings=settings, **NOISY)
    sizes = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in (slice(0, 1000), slice(1000, 2000)):
            learner.run(X[part], y[part])
            sizes.append(learner.size)
    assert (sizes[1] > 1.2 * sizes[0]) == NOTES[name].grows


def test_tasks_are_those_that_a_learner_can_be_built_for():
    for task in TASKS[:2]:
        for entry in of_task(task):
            if entry.name != "passive-aggressive":  # numbers by its other loss, which has to be named
                assert build(entry.name, task).labels in ("real", "class")
    assert {entry.name for entry in of_task("novelty")} >= {"silk", "norma", "ilk"}
    assert all("classification" in tasks(entry) for entry in of_task(None))
    with pytest.raises(ValueError, match="no task is called 'ranking'; there are regression, classification, novelty"):
        of_task("ranking")


@pytest.mark.parametrize("name", CATALOGUE)
def test_traits_are_done_and_not_only_told(name):
    rng = np.random.default_rng(1)
    X, f = rng.uniform(-1, 1, (30, 2)), rng.normal(size=30)
    learner = CATALOGUE[name].example.clone()
    y = {"real": f, "sign": np.sign(f), "class": (f > 0).astype(float)}[learner.labels]
    has = traits(CATALOGUE[name])
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
    assert defaults(CATALOGUE["auto"])["memory"] == "64MB"
    assert list(defaults(CATALOGUE["silk"])) == CATALOGUE["silk"].cls._names()
