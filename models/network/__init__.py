"""Whole models: they are built, read sentences, generate."""
