"""h_t = f(ψ(K), h_{t−1}): one file for each encoder, and the dropout and penalties they share."""
