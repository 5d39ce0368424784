"""Names of files and special words; this module imports nothing."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


FIGURES = "figures.json"  # of its splits, where they were scored
ABOUT = "about.json"  # in the folder of a corpus: how it was split, and what was left out
FACTORS = "factors.txt"  # how many times another perplexity the first model's is
CHAIN = "lexicon.json"  # the lexicons that its words were looked up in
DESCRIBED = "described.json"  # forms of words and names of features, for outputs that read them
START = "start"  # the input that no stage made: the folder of the model that train.start names
CONFIG = "config.json"  # what the model is, and the hash of every file

END = "</s>"  # ends a sentence and, as the word before the first, begins one
# Stands for any word that is not known, and a spelling model then writes it. An open vocabulary has
# one for each class of such words, named `<unk> NOUN Number=Sing`; the first is of all others.
UNKNOWN = "<unk>"
END_ID = 0
UNKNOWN_ID = 1  # of the first unknown word
NOT_TOP = "@notTop"  # the feature of all words that have none of their own
PRETRAINING = "pretraining"  # the text of a second source, read before the training text
PRETRAINING_MASS = "b.pretraining.npy"  # b while it is read
START_WEIGHTS = "start.safetensors"  # of the initial checkpoint
MADE_OF = "start.json"  # its name, and its texts and lexicons with their licences


def is_unknown(form: str) -> bool:
    return form.startswith(UNKNOWN)


def is_special(form: str) -> bool:
    return form == END or is_unknown(form)


def read_as_unknown(types: "pd.DataFrame") -> "pd.Series":
    """Return the words that training reads as unknown: known, not in the lexicon, read once."""
    return (types["count"] == 1) & (types.get("unknown", 0) > 0)
