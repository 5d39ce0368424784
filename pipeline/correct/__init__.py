"""Words confused with others: corrections, planted errors, n-best lists."""
