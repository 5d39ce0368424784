"""Queries to a trained model."""
