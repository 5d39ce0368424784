"""What a model is asked under: constraints, patterns, likelier words, labels of sentences."""
