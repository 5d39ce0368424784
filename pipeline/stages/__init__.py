"""The nine stages: one table that declares them, one file for each computation."""
