"""One table of what the laws are tried on: for every learner its example in the registry and variants of it.

The variants of a learner are in the file of its family: losses, budgets, feature maps, whatever takes another path.
What needs another stream is derived from what a learner declares: the first of its variants that takes weights is also
tried on a stream with weights, the first that takes several targets on one with two.
"""

from __future__ import annotations

from dataclasses import replace

from laws import Variant
from nystream.registry import LEARNERS
from variants import automatic, composed, corrections, expansions, features, gradients, least_squares, newton, sparse

TABLES = (least_squares, newton, expansions, corrections, gradients, features, sparse, composed, automatic)
EXAMPLE = "example"


def _gathered() -> dict[str, dict[str, Variant]]:
    table = {name: {EXAMPLE: Variant(entry.example)} for name, entry in LEARNERS.items()}
    for family in TABLES:
        for name, learners in family.VARIANTS.items():
            new = {
                variant: given if isinstance(given, Variant) else Variant(given) for variant, given in learners.items()
            }
            table.setdefault(name, {})
            assert not table[name].keys() & new.keys(), f"{name} has two variants of one name"
            table[name] |= new
    return {name: variants | _on_other_streams(variants) for name, variants in table.items()}


def _on_other_streams(variants: dict[str, Variant]) -> dict[str, Variant]:
    found: dict[str, Variant] = {}
    for name, variant in variants.items():
        if variant.pattern.weighted and not any(v.weights for v in found.values()):
            found[f"{name}, weights"] = replace(variant, weights=True)
        if variant.multi_output and not any(v.targets > 1 for v in found.values()):
            found[f"{name}, two targets"] = replace(variant, targets=2)
    return found


VARIANTS: dict[str, dict[str, Variant]] = _gathered()
"""By the name of the learner, then of the variant; the first of each learner is its example."""
