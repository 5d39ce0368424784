"""Words that agree with others, and the wrong forms that no longer do."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from accord.corpora.sentence import Token, Tree, features, row_kinds
from accord.corpora.tokenise import normalise
from accord.lexicon import Analysis, Lexicon
from accord.lexicon.paradigm import Paradigms
from accord.pipeline.evaluation.suites import Pair

NO_TRIGGER = "none"  # of what agrees with another word
OTHER = {
    "Number": {"Sing": "Plur", "Plur": "Sing"},
    "Gender": {"Masc": "Fem", "Fem": "Masc"},
    "Person": {"1": "3", "2": "3", "3": "2"},
    "Mood": {"Sub": "Ind"},
}


class Agreeing(NamedTuple):
    """A word that has to share a feature with another, its *controller*, or whose mood it rules."""

    construction: str
    words: list[str]
    place: int  # of the word that is flipped
    upos: str
    given: Mapping[str, str]  # what is known of its features, the one to flip among them
    feature: str
    controller: int  # its place
    # The features of the nouns and pronouns between the two; of the verbs, where a mood is ruled.
    between: Sequence[Mapping[str, str]]
    trigger: str = NO_TRIGGER


class Made(NamedTuple):
    """A pair, how many words stand between the two that agree, and how many attractors.

    An *attractor* is a noun or pronoun that would agree with the wrong word, or a verb in the wrong
    mood. The *trigger* is what asks for a subjunctive.
    """

    pair: Pair
    distance: int
    attractors: int
    trigger: str


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
        attractors=sum(noun.get(feature) == value for noun in agreeing.between),
        trigger=agreeing.trigger,
    )


def only(lexicon: Lexicon, word: str, upos: str) -> dict[str, str]:
    """The features that all readings of a word share, if it can be this part of speech alone."""
    readings = lexicon.analyses(word)
    if not readings or any(reading.upos != upos for reading in readings):
        return {}
    found = {name: shared(readings, name) for name in ("Number", "Gender")}
    return {name: value for name, value in found.items() if value}


def shared(readings: Sequence[Analysis], name: str) -> str | None:
    """The value of a feature that all readings have, or None."""
    values = {reading.features.get(name) for reading in readings}
    return values.pop() if len(values) == 1 else None


def may_be_preposition(lexicon: Lexicon, word: str) -> bool:
    return any(reading.upos == "ADP" for reading in lexicon.analyses(word))


RELATIONS = {"nsubjpass": "nsubj", "auxpass": "aux", "dobj": "obj"}  # of release 1 -> of release 2
NOMINAL = {"NOUN", "PROPN", "PRON"}


class TreeWords:
    """The words of a tree as its text has them, a contracted form as one."""

    def __init__(self, tree: Tree):
        rows = zip(tree.tokens, row_kinds(tree.tokens), strict=True)
        surface = [(token, kind) for token, kind in rows if kind in ("word", "contracted")]
        self.tokens = [token for token, _ in surface]
        self.forms = [normalise(token.form) for token in self.tokens]
        self.place = {token.id: i for i, (token, kind) in enumerate(surface) if kind == "word"}
        self.by_id = {token.id: token for token in tree.tokens}
        self.below: dict[str, list[Token]] = {}
        for token in tree.tokens:
            self.below.setdefault(token.head, []).append(token)

    def dependants(self, token: Token, *relations: str) -> list[Token]:
        return [each for each in self.below.get(token.id, ()) if relation(each) in relations]

    def nouns_between(self, one: int, other: int) -> list[Token]:
        between = self.tokens[min(one, other) + 1 : max(one, other)]
        return [token for token in between if token.upos in NOMINAL]

    def agreeing(
        self, construction: str, names: Sequence[str], controller: Token | None, target: Token
    ) -> Iterator[Agreeing]:
        """The features that two words are known to share."""
        if controller is None or not {controller.id, target.id} <= self.place.keys():
            return
        decides, given = features(controller.feats), features(target.feats)
        if controller.upos in ("NOUN", "PROPN"):
            decides["Person"] = "3"
        one, other = self.place[controller.id], self.place[target.id]
        nouns = [features(noun.feats) for noun in self.nouns_between(one, other)]
        for name in names:
            if name in decides and decides[name] == given.get(name):
                yield Agreeing(
                    construction, self.forms, other, target.upos, given, name, one, nouns
                )


def relation(token: Token) -> str:
    found = token.deprel.partition(":")[0]
    return RELATIONS.get(found, found)
