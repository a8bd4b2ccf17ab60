"""Kernel bandits: choose an arm, learn its reward, with upper confidence bounds."""

from nystream.bandits.bkb import BKB
from nystream.bandits.kernel_ucb import KernelUCB

__all__ = ["BKB", "KernelUCB"]
