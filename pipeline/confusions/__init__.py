"""Words taken for others: channels that confuse them, lattices, planted errors, corrections."""
