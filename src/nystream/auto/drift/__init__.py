"""Drift of a stream: alarms and warnings, a candidate model beside the incumbent, and the test that picks one."""

from nystream.auto.drift.handler import DriftHandler
from nystream.auto.drift.records import Alarm, Listener, Listeners, Records

__all__ = ["Alarm", "DriftHandler", "Listener", "Listeners", "Records"]
