"""Figures of a model on text and on agreement suites, and the making of suites."""
