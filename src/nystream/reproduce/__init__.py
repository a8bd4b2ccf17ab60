"""The tables and figures of the papers, computed again: `nystream reproduce NAME`."""

from nystream.reproduce.experiment import Experiment, Setting
from nystream.reproduce.outcome import Outcome
from nystream.reproduce.record import Record, perform
from nystream.reproduce.registry import EXPERIMENTS, find

__all__ = ["EXPERIMENTS", "Experiment", "Outcome", "Record", "Setting", "find", "perform"]
