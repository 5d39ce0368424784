"""What a training calls the weights that it leaves, also for who needs no torch to find them."""

WEIGHTS = "weights.safetensors"
