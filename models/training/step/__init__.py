"""A step of a training: what it reads, how it is computed, recorded, replayed and logged."""
