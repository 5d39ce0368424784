"""Trained models are found by name, built, opened, exported and checked."""
