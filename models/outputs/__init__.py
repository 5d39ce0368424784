"""p(x | K) from h_t: log-linear, softmax, adaptive, class-based, sampled.

All have `loss(h, targets)`, `log_prob(h)` and `log_prob_of(h, words)`; what is registered builds
one over a `Given`.
"""
