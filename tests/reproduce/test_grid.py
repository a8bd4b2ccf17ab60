"""The grid of tables and figures: every experiment is in it, and says what was published and why it differs."""

from pathlib import Path

import pytest

from nystream.reproduce import EXPERIMENTS, Record
from nystream.reproduce.grid import DIFFERENCES, GRID, Item

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
