"""Lattices in HTK's Standard Lattice Format (SLF), which SRILM's lattice-tool writes too.

    VERSION=1.0                       a header begins a lattice: `cat` puts several into one file
    UTTERANCE=ID lmscale=12 base=10   further names tell nothing of words
    N=3 L=2                           how many nodes and links there are
    I=1 t=0.36 W=le                   a node; its word may stand on the links that end there instead
    J=0 S=0 E=1 a=-318.2 l=-2.1       a link from a node to another

    score = acscale·a + lmscale·l + ngscale·n + prscale·r, and for a word wdpenalty, in nats

a, l, n and r are logarithms to the base e, or `base`; if that is 0 they are probabilities. `!NULL`
and the marks of a sentence's start and end are no words.
"""

NULL = "!NULL"
SILENT = {NULL, "!SENT_START", "!SENT_END", "<s>", "</s>"}
