"""Common ground of all packages of models: batches, files, devices, checks."""
