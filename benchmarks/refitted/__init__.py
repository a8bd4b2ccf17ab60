"""What benchmarks/boosters.py runs: streams, boosters refitted now and then, Auto, records, comparisons, chart."""
