"""p(x | K) from h_t: the log-linear output and softmaxes."""
