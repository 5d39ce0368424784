"""What Dymetman & Xiao published on UD French.

Marc Dymetman and Chunyang Xiao (2016): Log-Linear RNNs: Towards Recurrent Neural Networks with
Flexible Prior Knowledge. arXiv 1607.02467, Tables 1 to 4.
"""

TESTS = {"test": "test1", "dev": "test2"}  # the release's name and the paper's
BOUNDARIES = 3  # symbols that the paper adds to each sentence

# Table 1: sentences of each part.
SENTENCES = {"train": 13_826, "valid": 728, "test1": 298, "test2": 1_596}

# Table 2. Words and contracted rows are the own statistics of release 1.3; with three boundaries a
# sentence they come to the paper's number of tokens.
CORPUS = {
    "sentences": 16_448,
    "words": 401_960,
    "contracted rows": 11_765,
    "tokens": 463_069,
    "mean sentence length": 28.15,
    "types": 42_894,
    "tokens per type": 10.80,
}

# Table 3: the 52 binary tags of a word beside its form. Release 1.3 wrote CCONJ as CONJ.
TAGS = {
    "pos": "ADJ ADP ADV AUX CCONJ DET INTJ NIL NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X _",
    "Case": "Abl Acc Nom Voc",
    "Definite": "Def Ind",
    "Degree": "Cmp",
    "Gender": "Fem Masc Neut",
    "Mood": "Cnd Imp Ind Sub",
    "Number": "Plur Sing",
    "Person": "1 2 3",
    "PronType": "Dem Ind Int Neg Prs Rel",
    "Reflex": "Yes",
    "Tense": "Fut Imp Past Pres",
    "VerbForm": "Fin Inf Part",
}

# Table 4: nats per token; e to their power is the perplexity, of the tests' best 433 and 161.
NATS = {
    "rnn": {"training": 4.17, "test1": 6.07, "test2": 6.15},
    "ll-rnn-10000": {"training": 4.68, "test1": 5.17, "test2": 5.17},
    "ll-rnn-5000": {"training": 4.33, "test1": 5.13, "test2": 5.12},
    "ll-rnn-3000": {"training": 4.65, "test1": 5.11, "test2": 5.09},
    "ll-rnn-2500": {"training": 4.74, "test1": 5.08, "test2": 5.07},
    "ll-rnn-2000": {"training": 4.77, "test1": 5.11, "test2": 5.10},
    "ll-rnn-1000": {"training": 4.84, "test1": 5.13, "test2": 5.13},
    "ll-rnn-500": {"training": 4.93, "test1": 5.20, "test2": 5.18},
    "ll-rnn-10": {"training": 5.30, "test1": 5.45, "test2": 5.44},
}
RNN, BEST = "rnn", "ll-rnn-2500"  # whose perplexities on test1 the paper compares
STRICT = "-strict"  # ends the name of a model that sees eight words and nothing else
