"""Smoothing: from counts to the probability of each n-gram and the weight of what lies below it.

All have the form p(w | h) = a(hw) + γ(h)·p(w | h′), h′ being h without its oldest word; below the
empty context stands `base`, a distribution over all words: uniform unless it says otherwise.
"""
