"""The training loop and the parts of a step."""
