"""Corpora and lexicons are fetched."""
