"""The facts that a model tells of itself, for `repr` and for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nystream.model.score import describe

if TYPE_CHECKING:
    from nystream.model.model import Model

__all__ = ["facts_of"]

MOST_NAMED = 12
"""Columns, targets and classes that are named: as many as fit on two lines."""


def facts_of(model: Model) -> list[tuple[str, str]]:
    """Return the main facts about a model: pairs of a title and a text."""
    schema = model.schema_ or model.schema
    if schema is None or model.learner_ is None:
        return [("rows learnt", "none yet")]
    found = [("rows learnt", f"{model.n_seen:,}")]
    if schema.width is not None:
        found.append(("columns", f"{schema.width:,} sparse columns"))
    else:
        names = schema.names
        kinds = ", ".join(f"{name} ({schema.columns[name]})" for name in names[:MOST_NAMED])
        more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
        found.append(("columns", f"{len(names):,} column{'s' if len(names) > 1 else ''}: {kinds}{more}"))
    of = "" if not schema.targets else f" of {', '.join(map(repr, schema.targets[:MOST_NAMED]))}"
    found.append(("task", f"{model.task}{of}"))
    if model.task == "classification":
        listed = ", ".join(map(str, model.classes_[:MOST_NAMED])) + (
            ", ..." if len(model.classes_) > MOST_NAMED else ""
        )
        found.append(("classes", f"{len(model.classes_):,}: {listed}"))
    if model.score_ is not None:
        found.append(("error", describe(model.score_)))
    if model.waiting_:
        found.append(("waiting for labels", f"{len(model.waiting_):,}"))
    return [*found, ("memory", f"{model.nbytes / 1e6:.3g} MB")]
