"""`nystream reproduce` as users call it."""

import json
from pathlib import Path

import pytest

from nystream.cli.app import call
from nystream.reproduce import EXPERIMENTS, Record

NAMES = {
    *("nolana-table1", "nolana-table2", "nolana-figure1", "nolana-figure2", "nolana-figure3", "nolana-figure4"),
    *("ilk-figure1", "ilk-figure2", "ilk-figure3", "ilk-figure4"),
    *("pkawv-table1", "pkawv-exponents", "pkawv-figure1", "pkawv-figure2", "pkawv-figure3", "pkawv-figure4"),
    *("kons-section6", "kons-regret"),
}


def test_every_table_and_figure_of_the_four_papers_is_there() -> None:
    assert set(EXPERIMENTS) == NAMES


def test_without_a_name_the_experiments_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["reproduce"]) == 0
    told = capsys.readouterr().out
    assert all(name in told for name in NAMES)


def test_a_quick_experiment_writes_json_markdown_and_a_plot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["reproduce", "ilk-figure1", "--quick", "--quiet", "--out", str(tmp_path)]) == 0
    assert "| ILK |" in capsys.readouterr().out
    assert {p.name for p in tmp_path.iterdir()} == {"ilk-figure1.json", "ilk-figure1.md", "ilk-figure1.png"}
    record = Record.load(tmp_path / "ilk-figure1.json")
    assert record.quick
    assert record.outcome.tables
    assert json.loads((tmp_path / "ilk-figure1.json").read_text())["name"] == "ilk-figure1"


def test_experiments_side_by_side_find_the_same_and_are_told_in_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = []
    for jobs in ("1", "2"):
        out = tmp_path / jobs
        assert call(["reproduce", "ilk-figure1", "kons-section6", "--quick", "-j", jobs, "--out", str(out)]) == 0
        told = capsys.readouterr().out
        assert told.index("reproduce ilk-figure1") < told.index("reproduce kons-section6")
        records = [Record.load(out / f"{name}.json") for name in ("ilk-figure1", "kons-section6")]
        found.append([record.outcome.plain() for record in records])
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing"], "no experiment is called 'nothing'; there are nolana-table1"),
        (["ilk-figure1", "--all"], "give names or --all, not both"),
        (["ilk-figure1", "--quick", "--whole"], "give --quick or --whole, not both"),
        (["ilk-figure1", "--data", "no/such/folder"], "no/such/folder"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["reproduce", *words]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1


def test_data_without_a_download_are_asked_for_before_anything_is_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["reproduce", "ilk-figure2", "--data", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert "highway.zip" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
