"""A page to type into."""
