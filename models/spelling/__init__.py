"""Strings that no list holds: spelling models, subwords, and the open vocabulary made of both."""
