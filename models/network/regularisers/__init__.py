"""What keeps a network from learning its text by heart: further losses, of the training alone."""
