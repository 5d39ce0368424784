"""Trained models where people already work: spaCy, lm-evaluation-harness, minicons."""
