"""Tools that every part of the package uses: parameters, locks, threads, processes, incremental tasks, random seeds."""
