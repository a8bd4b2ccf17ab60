"""The kernel class and its algebra: k + k, k * k, number * k, normalisation."""

from __future__ import annotations

from typing import Any

import numpy as np

from nystream.params import Params, positive
from nystream.types import Array

__all__ = ["Kernel", "Normalized", "Pair", "Product", "Scaled", "Sum"]


class Kernel(Params):
    """A positive definite function. A kernel of your own needs one method, `__call__(X, Y)`.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.kernels import Gaussian, Kernel
    >>> class Tanimoto(Kernel):
    ...     def __call__(self, X, Y):
    ...         XY = X @ Y.T
    ...         return XY / ((X * X).sum(1)[:, None] + (Y * Y).sum(1) - XY)
    >>> k = 0.5 * Tanimoto() + Gaussian(2.0)
    >>> k(np.eye(2), np.eye(2)).round(3).tolist()
    [[1.5, 0.779], [0.779, 1.5]]
    """

    def __call__(self, X: Array, Y: Array) -> Array:
        """(n, m) block of values between the rows of X (n, d) and of Y (m, d)."""
        raise TypeError(f"{type(self).__name__} must define __call__(X, Y)")

    def diag(self, X: Array) -> Array:
        """k(x, x) for every row, (n,). Override where it is cheaper than one call per row."""
        return np.array([float(self(x[None], x[None])[0, 0]) for x in X])

    def row(self, X: Array, x: Array) -> Array:
        """k(x_i, x) for every stored row x_i of X, (m,)."""
        return self(X, x[None])[:, 0]

    def __add__(self, other: Any) -> Kernel:
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(self, other) if isinstance(other, (int, float, np.number)) else NotImplemented

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


class Pair(Kernel):
    """Two kernels under one operation."""

    def __init__(self, a: Kernel, b: Kernel) -> None:
        self.a = a
        self.b = b


class Sum(Pair):
    """k(x, y) = a(x, y) + b(x, y)."""

    def __call__(self, X: Array, Y: Array) -> Array:
        return self.a(X, Y) + self.b(X, Y)

    def diag(self, X: Array) -> Array:
        return self.a.diag(X) + self.b.diag(X)

    def __repr__(self) -> str:
        return f"{self.a!r} + {self.b!r}"


class Product(Pair):
    """k(x, y) = a(x, y) b(x, y)."""

    def __call__(self, X: Array, Y: Array) -> Array:
        return self.a(X, Y) * self.b(X, Y)

    def diag(self, X: Array) -> Array:
        return self.a.diag(X) * self.b.diag(X)

    def __repr__(self) -> str:
        return " * ".join(f"({k!r})" if isinstance(k, Sum) else repr(k) for k in (self.a, self.b))


class Scaled(Kernel):
    """k(x, y) = factor kernel(x, y), factor > 0."""

    def __init__(self, kernel: Kernel, factor: float) -> None:
        self.kernel = kernel
        self.factor = positive("factor of a kernel", factor)

    def __call__(self, X: Array, Y: Array) -> Array:
        return self.factor * self.kernel(X, Y)

    def diag(self, X: Array) -> Array:
        return self.factor * self.kernel.diag(X)

    def __repr__(self) -> str:
        inner = f"({self.kernel!r})" if isinstance(self.kernel, Sum) else repr(self.kernel)
        return f"{self.factor!r} * {inner}"


class Normalized(Kernel):
    """k(x, y) = kernel(x, y) / sqrt(kernel(x, x) kernel(y, y)): unit diagonal; 0 where a diagonal is 0."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def __call__(self, X: Array, Y: Array) -> Array:
        scale = np.sqrt(np.outer(self.kernel.diag(X), self.kernel.diag(Y)))
        return np.divide(self.kernel(X, Y), scale, out=np.zeros_like(scale), where=scale > 0)

    def diag(self, X: Array) -> Array:
        return (self.kernel.diag(X) > 0).astype(np.float64)
