"""The catalogue of sources, fetching them, and where they lie."""
