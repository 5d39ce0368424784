"""Figures of a model on text and on agreement."""
