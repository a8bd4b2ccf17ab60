"""The task that labels show."""

from __future__ import annotations

import pytest

from nystream.data.task import choose_task


def test_names_that_nearly_all_differ_are_no_classes():
    labels = [f"{i / 7:.2f} kWh" for i in range(200)]
    with pytest.raises(ValueError, match=r"200 of the first 200 labels are different names \(0\.00 kWh, .*units"):
        choose_task([labels])
    with pytest.raises(ValueError, match="40 of the first 40 labels are different names"):
        choose_task([labels[:40]])
    assert choose_task([labels[:39]]).task == "classification"
    assert choose_task([[*labels[:98], labels[0]]]).task == "classification"
    assert choose_task([labels[:100] * 2]).task == "classification"


def test_dates_are_no_labels_unless_they_repeat():
    days = [f"2023-01-{day:02}" for day in range(1, 29)]
    for labels in (days, [f"{day}T10:00:00Z" for day in days[:5]]):
        with pytest.raises(ValueError, match=r"dates or times \(2023-01-01.*choose another target"):
            choose_task([labels])
    assert choose_task([days[:2] * 14]).task == "classification"
    assert choose_task([["2021", "2022", "2023", "2024", "2025", "spring"]]).task == "classification"
