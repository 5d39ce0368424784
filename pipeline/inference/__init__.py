"""A trained model asked: scores, explanation, generation, word vectors, rescoring."""
