"""Sources of French sentences: named corpora, local files, data sets of the Hugging Face hub."""

from corpora.sentence import Row, Sentence, words
from corpora.sources import files, read, trees
from corpora.text import CorpusError

__all__ = ["CorpusError", "Row", "Sentence", "files", "read", "trees", "words"]
