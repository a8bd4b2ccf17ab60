"""The learners: one published algorithm, one file."""
