"""The grid of tables and figures: every experiment is in it, and says what was published and why it differs."""

from pathlib import Path

import pytest

from nystream.reproduce import EXPERIMENTS, Record
from nystream.reproduce.grid import DIFFERENCES, FAR_OFF, GRID, Item

RESULTS = Path(__file__).parents[2] / "docs" / "reproduction"


def test_every_experiment_has_a_place_in_the_grid_and_a_published_result():
    placed = [name for item in GRID for name in item.experiments]
    assert set(placed) == set(EXPERIMENTS) == set(DIFFERENCES)
    assert len(placed) == len(set(placed))


def test_states_are_said_in_words():
    assert Item("a paper", "Table 9", ("one",)).state == "done"
    assert Item("a paper", "Table 9", ("one",), "half of it").state == "partly: half of it"
    assert Item("a paper", "Table 9", (), "no data").state == "not done: no data"


@pytest.mark.parametrize("name", DIFFERENCES)
def test_what_was_found_is_read_off_the_record(name):
    outcome = Record.load(RESULTS / f"{name}.json").outcome
    for difference in DIFFERENCES[name]:
        assert difference.here(outcome)
        assert difference.published
        assert difference.why.endswith((".", "table."))


def test_figures_more_than_a_tenth_off_are_named():
    outcome = Record.load(RESULTS / "nolana-table2.json").outcome
    shown = next(d for d in DIFFERENCES["nolana-table2"] if "single methods" in d.published).here(outcome)
    for table in outcome.tables:
        for row in table.rows:
            far = "our" not in row[0] and row[3] is not None and abs(row[1] / row[3] - 1) > FAR_OFF
            assert (f"{row[0]} {row[1]:.2f}, not {row[3] or 0:.2f}" in shown) == far, row
