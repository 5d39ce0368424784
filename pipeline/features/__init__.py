"""From analyses to φ."""
