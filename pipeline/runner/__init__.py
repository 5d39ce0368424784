"""What must run, in what order, here or elsewhere."""
