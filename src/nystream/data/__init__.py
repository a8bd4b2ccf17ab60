"""Rows on their way in: tables, kinds of columns, schemas, batches, and their encoding as numbers."""
