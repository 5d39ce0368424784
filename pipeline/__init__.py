"""French in, results out: configuration, stages, trained models and queries."""
