"""Checks of the kernel of a feature map."""

from __future__ import annotations

from typing import Any

from nystream.kernels import Gaussian, Scaled
from nystream.kernels.base import Kernel, Sampler

__all__ = ["gaussian_of", "sampler_of"]


def gaussian_of(kernel: Any, who: str, remedy: str) -> tuple[Gaussian, float]:
    """Return (k, c) with kernel = c k and k Gaussian, or raise a TypeError with a remedy."""
    base: Any = kernel
    factor = 1.0
    while isinstance(base, Scaled):
        factor *= base.factor
        base = base.kernel
    if not isinstance(base, Gaussian):
        raise TypeError(f"{who} needs a Gaussian kernel, got {kernel!r}; {remedy}")
    return base, factor


def sampler_of(kernel: Any) -> Sampler:
    """Return the sampler of the kernel's spectral density, or raise a TypeError if there is none."""
    if not isinstance(kernel, Kernel) or not hasattr(kernel, "spectral_sample"):
        raise TypeError(f"Fourier needs a shift-invariant kernel, got {kernel!r}; use Nystrom for any kernel")
    sampler: Sampler = kernel.spectral_sample
    return sampler
