"""The paper's *expert feature* φ_e(K, x): one more feature, for the few words that K names.

An expert is made from Φ and has `contexts(sentences)`, what it keeps of the words before each word
of a text (N × n), and `named(kept)`, which words these contexts name (N × P; −1 where fewer are)
and the value that the feature has for each of them (N × P); for all other words it is 0.
"""
