"""The experiments of the NOLANA paper on small data: protocol, memory, selection, tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nystream.kernels import Gaussian
from nystream.learners import NOLANA
from nystream.reproduce import (
    EXPERIMENTS,
    Setting,
    nolana_figure1,
    nolana_figure2,
    nolana_figure3,
    nolana_figure4,
    nolana_table1,
    nolana_table2,
)
from nystream.reproduce.nolana_figure2 import Adrift
from nystream.reproduce.nolana_figure3 import kernel_errors
from nystream.reproduce.nolana_methods import METHODS, OURS, PLAIN
from nystream.reproduce.nolana_table1 import sweep
from nystream.reproduce.nolana_table2 import compare
from nystream.reproduce.nolana_tasks import TASKS, USPS, directions, prefix

SMALL = {task.name: replace(task, landmarks=10, rows=None) for task in TASKS}


def digits(n=400, seed=0):
    """Three classes around moving centres, as floats."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n).astype(float)
    centres = rng.normal(size=(3, 6))
    return centres[y.astype(int)] + 0.6 * rng.normal(size=(n, 6)), y


def table(name, n=400):
    """Rows that suit a dataset of the paper."""
    X, y = digits(n)
    if name == "cpusmall":
        return X, 50.0 + 10.0 * X[:, 0] * X[:, 1]
    return X, y if name == "usps" else np.where(y == 1, 1.0, -1.0)


@pytest.fixture
def small(monkeypatch):
    """The experiments with generated data and ten landmarks."""
    tasks = tuple(SMALL[task.name] for task in TASKS)
    changed = {"TASKS": tasks, "USPS": tasks[1], "IJCNN1": tasks[2], "GAMMA": 0.2}
    for module in (nolana_table1, nolana_table2, nolana_figure1, nolana_figure2, nolana_figure3, nolana_figure4):
        monkeypatch.setattr(module, "read", lambda task, setting: table(task.name, 600))
        if hasattr(module, "OTHERS"):
            monkeypatch.setattr(module, "OTHERS", (tasks[0], tasks[2]))
        for name, value in changed.items():
            if hasattr(module, name):
                monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(nolana_figure1, "SIZES", (8, 16))
    return Setting(quick=True)


def test_random_directions_have_the_memory_of_the_landmarks():
    shapes = {"cpusmall": 12, "usps": 256, "ijcnn1": 22, "covtype": 54}
    assert [directions(task.landmarks, shapes[task.name]) for task in TASKS] == [46, 131, 463, 792]


def test_every_method_has_as_many_settings():
    for task in TASKS:
        X, y = table(task.name)
        scale = prefix(SMALL[task.name], X, y)[2]
        sizes = {np.prod([len(values) for values in method.grid(task, scale).values()]) for method in METHODS}
        assert sizes == {36}


def test_selection_sees_the_first_fifth_of_shuffle_0_alone():
    X, y = digits()
    head, labels, scale = prefix(SMALL["usps"], X, y)
    assert len(labels) == 80
    order = np.random.default_rng(0).permutation(400)
    changed = X.copy()
    changed[order[80:]] = 1e6
    other = prefix(SMALL["usps"], changed, y)
    np.testing.assert_array_equal(other[0], head)
    assert other[2] == scale
    assert list(scale.gaps) == sorted(scale.gaps)


@pytest.mark.parametrize("name", list(SMALL))
def test_every_method_learns_every_kind_of_target(name):
    X, y = table(name)
    task = SMALL[name]
    scale = prefix(task, X, y)[2]
    guess = float(np.std(y)) if task.real else 100.0 * max(np.mean(y == c) for c in np.unique(y))
    for method in METHODS:
        values = {axis: values[len(values) // 2] for axis, values in method.grid(task, scale).items()}
        P = method.learn(task, scale, values, X, y, seed=1).predictions
        assert np.isfinite(P[10:]).all()
        if method in (PLAIN, OURS) and not task.real:
            assert task.figure(P, y) > guess


def test_a_comparison_reports_the_chosen_setting():
    X, y = digits()
    result = compare(OURS, SMALL["usps"], X, y, Setting(quick=True))
    assert set(result.choice.setting) == {"gamma", "eta", "eps"}
    assert result.choice.tried == 8
    assert len(result.figures) == len(result.seconds) == 1


def test_a_sweep_moves_less_as_eps_grows():
    X, y = digits()
    found = sweep(PLAIN, SMALL["usps"], X, y, (0.0, 1.0, 1e6), 1.0, Setting(quick=True))
    assert found.moves[0] == [390.0]  # every row but the ten that became landmarks
    assert 0 < found.moves[1][0] < 390
    assert found.moves[2] == [0.0]
    assert found.choice.setting["eps"] == 1.0


def test_without_the_second_stage_it_is_the_same_until_a_landmark_moves():
    X, y = digits()
    y = np.where(y == 1, 1.0, -1.0)
    with_it, without = (cls(Gaussian(1.0), landmarks=20, eps=2.0) for cls in (NOLANA, Adrift))
    P, Q = with_it.run(X, y), without.run(X, y)
    np.testing.assert_array_equal(P[:21], Q[:21])
    assert with_it.moves == without.moves > 10
    assert np.mean(Q * y > 0) < np.mean(P * y > 0)


def test_landmarks_that_move_approximate_a_clustered_kernel_better():
    found = kernel_errors(digits(600)[0], (8, 16), 200, seed=0)
    assert set(map(len, found.values())) == {2}
    for errors in found.values():
        assert errors[1] < errors[0]


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name.startswith("nolana")])
def test_every_experiment_runs_on_small_data(name, small):
    outcome = EXPERIMENTS[name].run(small)
    assert min(len(outcome.tables), len(outcome.panels), len(outcome.remarks)) > 0
    for figures in outcome.tables:
        assert all(cell is not None for row in figures.rows for cell in row[:2])


def test_published_figures_are_those_of_the_paper():
    assert USPS.published["NOLANA"] == 92.07
    assert [task.published["NOLANA"] for task in TASKS] == [7.08, 92.07, 93.65, 71.51]
    assert TASKS[0].reached(7.0849, 7.08)
    assert not TASKS[0].reached(7.086, 7.08)
    assert USPS.reached(92.066, 92.07)
    assert not USPS.reached(92.06, 92.07)
