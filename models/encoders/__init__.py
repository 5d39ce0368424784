"""h_t = f(ψ(K), h_{t−1}): one file for each encoder, and the dropout and penalties they share.

All map inputs (T × B × E) and a state to outputs (T × B × H) and the state after them, so that a
text may be read in pieces.
"""
