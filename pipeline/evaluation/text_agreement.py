"""What agrees with what in a text without trees, where a lexicon alone leaves no doubt.

A pronoun that can only be a subject and the verb behind it and its clitics; a determiner and a
word that can only be a noun; such a noun and a word behind it that can only be an adjective.
"""

from collections.abc import Iterator, Sequence

from accord.lexicon import Analysis, Lexicon
from accord.pipeline.evaluation.agreeing import Agreeing

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


def agreeing_words(words: Sequence[str], lexicon: Lexicon) -> Iterator[Agreeing]:
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
