"""b(K, x): the mass that words have before the features speak; n-grams."""
