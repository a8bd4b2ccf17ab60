"""Every law over every learner of the catalogue; the last test prints the tally."""

from __future__ import annotations

import pytest

from laws import LAWS
from nystream.learners.catalogue import CATALOGUE

CASES = [(entry, law) for entry in CATALOGUE.values() for law in LAWS]


@pytest.mark.parametrize(("entry", "law"), CASES, ids=[f"{e.name}-{law}" for e, law in CASES])
def test_law(entry, law, tmp_path):
    arguments = [tmp_path / "model.nys"] if law == "save_load_and_go_on" else []
    LAWS[law](entry.example.clone, *arguments)
