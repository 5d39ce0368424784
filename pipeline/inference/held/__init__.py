"""What a model is asked under: constraints and patterns, likelier words, the labels of sentences."""
