"""The training loop, its state and checkpoints, averages of weights, several processes."""
