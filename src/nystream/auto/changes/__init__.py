"""Drift of a stream: alarms and warnings, a candidate model beside the incumbent, and the test that picks one."""

from nystream.auto.changes.changes import Changes
from nystream.auto.changes.listeners import Listener, Listeners
from nystream.auto.changes.record import Alarm

__all__ = ["Alarm", "Changes", "Listener", "Listeners"]
