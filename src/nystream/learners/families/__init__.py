"""Base classes of families of published algorithms."""
