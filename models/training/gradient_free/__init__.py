"""Training without gradients: an output by least squares, an encoder by evolution."""
