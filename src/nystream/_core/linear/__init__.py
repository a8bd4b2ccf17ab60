"""Rounds of linear learners in feature space."""
