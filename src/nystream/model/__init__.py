"""A learner together with the table it learns from: what people save, serve and resume."""

from nystream.model.model import Model

__all__ = ["Model"]
