"""What benchmarks/peers.py compares, how a run is measured, and how the outcome is drawn."""
