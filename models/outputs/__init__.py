"""p(x | K) from h_t: log-linear, softmax, adaptive, class-based, sampled."""
