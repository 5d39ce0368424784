"""Suites made of treebanks and texts.

A pronoun that can only be a subject and the verb behind it and its clitics; a determiner and a
word that can only be a noun; such a noun and a word behind it that can only be an adjective.

Left out is what a flipped word would not break beyond doubt: collective subjects, relative
pronouns and adjectives that another noun might claim, the *vous* that may be one person.

Beside the files in CLAMS's form stands `pairs.csv`, a row for each pair in the order in which the
suite is read: its construction, the distance of the two words that agree, and the attractors.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from accord.corpora import sources
from accord.corpora.sentence import Token, Tree, features, row_kinds
from accord.corpora.tokenise import normalise
from accord.lexicon import Analysis, Lexicon
from accord.lexicon.paradigm import Paradigms
from accord.models.common.files import write_whole
from accord.pipeline.data.folders import folder_of
from accord.pipeline.display.tables import write_table
from accord.pipeline.evaluation.suites import TABLE, Pair

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


SUBJECTS = {
    "je": {"Person": "1", "Number": "Sing"},
    "j'": {"Person": "1", "Number": "Sing"},
    "tu": {"Person": "2", "Number": "Sing"},
    "il": {"Person": "3", "Number": "Sing"},
    "ils": {"Person": "3", "Number": "Plur"},
}
CLITICS = {
    *("ne", "n'", "me", "m'", "te", "t'", "se", "s'", "le", "la", "les", "l'", "lui", "leur"),
    *("y", "en", "nous", "vous"),
}


def agreeing_words_of_text(words: Sequence[str], lexicon: Lexicon) -> Iterator[Agreeing]:
    """Every agreement of a sentence that is beyond doubt."""
    words = list(words)
    lowered = [word.lower() for word in words]
    for place, word in enumerate(lowered[:-1]):
        if word in SUBJECTS:
            yield from _with_pronoun(words, lowered, place, lexicon)
        noun = _only(lexicon, lowered[place + 1], "NOUN")
        determiners = [a for a in lexicon.analyses(word) if a.upos == "DET"]
        if noun and determiners:
            number = _shared(determiners, "Number")
            if number and number == noun.get("Number"):
                yield Agreeing(
                    "determiner_noun", words, place + 1, "NOUN", noun, "Number", place, []
                )
            yield from _with_adjective(words, lowered, place, noun, lexicon)


def _with_pronoun(
    words: list[str], lowered: list[str], place: int, lexicon: Lexicon
) -> Iterator[Agreeing]:
    verb = place + 1
    while verb < len(words) and lowered[verb] in CLITICS:
        verb += 1
    if verb == len(words):
        return
    readings = lexicon.analyses(lowered[verb])
    given = {**SUBJECTS[lowered[place]], "VerbForm": "Fin"}
    if readings and all(r.upos in ("VERB", "AUX") for r in readings):
        for feature in ("Number", "Person"):
            yield Agreeing("subject_verb", words, verb, "VERB", given, feature, place, [])


def _with_adjective(
    words: list[str], lowered: list[str], place: int, noun: dict[str, str], lexicon: Lexicon
) -> Iterator[Agreeing]:
    """Behind a preposition the adjective might go with a noun before that, so none is taken."""
    behind = place + 2
    before = lowered[max(place - 1, 0) : place + 1]  # `du` is both preposition and determiner
    if behind == len(words) or any(_may_be_preposition(lexicon, word) for word in before):
        return
    adjective = _only(lexicon, lowered[behind], "ADJ")
    for feature in ("Number", "Gender"):
        if adjective and adjective.get(feature) and adjective[feature] == noun.get(feature):
            yield Agreeing(
                "noun_adjective", words, behind, "ADJ", adjective, feature, behind - 1, []
            )


def _only(lexicon: Lexicon, word: str, upos: str) -> dict[str, str]:
    """The features that all readings of a word share, if it can be this part of speech alone."""
    readings = lexicon.analyses(word)
    if not readings or any(reading.upos != upos for reading in readings):
        return {}
    shared = {name: _shared(readings, name) for name in ("Number", "Gender")}
    return {name: value for name, value in shared.items() if value}


def _shared(readings: Sequence[Analysis], name: str) -> str | None:
    """The value of a feature that all readings have, or None."""
    values = {reading.features.get(name) for reading in readings}
    return values.pop() if len(values) == 1 else None


def _may_be_preposition(lexicon: Lexicon, word: str) -> bool:
    return any(reading.upos == "ADP" for reading in lexicon.analyses(word))


RELATIONS = {"nsubjpass": "nsubj", "auxpass": "aux", "dobj": "obj"}  # of release 1 -> of release 2
NOMINAL = {"NOUN", "PROPN", "PRON"}
# Singular and plural are both right with these: la moitié dort, la moitié dorment; c'est eux.
EITHER_NUMBER = {
    *("ce", "un", "on", "plupart", "majorité", "minorité", "moitié", "tiers", "quart", "partie"),
    *("reste", "nombre", "foule", "ensemble", "groupe", "série", "multitude", "quantité"),
    *("totalité", "infinité", "dizaine", "douzaine", "quinzaine", "vingtaine", "trentaine"),
    *("cinquantaine", "centaine", "millier", "million", "milliard"),
}


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
        return [each for each in self.below.get(token.id, ()) if _relation(each) in relations]

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


def agreeing_words_of_tree(tree: Tree) -> Iterator[Agreeing]:
    """Every agreement of a tree."""
    words = TreeWords(tree)
    for token in words.tokens:
        if token.upos == "NOUN":
            yield from _with_noun(words, token)
        if features(token.feats).get("VerbForm") == "Part":
            yield from _with_participle(words, token)
        yield from _with_subject(words, token)


def _with_noun(words: TreeWords, noun: Token) -> Iterator[Agreeing]:
    for determiner in words.dependants(noun, "det"):
        yield from words.agreeing("determiner_noun", ["Number"], determiner, noun)
        yield from words.agreeing("determiner_noun", ["Gender"], noun, determiner)
    for adjective in words.dependants(noun, "amod"):
        one, other = words.place.get(noun.id), words.place.get(adjective.id)
        behind = one is not None and other is not None and one < other
        if adjective.upos == "ADJ" and behind and not words.nouns_between(one, other):
            yield from words.agreeing("noun_adjective", ["Number", "Gender"], noun, adjective)


def _with_subject(words: TreeWords, predicate: Token) -> Iterator[Agreeing]:
    """The first finite verb agrees with the subject, if that stands before it."""
    verbs = [*words.dependants(predicate, "aux", "cop"), predicate]
    finite = [verb for verb in verbs if features(verb.feats).get("VerbForm") == "Fin"]
    for subject in words.dependants(predicate, "nsubj"):
        controller = _controller(words, subject, predicate)
        for verb in finite[:1]:
            if _before(words, subject, verb) and not _either_number(controller):
                yield from words.agreeing("subject_verb", ["Number", "Person"], controller, verb)


def _with_participle(words: TreeWords, participle: Token) -> Iterator[Agreeing]:
    """With être it agrees with the subject, with avoir with an object that stands before it."""
    helpers = words.dependants(participle, "aux")
    if not helpers or any("Reflex=Yes" in t.feats for t in words.below.get(participle.id, ())):
        return
    auxiliary = helpers[-1].lemma
    relation = {"être": "nsubj", "avoir": "obj"}.get(auxiliary)
    name = {"être": "participle_etre", "avoir": "participle_object"}.get(auxiliary)
    for word in words.dependants(participle, relation) if relation else ():
        controller = _controller(words, word, participle)
        third = controller and features(controller.feats).get("Person", "3") == "3"
        clear = third and not _either_number(controller)
        if (
            clear
            and _before(words, word, participle)
            and (auxiliary == "être" or word.upos == "PRON")
        ):
            yield from words.agreeing(name, ["Number", "Gender"], controller, participle)


def _controller(words: TreeWords, token: Token, verb: Token) -> Token | None:
    """What a relative pronoun stands for, if that is beyond doubt; any other word itself."""
    if "PronType=Rel" not in token.feats.split("|"):
        return token
    head = words.by_id.get(verb.head)
    if head is None or _relation(verb) != "acl" or not {head.id, token.id} <= words.place.keys():
        return None
    doubtful = words.nouns_between(words.place[head.id], words.place[token.id])
    return None if doubtful else head


def _before(words: TreeWords, one: Token, other: Token) -> bool:
    place = words.place
    return one.id in place and other.id in place and place[one.id] < place[other.id]


def _either_number(token: Token | None) -> bool:
    return token is not None and token.lemma in EITHER_NUMBER


def _relation(token: Token) -> str:
    relation = token.deprel.partition(":")[0]
    return RELATIONS.get(relation, relation)


def make_suite(source: str, lexicon: Lexicon, folder: Path) -> pd.DataFrame:
    """Write the suite of a treebank or a text; returns the table of its pairs."""
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(
            f"{folder} is not empty: expected a new folder, as what else lies there would be read "
            f"as a part of the suite"
        )
    paradigms = Paradigms(lexicon)
    made = (broken(agreeing, paradigms) for agreeing in _agreeing_words(source, lexicon))
    found = list(dict.fromkeys(each for each in made if each))
    if not found:
        raise ValueError(
            f"{source}: found no agreement to break; expected trees with heads and features, or "
            f"sentences whose words the lexicon knows"
        )
    return write_suite(found, folder)


def _agreeing_words(source: str, lexicon: Lexicon) -> Iterator[Agreeing]:
    if trees := sources.trees(source, folder=folder_of):
        for tree in trees:
            yield from agreeing_words_of_tree(tree)
        return
    for _, words in sources.read_words(source, folder=folder_of):
        yield from agreeing_words_of_text(words, lexicon)


def write_suite(made: Iterable[Made], folder: Path) -> pd.DataFrame:
    """One file for each construction, and the table of all pairs in the order of the files."""
    by_construction = defaultdict(list)
    for each in made:
        by_construction[each.pair.construction].append(each)
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in sorted(by_construction):
        lines = [f"True\t{m.pair.good}\nFalse\t{m.pair.bad}\n" for m in by_construction[name]]
        write_whole(folder / f"{name}.txt", "".join(lines).encode())
        rows += [(name, m.distance, m.attractors) for m in by_construction[name]]
    table = pd.DataFrame(rows, columns=["construction", "distance", "attractors"])
    write_table(table, folder / TABLE)
    return table
