"""Changes of a stream: alarms, a young generation beside the old one, and which of them stays."""

from nystream.auto.changes.changes import Changes
from nystream.auto.changes.record import Alarm

__all__ = ["Alarm", "Changes"]
