"""Φ by signature, the product with it, the embedding that reads words by their features."""
