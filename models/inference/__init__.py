"""A trained model answers: one interface, which numpy and torch implement."""
