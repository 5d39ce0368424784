"""What all rooms build on: sentences in batches, states of encoders, arrays and
weights on disk, checks, and the protocol of a language model.
"""
