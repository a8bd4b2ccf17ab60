"""Factors of symmetric matrices: passes, updates, solutions."""
