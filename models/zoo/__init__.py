"""Other systems of the field, there to be compared. Nothing in the core imports them."""
