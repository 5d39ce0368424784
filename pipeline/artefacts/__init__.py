"""Folders named by the hash of what they are made from: written whole, verified, read back."""
