"""What people have (frames, Arrow tables, dicts, matrices) as named columns with kinds."""

from nystream.tables.places import BadCell, Place
from nystream.tables.reading import Table, read

__all__ = ["BadCell", "Place", "Table", "read"]
