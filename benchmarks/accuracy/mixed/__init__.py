"""Parts of benchmarks/accuracy/tables.py."""
