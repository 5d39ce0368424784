"""Words that agree with others, and the wrong forms that no longer do.

Participles after their object, and subjunctives after what asks for them:

    les échecs qu'ils ont subis, not *subi; il les a vus, not *vu
    bien qu'il soit malade, not *est

In a text both are taken only where words that can be read in one way say so. The participle
follows *avoir*, whose object is *les*, *la lui*, or *que* behind a noun that nothing else could
claim. *l'* has no gender that one sees, so it is left out, as are participles before an infinitive
and those that seldom agree (*fait*, *coûté*). The subjunctive is a form that is no indicative.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from accord.corpora.sentence import Token, Tree, features, row_kinds
from accord.corpora.tokenise import normalise
from accord.lexicon import Analysis, Lexicon
from accord.lexicon.analysis import Paradigms, agrees
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
# Behind `que` or before a clitic these can only be subjects too.
AFTER_QUE = SUBJECTS | {
    "il": {"Person": "3", "Number": "Sing", "Gender": "Masc"},
    "ils": {"Person": "3", "Number": "Plur", "Gender": "Masc"},
    "elle": {"Person": "3", "Number": "Sing", "Gender": "Fem"},
    "elles": {"Person": "3", "Number": "Plur", "Gender": "Fem"},
    "on": {"Person": "3", "Number": "Sing"},
    "nous": {"Person": "1", "Number": "Plur"},
    "vous": {"Person": "2", "Number": "Plur"},
}
QUE = ("que", "qu'")

FORMS_OF_HAVE = """
    ai as a avons avez ont avais avait avions aviez avaient aurai auras aura aurons aurez auront
    aurais aurait aurions auriez auraient eus eut eûmes eûtes eurent aie aies ait ayons ayez aient
    eusse eusses eût eussions eussiez eussent
"""
HAVE = frozenset(FORMS_OF_HAVE.split())
BEFORE_PARTICIPLE = {"pas", "jamais", "plus", "point", "bien", "déjà", "toujours", "encore", "tant"}
INDIRECT = {"ne", "n'", "me", "m'", "te", "t'", "nous", "vous", "lui", "leur", "y"}
# They agree seldom or never: with an infinitive, a measure, or what nobody did (il a fait chaud).
SELDOM = {"fait", "laissé", "pu", "dû", "voulu", "eu", "été", "fallu", "coûté", "valu", "duré"}
# Behind these `que` is no object: il y a un an que je vous ai guéri, la fois que je t'ai vue.
TIMES = {
    *("an", "ans", "année", "années", "mois", "semaine", "semaines", "jour", "jours", "nuit"),
    *("heure", "heures", "minute", "minutes", "instant", "instants", "moment", "moments", "fois"),
    *("temps", "siècle", "siècles", "soir", "matin", "façon", "manière", "dommage"),
}
PARTICIPLE = {"VerbForm": "Part", "Tense": "Past"}


def participles_of_text(
    words: list[str], lowered: Sequence[str], lexicon: Lexicon
) -> Iterator[Agreeing]:
    """Every participle of a sentence that agrees with an object before it."""
    for have, word in enumerate(lowered):
        participle = have + 1
        while participle < len(words) and lowered[participle] in BEFORE_PARTICIPLE:
            participle += 1
        if word not in HAVE or not _is_plain_participle(lowered, participle, lexicon):
            continue
        found = _clitic_object(lowered, have) or _relative_object(lowered, have, lexicon)
        if found is None:
            continue
        controller, known, between = found
        for feature in ("Number", "Gender"):
            if feature in known:
                given = {**known, **PARTICIPLE}
                yield Agreeing(
                    *("participle_object", words, participle, "VERB", given, feature),
                    *(controller, between),
                )


def _is_plain_participle(lowered: Sequence[str], place: int, lexicon: Lexicon) -> bool:
    """Whether a participle stands there that no infinitive follows: j'ai entendu jouer."""
    clitics = next((n for n, w in enumerate(lowered[place + 1 :]) if w not in CLITICS), 0)
    follow = lowered[place + 1 + clitics : place + 3 + clitics]
    behind = [lexicon.analyses(word) for word in (*lowered[place : place + 1], *follow)]
    if not behind or not any(_is_past_participle(reading) for reading in behind[0]):
        return False
    lemmas = {reading.lemma for reading in behind[0]}
    if lowered[place] in SELDOM or lemmas & {"faire", "laisser", "coûter", "valoir"}:
        return False
    infinitives = [
        any(r.features.get("VerbForm") == "Inf" for r in readings) for readings in behind[1:]
    ]
    is_before = follow[:1] in (["à"], ["de"], ["d'"])
    return not any(infinitives[: 2 if is_before else 1])


def _is_past_participle(reading: Analysis) -> bool:
    return reading.features.get("VerbForm") == "Part" and reading.features.get("Tense") == "Past"


Found = tuple[int, dict[str, str], list[dict[str, str]]]  # a place, features, those in between


def _clitic_object(lowered: Sequence[str], have: int) -> Found | None:
    """`les` or `la lui` before a form of avoir and behind its subject: ils les ont."""
    place = have - 1
    if place > 0 and lowered[place] in ("lui", "leur", "y"):
        place -= 1
    known = {
        "les": {"Number": "Plur"},
        "la": {"Number": "Sing", "Gender": "Fem"},
    }.get(lowered[place] if place > 0 else "")
    before = place - 1
    while before > 0 and lowered[before] in ("ne", "n'", "me", "te", "nous", "vous"):
        if lowered[before] in ("nous", "vous") and lowered[before - 1] not in AFTER_QUE:
            break  # it is the subject
        before -= 1
    if known is None or before < 0 or lowered[before] not in AFTER_QUE:
        return None
    return place, known, []


def _relative_object(lowered: Sequence[str], have: int, lexicon: Lexicon) -> Found | None:
    """A noun, `que`, a pronoun that is the subject, then avoir: les échecs qu'ils ont."""
    subject = have - 1
    while subject > 0 and lowered[subject] in INDIRECT and lowered[subject - 1] not in QUE:
        subject -= 1
    que = subject - 1
    if subject > 1 and lowered[subject] == "on" and lowered[que] == "l'":
        que -= 1
    noun = que - 1
    if noun < 1 or lowered[subject] not in AFTER_QUE or lowered[que] not in QUE:
        return None
    determiner = noun - 1
    before = lowered[max(determiner - 1, 0) : determiner + 1]
    is_behind = any(reading.upos == "DET" for reading in lexicon.analyses(lowered[determiner]))
    if not is_behind or any(may_be_preposition(lexicon, word) for word in before):
        return None
    known = only(lexicon, lowered[noun], "NOUN") if lowered[noun] not in TIMES else {}
    return (noun, known, [AFTER_QUE[lowered[subject]]]) if known else None


# What asks for a subjunctive, before its `que`. Left out is what the indicative may follow as well
# (de sorte que, le fait que) and what is often something else (encore que, tel que).
TRIGGERS = """
    bien, avant, pour, afin, pourvu, sans, à moins, de peur, de crainte, à condition, en attendant,
    jusqu' à ce, il se peut, il est possible, il est temps, il est nécessaire, il vaut mieux,
    il est important, il est juste
"""
BEFORE_QUE = [tuple(each.split()) for each in TRIGGERS.split(",")]
IN_ONE_WORD = {"quoique": "quoique", "quoiqu'": "quoique"}
MUST = {"faut", "fallait", "faudra", "faudrait", "fallut"}
AFTER_MUST = {"pas", "donc", "bien", "aussi", "toujours", "plus"}
FARTHEST = 8  # words between `que` and the verb in a text
# Behind these another clause may have begun.
BORDERS = {*QUE, "qui", "dont", "où", "si", "et", "ou", "mais", "de", "d'", "comme", "quand"}


def trigger(lowered: Sequence[str], que: int) -> str | None:
    """What asks for a subjunctive and ends with the `que` or `quoique` in a place, if any does."""
    if lowered[que] in IN_ONE_WORD:
        return IN_ONE_WORD[lowered[que]]
    if lowered[que] not in QUE:
        return None
    for before in BEFORE_QUE:
        if tuple(lowered[max(que - len(before), 0) : que]) == before:
            return " ".join((*before, "que")).replace("' ", "'")
    must = que - 2 if lowered[que - 1] in AFTER_MUST else que - 1
    return "il faut que" if must > 0 and lowered[must] in MUST else None


def subjunctives_of_text(
    words: list[str], lowered: Sequence[str], lexicon: Lexicon
) -> Iterator[Agreeing]:
    """Every subjunctive behind a trigger, if no indicative has its form."""
    for que in range(len(words)):
        asks = trigger(lowered, que)
        if asks == "bien que" and que > 1 and _finite(lexicon, lowered[que - 2]):
            continue  # vous comprendrez bien que j'aie pu, or j'ai pu
        verb = _verb_after(lowered, que, lexicon) if asks else None
        if asks and verb is not None:
            subject = AFTER_QUE.get(lowered[_subject(lowered, que)], {"Person": "3"})
            given = {name: subject[name] for name in ("Person", "Number") if name in subject}
            given |= {"Mood": "Sub", "VerbForm": "Fin"}
            readings = [r for r in _finite(lexicon, lowered[verb]) if agrees(r, given)]
            name = _construction(shared(readings, "Tense"))
            yield Agreeing(name, words, verb, "VERB", given, "Mood", que, [], asks)


def _construction(tense: str | None) -> str:
    """The imperfect has a name of its own: few texts of today have it, and novels little else."""
    return "subjunctive_imperfect" if tense == "Imp" else "subjunctive"


def _subject(lowered: Sequence[str], que: int) -> int:
    """Where the subject is if it is a pronoun: l'on is *on*."""
    is_elided = [*lowered[que + 1 : que + 3]] == ["l'", "on"]
    return que + 2 if is_elided else min(que + 1, len(lowered) - 1)


def _verb_after(lowered: Sequence[str], que: int, lexicon: Lexicon) -> int | None:
    """The place of the first verb that is finite, if it can only be a subjunctive."""
    subject = _subject(lowered, que)
    if lowered[subject] in AFTER_QUE:
        verb = subject + 1
        while verb < len(lowered) and lowered[verb] in CLITICS:
            verb += 1
        return verb if verb < len(lowered) and _is_subjunctive(lexicon, lowered[verb]) else None
    for place in range(que + 1, min(que + 2 + FARTHEST, len(lowered))):
        word = lowered[place]
        if _is_subjunctive(lexicon, word):
            return place
        if _finite(lexicon, word) or word in BORDERS or word in AFTER_QUE or not word[0].isalpha():
            return None
    return None


def _is_subjunctive(lexicon: Lexicon, word: str) -> bool:
    moods = {reading.features.get("Mood") for reading in _finite(lexicon, word)}
    return "Sub" in moods and "Ind" not in moods


def _finite(lexicon: Lexicon, word: str) -> list[Analysis]:
    return [r for r in lexicon.analyses(word) if r.features.get("VerbForm") == "Fin"]


def subjunctive_of_tree(words: TreeWords, verb: Token) -> Iterator[Agreeing]:
    """The same of a tree: a verb in the subjunctive whose clause a trigger introduces."""
    given = features(verb.feats)
    if given.get("Mood") != "Sub" or verb.id not in words.place:
        return
    clause = words.by_id.get(verb.head) if relation(verb) in ("aux", "cop") else verb
    if clause is None:
        return
    marks = words.dependants(clause, "mark")
    marks += [each for mark in marks for each in words.dependants(mark, "fixed", "mwe")]
    lowered = [form.lower() for form in words.forms]
    place = words.place[verb.id]
    for que in sorted((words.place[m.id] for m in marks if m.id in words.place), reverse=True):
        if que < place and (asks := trigger(lowered, que)):
            between = [features(token.feats) for token in words.tokens[que + 1 : place]]
            name = _construction(given.get("Tense"))
            yield Agreeing(name, words.forms, place, verb.upos, given, "Mood", que, between, asks)
            return
