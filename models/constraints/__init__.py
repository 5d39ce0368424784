"""Constrain a trained model: automata, patterns, primed words, features switched off."""
