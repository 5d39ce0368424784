"""Several models or lexicons side by side."""
