"""Explain the predictions of any function of columns: importance of columns, and contributions to one prediction."""

from nystream.explain.importance import ColumnImportance, Importance, permutation_importance
from nystream.explain.shapley import Reasons, contributions

__all__ = ["ColumnImportance", "Importance", "Reasons", "contributions", "permutation_importance"]
