"""The dictionaries, one file for each family."""
