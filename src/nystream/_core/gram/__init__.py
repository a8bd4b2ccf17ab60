"""Rounds of learners on the Gram matrix of their points."""
