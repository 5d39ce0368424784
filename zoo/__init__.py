"""N-gram models of the field: smoothings, ARPA files, pruning, and weighted automata of them."""
