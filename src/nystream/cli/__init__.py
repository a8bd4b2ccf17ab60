"""The command line: `nystream run`, `predict`, `race`, `explain`, `serve`, `push`, `list` and others."""
