"""Experiments on generated streams: a quick run fills every table and panel."""

import numpy as np
import pytest

from nystream.reproduce import Setting, find, perform

NAMES = ("kons-section6", "kons-regret", "pkawv-table1", "pkawv-exponents", "pkawv-figure1", "pkawv-figure3")


@pytest.mark.parametrize("name", NAMES)
def test_a_quick_run_has_figures_in_every_table_and_panel(name):
    record = perform(find(name), Setting(quick=True))
    assert not find(name).datasets
    assert all(table.rows for table in record.outcome.tables)
    assert all(np.isfinite(line.y).all() for panel in record.outcome.panels for line in panel.lines)
    assert record.outcome.remarks
