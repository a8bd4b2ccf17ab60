"""The kernel class and its algebra: k + k, k * k, number * k, normalisation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from nystream._core.kernels import KernelRows
from nystream.runtime.params import Params, positive
from nystream.runtime.types import Array

__all__ = ["Kernel", "Normalized", "Pair", "Product", "Scaled", "Sum", "checked_kernel"]

Sampler: TypeAlias = Callable[[int, int, np.random.Generator], Array]
"""(n, d, rng) -> n frequencies in R^d, drawn from the Fourier transform of a shift-invariant kernel."""


class Kernel(Params):
    """A positive definite function. Your own kernel needs one method, `__call__(X, Y)`.

    Kernels compare equal when their classes and parameters do; `repr` is the expression that builds them. Kernels
    that depend on x - y only also have `spectral_sample(n, d, rng)`, which random Fourier features use.

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
    >>> k
    0.5 * Tanimoto() + Gaussian(sigma=2.0)
    """

    __array_ufunc__ = None  # np.float64(2.0) * kernel is a kernel, not an array of objects

    def __call__(self, X: Array, Y: Array) -> Array:
        """Return the (n, m) values between the rows of X (n, d) and of Y (m, d)."""
        raise TypeError(f"{type(self).__name__} must define __call__(X, Y)")

    def diag(self, X: Array) -> Array:
        """Return k(x, x) for every row, (n,). Override it if there is a faster way than one call per row."""
        return np.array([float(self(x[None], x[None])[0, 0]) for x in X])

    def row(self, X: Array, x: Array) -> Array:
        """Return k(x_i, x) for every stored row x_i of X, (m,)."""
        return self(X, x[None])[:, 0]

    @property
    def compiled(self) -> KernelRows | None:
        """The compiled form of the kernel, or None if only Python can evaluate it."""
        return None

    @property
    def single(self) -> bool:
        """Whether learners that store points may do so in single precision (`dtype="float32"`)."""
        return self.compiled is not None

    def __add__(self, other: Any) -> Kernel:
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        if isinstance(other, Kernel):
            return Product(self, other)
        if isinstance(other, np.number):
            other = other.item()
        return Scaled(self, other) if isinstance(other, (int, float)) else NotImplemented

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        assert isinstance(other, Kernel)
        theirs = other.get_params(deep=False)
        return all(_same(value, theirs[name]) for name, value in self.get_params(deep=False).items())

    def __hash__(self) -> int:
        return hash(type(self).__qualname__)  # parameters may be arrays, or 1 in one place and 1.0 in another


class Pair(Kernel):
    """Two kernels under one operation."""

    def __init__(self, a: Kernel, b: Kernel) -> None:
        self.a = checked_kernel(a, "a")
        self.b = checked_kernel(b, "b")


class Sum(Pair):
    """k(x, y) = a(x, y) + b(x, y)."""

    def __call__(self, X: Array, Y: Array) -> Array:
        return self.a(X, Y) + self.b(X, Y)

    def row(self, X: Array, x: Array) -> Array:
        return self.a.row(X, x) + self.b.row(X, x)

    def diag(self, X: Array) -> Array:
        return self.a.diag(X) + self.b.diag(X)

    @property
    def spectral_sample(self) -> Sampler:
        """Return a sampler that draws each frequency from one part, chosen in proportion to its amplitude."""
        a, b = _sampler(self.a), _sampler(self.b)

        def sample(n: int, d: int, rng: np.random.Generator) -> Array:
            origin = np.zeros((1, d))
            first = rng.random(n) * float(self.diag(origin)[0]) < float(self.a.diag(origin)[0])
            return np.where(first[:, None], a(n, d, rng), b(n, d, rng))

        return sample

    def __repr__(self) -> str:
        return f"{self.a!r} + {_wrapped(self.b, Sum)}"


class Product(Pair):
    """k(x, y) = a(x, y) b(x, y)."""

    def __call__(self, X: Array, Y: Array) -> Array:
        return self.a(X, Y) * self.b(X, Y)

    def row(self, X: Array, x: Array) -> Array:
        return self.a.row(X, x) * self.b.row(X, x)

    def diag(self, X: Array) -> Array:
        return self.a.diag(X) * self.b.diag(X)

    @property
    def spectral_sample(self) -> Sampler:
        """Return a sampler that adds frequencies of both parts: the transform of a product is a convolution."""
        a, b = _sampler(self.a), _sampler(self.b)
        return lambda n, d, rng: a(n, d, rng) + b(n, d, rng)

    def __repr__(self) -> str:
        return f"{_wrapped(self.a, Sum)} * {_wrapped(self.b, Sum, Product, Scaled)}"


class Scaled(Kernel):
    """k(x, y) = factor kernel(x, y), factor > 0."""

    def __init__(self, kernel: Kernel, factor: float) -> None:
        self.kernel = checked_kernel(kernel)
        self.factor = positive("factor of a kernel", factor)

    def __call__(self, X: Array, Y: Array) -> Array:
        return self.factor * self.kernel(X, Y)

    def row(self, X: Array, x: Array) -> Array:
        return self.factor * self.kernel.row(X, x)

    def diag(self, X: Array) -> Array:
        return self.factor * self.kernel.diag(X)

    @property
    def spectral_sample(self) -> Sampler:
        """The sampler of the kernel, if it has one. The amplitude is `diag`."""
        return _sampler(self.kernel)

    @property
    def spectral_extend(self) -> Any:
        """The extension of the kernel, if it has one."""
        return _extension(self.kernel)

    def __repr__(self) -> str:
        return f"{self.factor!r} * {_wrapped(self.kernel, Sum, Product, Scaled)}"


class Normalized(Kernel):
    """k(x, y) = kernel(x, y) / sqrt(kernel(x, x) kernel(y, y)): unit diagonal; 0 where a diagonal is 0.

    Parameters
    ----------
    kernel : Kernel
        Any kernel, e.g. `Polynomial(9)`, whose values on raw images would span many orders of magnitude.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = checked_kernel(kernel)

    def __call__(self, X: Array, Y: Array) -> Array:
        return _divided(self.kernel(X, Y), self.kernel.diag(X)[:, None], self.kernel.diag(Y))

    def row(self, X: Array, x: Array) -> Array:
        return _divided(self.kernel.row(X, x), self.kernel.diag(X), self.kernel.diag(x[None]))

    def diag(self, X: Array) -> Array:
        return (self.kernel.diag(X) > 0).astype(np.float64)

    @property
    def spectral_sample(self) -> Sampler:
        """The sampler of the kernel, if it has one. Only the amplitude changes."""
        return _sampler(self.kernel)


def checked_kernel(value: Any, name: str = "kernel") -> Kernel:
    """Return the value if it is a kernel, else raise a ValueError."""
    if not isinstance(value, Kernel):
        raise ValueError(f"{name} must be a kernel such as Gaussian(1.0), got {value!r}")
    return value


def _same(a: Any, b: Any) -> bool:
    arrays = isinstance(a, np.ndarray) or isinstance(b, np.ndarray)
    return bool(np.array_equal(a, b) if arrays else a == b)


def _sampler(kernel: Any) -> Sampler:
    """Return the sampler of a part. The AttributeError tells `hasattr` that a combination is not shift-invariant."""
    return kernel.spectral_sample


def _extension(kernel: Any) -> Any:
    """Return the extension of a part. The AttributeError says that the frequencies cannot get more coordinates."""
    return kernel.spectral_extend


def _wrapped(kernel: Kernel, *kinds: type[Kernel]) -> str:
    return f"({kernel!r})" if isinstance(kernel, kinds) else repr(kernel)


def _divided(K: Array, a: Array, b: Array) -> Array:
    """Return K / sqrt(a b), 0 where a or b is 0, without the overflow of a b; a = b gives exactly a."""
    (fraction_a, power_a), (fraction_b, power_b) = np.frexp(a), np.frexp(b)
    power = power_a + power_b
    scale = np.ldexp(np.sqrt(np.ldexp(fraction_a * fraction_b, power & 1)), power >> 1)
    return np.divide(K, scale, out=np.zeros_like(scale), where=(a > 0) & (b > 0))
