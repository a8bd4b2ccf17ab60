"""A learner together with its schema: the one entry for rows of any origin; models are saved, served and resumed."""

from nystream.model.model import Model

__all__ = ["Model"]
