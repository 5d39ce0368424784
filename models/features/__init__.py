"""Φ, and how the encoder reads words by it."""
