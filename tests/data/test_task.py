"""The task that labels show."""

from __future__ import annotations

import pytest

from nystream.data.task import choose_task


def test_names_that_nearly_all_differ_are_no_classes():
    labels = [f"{i / 7:.2f} kWh" for i in range(200)]
    with pytest.raises(ValueError, match=r"200 of the first 200 labels are different names \(0\.00 kWh, .*units"):
        choose_task([labels])
    assert choose_task([labels[:99]]).task == "classification"
    assert choose_task([labels[:100] * 2]).task == "classification"
