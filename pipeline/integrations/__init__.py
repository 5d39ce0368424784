"""Trained models inside spaCy, minicons and lm-evaluation-harness."""
