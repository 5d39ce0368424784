"""Trained models: found by the names that users write, and taught or continued from."""
