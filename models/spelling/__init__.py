"""Every string has a probability: character models of unknown words."""
