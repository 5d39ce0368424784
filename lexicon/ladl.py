"""The inflection codes of the LADL, which DELA and Lefff share, in Universal Dependencies' terms.

A code is a run of verb forms, then persons, gender and number: `PS13s` is the present of the
indicative and of the subjunctive, first and third person singular: four readings.
"""

from functools import cache
from itertools import product

from lexicon.analysis import join_feats

VERB_FORM = {
    "P": "Mood=Ind|Tense=Pres|VerbForm=Fin",
    "I": "Mood=Ind|Tense=Imp|VerbForm=Fin",
    "F": "Mood=Ind|Tense=Fut|VerbForm=Fin",
    "J": "Mood=Ind|Tense=Past|VerbForm=Fin",
    "C": "Mood=Cnd|Tense=Pres|VerbForm=Fin",
    "S": "Mood=Sub|Tense=Pres|VerbForm=Fin",
    "T": "Mood=Sub|Tense=Imp|VerbForm=Fin",
    "Y": "Mood=Imp|Tense=Pres|VerbForm=Fin",
    "K": "Tense=Past|VerbForm=Part",
    "G": "Tense=Pres|VerbForm=Part",
    "W": "VerbForm=Inf",
}
PERSON = {"1": "Person=1", "2": "Person=2", "3": "Person=3"}
GENDER = {"m": "Gender=Masc", "f": "Gender=Fem"}
NUMBER = {"s": "Number=Sing", "p": "Number=Plur"}


@cache
def inflections(code: str) -> tuple[str, ...]:
    """The feats of every reading of a code; none if the code is not one."""
    rest = code
    choices = []
    for table in (VERB_FORM, PERSON, GENDER, NUMBER):
        run = rest[: len(rest) - len(rest.lstrip("".join(table)))]
        rest = rest[len(run) :]
        choices.append([table[letter] for letter in run] or [""])
    if rest:
        return ()
    return tuple(join_feats(*choice) for choice in product(*choices))
