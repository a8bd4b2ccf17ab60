"""Rows on their way in: tables, kinds of columns, schemas, frames, encoding, and readers of values."""
