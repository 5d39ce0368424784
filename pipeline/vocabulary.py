"""The special words that every vocabulary begins with, and the split that is not judged."""

END = "</s>"  # ends a sentence and, as the word before the first, begins one
# Stands for any word that is not known, and a spelling model then writes it. An open vocabulary has
# one for each class of such words, named `<unk> NOUN Number=Sing`; the first is of all others.
UNKNOWN = "<unk>"
END_ID = 0
UNKNOWN_ID = 1  # of the first unknown word
BESIDE = "beside"  # the text of a second source, read before the training text


def is_unknown(form: str) -> bool:
    return form.startswith(UNKNOWN)


def is_special(form: str) -> bool:
    return form == END or is_unknown(form)
