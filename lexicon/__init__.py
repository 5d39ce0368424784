"""A form → its analyses: lemma, part of speech and features, from any lexicon or chain of them."""

from accord.lexicon.analysis import Analysis, Lexicon, LexiconError, load

__all__ = ["Analysis", "Lexicon", "LexiconError", "load"]
