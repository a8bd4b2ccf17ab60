"""What benchmarks/accuracy/peers.py compares, how a run is measured, and how the outcome is drawn."""
