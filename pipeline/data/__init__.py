"""Fetch corpora and lexicons."""
