"""Rounds of learners that keep points and coefficients."""
