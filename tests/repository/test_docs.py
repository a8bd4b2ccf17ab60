"""The Python of the pages in docs/ runs."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_example_of_the_page_on_explanations_runs(capsys):
    block = re.findall(r"```{run}\n(.*?)```", (DOCS / "explaining.md").read_text(), re.DOTALL)[0]
    names: dict[str, object] = {}
    exec(compile(block, "explaining.md", "exec"), names)
    said = capsys.readouterr().out
    assert said.startswith("mostly temp (")
    assert " on average" in said
