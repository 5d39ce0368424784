"""What is read from disk and written to it: arrays, JSON, weights; a file is whole or absent."""
