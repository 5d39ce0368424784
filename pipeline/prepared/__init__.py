"""What the stages made, read back: ids, forms, vocabularies, suites, the trained model."""
