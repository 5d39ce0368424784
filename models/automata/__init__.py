"""Models as weighted automata, in which recognisers search."""
