"""The special words that every vocabulary begins with, and the split that is not judged."""

END = "</s>"  # ends a sentence and, as the word before the first, begins one
UNKNOWN = "<unk>"  # stands for any word that is not known; a spelling model then writes it
END_ID = 0
UNKNOWN_ID = 1
BESIDE = "beside"  # the text of a second source, read before the training text
