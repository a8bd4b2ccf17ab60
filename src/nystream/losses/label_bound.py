"""A flag that marks a guarantee as void after a label beyond its bound."""

from __future__ import annotations

import math
import warnings

import numpy as np

from nystream.runtime.types import Array

__all__ = ["LabelBound"]


class LabelBound:
    """Base of classes whose guarantee holds while every |label| is at most `_label_bound`.

    The first larger label sets `void_` and warns once. `void_` is part of the state and is never reset. Learning goes
    on. Regret bounds are infinite while `void_` is set.
    """

    void_: bool = False
    """Whether a label was larger than the guarantee allows."""
    _bound_name: str = "clip"
    """Name of the parameter that holds the bound, for the warning."""

    @property
    def _label_bound(self) -> float:
        """The largest |label| that the guarantee allows; infinite if it does not depend on labels."""
        raise NotImplementedError

    @property
    def _limit(self) -> float:
        """The largest |label| that needs no action: infinite once the guarantee is void."""
        return math.inf if self.void_ else self._label_bound

    def _note_labels(self, Y: Array, stacklevel: int) -> bool:
        """Set `void_` and warn if one of these labels is the first beyond the bound. Return whether it is."""
        if self.void_ or not np.abs(Y).max(initial=0.0) > self._label_bound:
            return False
        self.void_, name = True, self._bound_name
        warnings.warn(
            f"a label is outside [-{name}, {name}] with {name}={self._label_bound!r}: learning goes on, but the regret "
            f"guarantee is void; set {name} to a bound on |y|",
            UserWarning,
            stacklevel=stacklevel + 1,
        )
        return True
