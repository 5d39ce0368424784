"""What takes a GPU or several processes: recorded steps, streams, shared gradients."""
