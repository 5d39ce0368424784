"""The special words that every vocabulary begins with, and the split that is not judged."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

END = "</s>"  # ends a sentence and, as the word before the first, begins one
# Stands for any word that is not known, and a spelling model then writes it. An open vocabulary has
# one for each class of such words, named `<unk> NOUN Number=Sing`; the first is of all others.
UNKNOWN = "<unk>"
END_ID = 0
UNKNOWN_ID = 1  # of the first unknown word
NOT_TOP = "@notTop"  # the feature of all words that have none of their own
PRETRAINING = "pretraining"  # the text of a second source, read before the training text
PRETRAINING_MASS = "b.pretraining.npy"  # b while it is read
START_WEIGHTS = "start.safetensors"  # of the model that training goes on from
MADE_OF = "start.json"  # its name, and its texts and lexicons with their licences


def is_unknown(form: str) -> bool:
    return form.startswith(UNKNOWN)


def is_special(form: str) -> bool:
    return form == END or is_unknown(form)


def read_as_unknown(types: "pd.DataFrame") -> "pd.Series":
    """Which known words training reads as unknown: those outside the lexicon that it has once."""
    return (types["count"] == 1) & (types.get("unknown", 0) > 0)
