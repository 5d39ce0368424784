"""What every package of models builds on: batches, files, devices, checks."""
