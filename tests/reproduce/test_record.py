"""Records: what was found survives a file, becomes Markdown and a plot."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nystream.reproduce import Experiment, Outcome, Record, Setting, find, perform
from nystream.reproduce.draw import draw
from nystream.reproduce.markdown import page, section
from nystream.reproduce.outcome import Line, Panel, Picture, Table


def outcome(setting: Setting) -> Outcome:
    for _ in setting.each([1, 2], "rounds"):
        pass
    rows = (("NOGD", np.float64(90.519), 90.52, 3), ("PA | I", float("nan"), None, np.int64(12000)))
    lines = (Line("NOGD", (1, 2), (0.5, 0.25)), Line("theory", (1, 2), (1, 1), dashed=True))
    return Outcome(
        (Table("Accuracy, percent", ("method", "ours", "published", "moves"), rows),),
        (Panel("Error", "rows", "error", lines),),
        ("NOGD is as published.",),
        (Picture("a mask", np.eye(4)),),
    )


OLDER = (("one", 1_000.0), ("two", 5.0))
EXAMPLE = Experiment("example", "An example.", "Nobody, Table 1", "Nothing is done.", outcome)


def test_a_record_is_the_same_after_a_file(tmp_path: Path) -> None:
    record = perform(EXAMPLE, Setting(quick=True))
    record.save(tmp_path / "example.json")
    read = Record.load(tmp_path / "example.json")
    assert section(read) == section(record)
    assert read.outcome.panels == record.outcome.panels
    assert read.outcome.tables[0].rows[1] == ("PA | I", None, None, 12000)
    assert set(json.loads((tmp_path / "example.json").read_text())["versions"]) == {"nystream", "numpy", "scipy"}


def test_markdown_has_our_figures_beside_the_published_ones() -> None:
    text = section(perform(EXAMPLE, Setting(quick=True)))
    assert "| method | ours | published | moves |\n| --- | ---: | ---: | ---: |" in text
    assert "| NOGD | 90.52 | 90.52 | 3 |\n| PA \\| I |  |  | 12,000 |" in text
    assert "A quick run" in text
    assert "A quick run" not in section(perform(EXAMPLE, Setting()))
    assert "- [example](#example): An example." in page([perform(EXAMPLE, Setting())])


def test_the_page_says_how_long_all_records_took_and_which_version_made_them() -> None:
    first = perform(EXAMPLE, Setting())
    others = [replace(first, name=name, seconds=seconds, versions={"nystream": "0.9"}) for name, seconds in OLDER]
    text = page([replace(first, seconds=1.0, versions={"nystream": "1.0"}), *others])
    assert "Together they took 1,006 s." in text
    assert "Version 1.0 of nystream made example. Version 0.9 of nystream made one, two." in text


def test_the_plot_has_every_panel_and_picture(tmp_path: Path) -> None:
    figure = draw(outcome(Setting()), "An example", tmp_path / "example.png")
    assert len(figure.axes) == 2
    assert (tmp_path / "example.png").stat().st_size > 5_000


def test_progress_is_told_step_by_step() -> None:
    told: list[tuple[str, int, int]] = []
    outcome(Setting(progress=lambda *step: told.append(step)))
    assert told == [("rounds", 0, 2), ("rounds", 1, 2), ("rounds", 2, 2)]


def test_rows_and_lines_of_the_wrong_length_are_refused() -> None:
    with pytest.raises(ValueError, match="2 columns; a row has 1"):
        Table("t", ("a", "b"), ((1,),))
    with pytest.raises(ValueError, match="2 places and 1 values"):
        Line("a", (1, 2), (1,))


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="no experiment is called 'nothing'"):
        find("nothing")
