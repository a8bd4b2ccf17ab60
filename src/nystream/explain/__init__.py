"""What a prediction depends on, asked of any function of a table's columns: importance, and reasons of one row."""

from nystream.explain.importance import ColumnImportance, Importance, permutation_importance
from nystream.explain.shapley import Reasons, contributions

__all__ = ["ColumnImportance", "Importance", "Reasons", "contributions", "permutation_importance"]
