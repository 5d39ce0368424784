"""h_t = f(ψ(K), h_{t−1}): the encoders of the paper and of its peers.

All map inputs (T × B × E) and a state to outputs (T × B × H) and the state after them, so that a
text may be read in pieces.
"""
