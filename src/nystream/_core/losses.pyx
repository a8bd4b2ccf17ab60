"""Compiled part, to come."""
