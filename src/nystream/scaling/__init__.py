"""Scalings of columns, spreads of values, the median distance, and a buffer of the last rows of a stream."""

from nystream.scaling.distance import median_distance
from nystream.scaling.frozen import FrozenScale, GlobalScale, LogScale, StandardScale
from nystream.scaling.ring import Ring
from nystream.scaling.running import RunningScale

__all__ = ["FrozenScale", "GlobalScale", "LogScale", "Ring", "RunningScale", "StandardScale", "median_distance"]
