"""Least squares with exponential forgetting, whose ridge is not forgotten."""
