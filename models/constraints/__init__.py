"""A trained model under constraints: automata, patterns, primed words, features switched off."""
