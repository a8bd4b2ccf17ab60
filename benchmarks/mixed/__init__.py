"""Parts of benchmarks/tables.py."""
