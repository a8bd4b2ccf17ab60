"""A server for models that learn from streams: what it acknowledged it never forgets, and it answers while it learns.

It needs the extra `serve`: ``pip install 'nystream[serve]'``. `nystream serve DIR` starts it.
"""

from nystream.serve.running import run
from nystream.serve.settings import Limits, Retention, Settings

__all__ = ["Limits", "Retention", "Settings", "run"]
