"""The dictionaries themselves, one file for each family."""
