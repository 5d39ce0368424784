"""Folders named by what they are made from."""
