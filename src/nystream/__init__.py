"""Online kernel learning: nonlinear models that learn one example at a time."""
