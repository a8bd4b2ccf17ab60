"""Dictionaries: rules that choose the stored points, and the matrix factors over these points."""

from nystream.dictionary.budget import Budget
from nystream.dictionary.eigenpairs import Eigenpairs
from nystream.dictionary.expansion import Expansion
from nystream.dictionary.gram_factor import GramFactor
from nystream.dictionary.gram_inverse import GramInverse
from nystream.dictionary.growing import DistantAtoms, GivenAtoms, Growing
from nystream.dictionary.history import History
from nystream.dictionary.kmeans import MovingLandmarks
from nystream.dictionary.kors import KORS, theory_beta
from nystream.dictionary.merging import merge_dictionaries
from nystream.dictionary.nested import Nested
from nystream.dictionary.rows import Rows
from nystream.dictionary.sampled import SampledAtoms
from nystream.dictionary.span import Span
from nystream.dictionary.squeak import SQUEAK, disqueak, theory_copies

__all__ = [
    "KORS",
    "SQUEAK",
    "Budget",
    "DistantAtoms",
    "Eigenpairs",
    "Expansion",
    "GivenAtoms",
    "GramFactor",
    "Growing",
    "History",
    "MovingLandmarks",
    "Nested",
    "Rows",
    "SampledAtoms",
    "Span",
    "disqueak",
    "merge_dictionaries",
    "theory_beta",
    "theory_copies",
    "GramInverse",
]
