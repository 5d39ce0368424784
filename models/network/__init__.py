"""Whole models: the language model, b alone, a frozen model as b, constraints, generation."""
