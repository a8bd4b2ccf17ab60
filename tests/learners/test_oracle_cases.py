"""The cases that hold learners to their slow definitions, and the command that prints how far they are from them."""

from __future__ import annotations

import dataclasses
import importlib.util
from pathlib import Path

import numpy as np
import pytest

from nystream import Pixels
from nystream.registry import LEARNERS
from oracles.cases import CASES, PARTS, chosen
from oracles.cases.base import ROUNDS, Difference, Trial, largest, measured, outputs_of, stream, weights_for

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "accuracy" / "oracle_differences.py"
FEW = ["ONS", "NAROW", "KRLS", "Perceptron", "Forgetron", "FOGD", "NOGD", "Forgetting"]


@pytest.fixture(scope="module")
def command():
    spec = importlib.util.spec_from_file_location("oracle_differences", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def first_case(learner):
    return next(case for case in CASES if case.learner == learner)


@pytest.mark.parametrize("learner", sorted({entry.cls.__name__ for entry in LEARNERS.values()} | {Pixels.__name__}))
def test_every_learner_of_the_registry_has_a_case(learner):
    assert any(case.learner == learner for case in CASES)


def test_no_two_cases_are_the_same_row_of_the_table():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    assert {case.part for case in CASES} == set(PARTS)


@pytest.mark.parametrize("learner", FEW)
def test_a_few_learners_are_their_definitions_in_blocks_and_rows(learner):
    case = first_case(learner)
    trial = case.trial(7)
    assert type(trial.make()).__name__ == learner
    assert len(trial.X) == ROUNDS
    assert np.ptp(trial.expected) > 0.1  # something was learnt
    assert measured(trial, 7).worst <= case.tolerance


def test_the_command_prints_a_row_for_every_case_and_succeeds(command, capsys):
    assert command.main(["--streams", "1", "--part", "first", "forgetron", "Random-Budget-Perceptron"]) == 0
    out = capsys.readouterr().out.splitlines()
    rows = [line for line in out if line.startswith(("Forgetron", "RandomBudgetPerceptron"))]
    assert len(rows) == len(chosen("first", ["Forgetron", "RandomBudgetPerceptron"])) > 4
    assert all(row.split()[-6:-4] == ["300", "1"] for row in rows)
    assert out[-1].endswith("0 differ by more than they may")


@pytest.mark.parametrize("wrong", [1e-3, np.nan])
def test_the_command_fails_where_one_prediction_of_one_way_is_wrong(command, capsys, wrong):
    case = first_case("Forgetron")

    def spoilt(seed: int) -> Trial:
        trial = case.trial(seed)
        expected = trial.expected.copy()
        expected[200] += wrong
        return dataclasses.replace(trial, expected=expected)

    assert command.report([case, dataclasses.replace(case, trial=spoilt)], 1) == 1
    out = capsys.readouterr().out
    assert out.count("<- differs") == 1
    assert "1 differ by more" in out


def test_a_difference_of_one_way_alone_is_seen():
    class Off:
        """Right in blocks, wrong by 0.5 in the last of single rows."""

        def run(self, X, Y, weights=None):
            return X[:, 0]

        def step(self, x, y, weight=1.0):
            return x[0] + 0.5 * y

    X = np.arange(20.0)[:, None]
    trial = Trial(Off, X, np.where(np.arange(20) == 19, 1.0, 0.0), X[:, 0])
    assert measured(trial, 0) == Difference(0.0, 0.0, 0.5)
    seeds = []

    def drawn(seed: int) -> Trial:
        seeds.append(seed)
        return dataclasses.replace(trial, expected=X[:, 0] + seed)

    assert largest(dataclasses.replace(CASES[0], trial=drawn), 3) == Difference(2.0, 2.0, 2.0)
    assert seeds == [0, 1, 2]


def test_names_that_have_no_case_are_refused_with_those_that_do(command, capsys):
    with pytest.raises(SystemExit) as stop:
        command.main(["percepton"])
    assert stop.value.code == 2
    assert "no case of 'percepton'; there are AIOLI, Aggregate, Auto," in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command.main(["--part", "second", "Forgetron"])
    assert "no case of Forgetron in part second" in capsys.readouterr().err


def test_streams_have_repeats_new_labels_and_their_kind():
    X, y = stream("real", 0, bound=0.4)
    again = [int(np.flatnonzero((X[:150] == x).all(axis=1))[0]) for x in X[150::3]]
    assert again == list(range(50))
    assert np.abs(y[150::3] - y[:50]).min() > 0
    assert np.abs(y).max() <= 0.97 * 0.4
    assert len(np.unique(stream("real", 0, repeats=False)[0], axis=0)) == ROUNDS
    assert set(stream("sign", 1)[1]) == {-1.0, 1.0}
    assert set(stream("class", 1)[1]) == set(range(outputs_of("softmax")))
    assert not np.array_equal(X, stream("real", 1)[0])
    assert (weights_for(0) == 0).sum() == len(range(0, ROUNDS, 7))


def test_cases_that_speak_of_clipping_clip():
    clipped = [case for case in CASES if case.learner == "ONS" and "clip 0.4" in case.setting]
    assert len(clipped) == 5
    for case in clipped:
        assert np.abs(case.trial(0).expected).max() == 0.4
