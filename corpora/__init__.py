"""Sources of French sentences: named corpora, local files, data sets of the Hugging Face hub."""

from accord.corpora.sentence import Sentence, TreebankRow, words
from accord.corpora.sources import files, read, read_words, trees
from accord.corpora.text import CorpusError

__all__ = [
    "CorpusError",
    "Sentence",
    "TreebankRow",
    "files",
    "read",
    "read_words",
    "trees",
    "words",
]
