"""Feature maps: finite-dimensional stand-ins for a kernel's feature space."""
