"""Training on a GPU or on several processes: recorded steps, streams, shared gradients."""
