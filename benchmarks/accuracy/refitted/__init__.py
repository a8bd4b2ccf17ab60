"""Parts of benchmarks/accuracy/boosters.py: streams, refitted boosters, Auto, records, comparisons, chart."""
