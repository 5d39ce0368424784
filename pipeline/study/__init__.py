"""Models or lexicons side by side."""
