"""Kernels and their algebra."""

from nystream.kernels.base import Kernel, Normalized, Product, Scaled, Sum
from nystream.kernels.gaussian import Gaussian
from nystream.kernels.laplacian import Laplacian
from nystream.kernels.linear import Linear
from nystream.kernels.matern import Matern
from nystream.kernels.polynomial import Polynomial
from nystream.scaling.distance import median_distance

__all__ = [
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Normalized",
    "Polynomial",
    "Product",
    "Scaled",
    "Sum",
    "median_distance",
]
