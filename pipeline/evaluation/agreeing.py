"""Two words of a sentence that agree, and the pair that comes of flipping one of them."""

from collections.abc import Mapping
from typing import NamedTuple

from accord.lexicon.paradigm import Paradigms
from accord.pipeline.evaluation.pair import Pair

OTHER = {
    "Number": {"Sing": "Plur", "Plur": "Sing"},
    "Gender": {"Masc": "Fem", "Fem": "Masc"},
    "Person": {"1": "3", "2": "3", "3": "2"},
}


class Agreeing(NamedTuple):
    """A word that has to share a feature with another, its *controller*."""

    construction: str
    words: list[str]
    place: int  # of the word that is flipped
    upos: str
    given: Mapping[str, str]  # what is known of its features, the one to flip among them
    feature: str
    controller: int  # its place
    nouns: list[Mapping[str, str]]  # the features of the nouns and pronouns between the two


class Made(NamedTuple):
    """A pair, how many words stand between the two that agree, and how many attractors.

    An *attractor* is a noun or pronoun that would agree with the wrong word.
    """

    pair: Pair
    distance: int
    attractors: int


def broken(agreeing: Agreeing, paradigms: Paradigms) -> Made | None:
    """The pair, if the lexicon knows one form, and one only, that makes the sentence wrong."""
    words, place, feature = agreeing.words, agreeing.place, agreeing.feature
    value = OTHER[feature].get(agreeing.given[feature])
    flipped = value and paradigms.flip(words[place], agreeing.upos, agreeing.given, feature, value)
    if not flipped or any(" " in word for word in words):
        return None
    wrong = [*words[:place], flipped, *words[place + 1 :]]
    name = f"{agreeing.construction}_{feature.lower()}"
    return Made(
        Pair(name, " ".join(words), " ".join(wrong)),
        distance=abs(place - agreeing.controller) - 1,
        attractors=sum(noun.get(feature) == value for noun in agreeing.nouns),
    )
