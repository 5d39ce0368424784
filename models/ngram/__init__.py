"""n-gram models: counts, smoothing, tables, pruning, ARPA files."""
