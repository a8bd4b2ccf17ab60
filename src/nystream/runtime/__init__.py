"""What every part of the package runs on: parameters, locks, threads, processes, incremental tasks, random seeds."""
