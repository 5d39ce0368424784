"""The nine stages, one file each, and what only they use; `order.py` has them in order."""
