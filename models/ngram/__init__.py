"""n-gram models: counts, smoothing, tables, ARPA files."""
