"""What must run, in what order, on this machine or another."""
