"""One learner for every pixel of a video."""

from nystream.video.pixels import Pixels

__all__ = ["Pixels"]
