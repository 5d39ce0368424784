"""Suites made of treebanks and texts: words that agree with others, and wrong forms of them.

A treebank says which words agree. In a text an agreement is taken only where words that can be read
in one way show it: a pronoun that can only be a subject and the verb behind it and its clitics; a
determiner and a word that can only be a noun; such a noun and a word behind it that can only be an
adjective; a participle after its object; a subjunctive after its trigger:

    les échecs qu'ils ont subis, not *subi; il les a vus, not *vu
    bien qu'il soit malade, not *est

The participle follows *avoir*, whose object is *les*, *la lui*, or *que* behind a noun that nothing
else could claim. *l'* shows no gender, so it is left out, as are participles before an infinitive
and those that seldom agree (*fait*, *coûté*). The subjunctive is a form that is no indicative.

Cases are left out in which a flipped word might still be right: collective subjects, relative
pronouns and adjectives that another noun might claim, the *vous* that may be one person.

Next to the files in CLAMS's form stands `pairs.csv`, a row for each pair in the order of reading:
its construction, the distance of the two words that agree, the attractors, and the trigger of a
subjunctive.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from accord.corpora import sources
from accord.corpora.conllu import Token, Tree, features, row_kinds
from accord.corpora.tokenise import normalise
from accord.errors import AccordError
from accord.lexicon import Analysis, Lexicon
from accord.lexicon.analysis import Paradigms, agrees
from accord.models.common.files import write_whole
from accord.pipeline.base.tables import write_table
from accord.pipeline.data.catalogue import folder_of
from accord.pipeline.evaluation.suites import TABLE, Pair

NO_TRIGGER = "none"  # of words that agree with another
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
    position: int  # of the word to flip
    upos: str
    known: Mapping[str, str]  # its known features, the one to flip among them
    feature: str
    controller: int  # its position
    # The features of the nouns and pronouns between the two; of the verbs, where a mood is ruled.
    between: Sequence[Mapping[str, str]]
    trigger: str = NO_TRIGGER


class Made(NamedTuple):
    """A pair, the number of words between the two that agree, and the number of attractors.

    An *attractor* is a noun or pronoun that would agree with the wrong word, or a verb in the wrong
    mood. The *trigger* asks for a subjunctive.
    """

    pair: Pair
    distance: int
    attractors: int
    trigger: str


def broken(agreeing: Agreeing, paradigms: Paradigms) -> Made | None:
    """Return the pair, if the lexicon knows exactly one form that makes the sentence wrong."""
    words, position, feature = agreeing.words, agreeing.position, agreeing.feature
    value = OTHER[feature].get(agreeing.known[feature])
    flipped = value and paradigms.flip(
        words[position], agreeing.upos, agreeing.known, feature, value
    )
    if not flipped or any(" " in word for word in words):
        return None
    wrong = [*words[:position], flipped, *words[position + 1 :]]
    name = f"{agreeing.construction}_{feature.lower()}"
    return Made(
        Pair(name, " ".join(words), " ".join(wrong)),
        distance=abs(position - agreeing.controller) - 1,
        attractors=sum(noun.get(feature) == value for noun in agreeing.between),
        trigger=agreeing.trigger,
    )


def make_suite(source: str, lexicon: Lexicon, folder: Path) -> pd.DataFrame:
    """Write the suite of a treebank or a text; return the table of its pairs."""
    if folder.exists() and any(folder.iterdir()):
        raise AccordError(
            f"{folder} is not empty: expected a new folder, as its other files would be read as a "
            f"part of the suite"
        )
    paradigms = Paradigms(lexicon)
    pairs = (broken(agreeing, paradigms) for agreeing in _agreeing_words(source, lexicon))
    made = list(dict.fromkeys(pair for pair in pairs if pair))
    if not made:
        raise AccordError(
            f"{source}: found no agreement to break; expected trees with heads and features, or "
            f"sentences whose words the lexicon knows"
        )
    return write_suite(made, folder)


def _agreeing_words(source: str, lexicon: Lexicon) -> Iterator[Agreeing]:
    if trees := sources.trees(source, folder=folder_of):
        for tree in trees:
            yield from agreeing_words_of_tree(tree)
        return
    for _, words in sources.read_words(source, folder=folder_of):
        yield from agreeing_words_of_text(words, lexicon)


def write_suite(made: Iterable[Made], folder: Path) -> pd.DataFrame:
    """Write a file for each construction, and the table of all pairs in the order of the files."""
    by_construction = defaultdict(list)
    for pair in made:
        by_construction[pair.pair.construction].append(pair)
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in sorted(by_construction):
        lines = [f"True\t{m.pair.good}\nFalse\t{m.pair.bad}\n" for m in by_construction[name]]
        write_whole(folder / f"{name}.txt", "".join(lines).encode())
        rows += [(name, m.distance, m.attractors, m.trigger) for m in by_construction[name]]
    table = pd.DataFrame(rows, columns=["construction", "distance", "attractors", "trigger"])
    write_table(table, folder / TABLE)
    return table


# Texts

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
    """Yield every agreement of a sentence that is beyond doubt."""
    words = list(words)
    lowered = [word.lower() for word in words]
    for position, word in enumerate(lowered[:-1]):
        if word in SUBJECTS:
            yield from _verb_of_pronoun(words, lowered, position, lexicon)
        noun = _only(lexicon, lowered[position + 1], "NOUN")
        determiners = [a for a in lexicon.analyses(word) if a.upos == "DET"]
        if noun and determiners:
            number = _shared(determiners, "Number")
            if number and number == noun.get("Number"):
                yield Agreeing(
                    *("determiner_noun", words, position + 1, "NOUN", noun, "Number"), position, []
                )
            yield from _adjective_of_noun(words, lowered, position, noun, lexicon)
    yield from participles_of_text(words, lowered, lexicon)
    yield from subjunctives_of_text(words, lowered, lexicon)


def _only(lexicon: Lexicon, word: str, upos: str) -> dict[str, str]:
    """Return the features that all readings share, if all are of this part of speech."""
    readings = lexicon.analyses(word)
    if not readings or any(reading.upos != upos for reading in readings):
        return {}
    values = {name: _shared(readings, name) for name in ("Number", "Gender")}
    return {name: value for name, value in values.items() if value}


def _shared(readings: Sequence[Analysis], name: str) -> str | None:
    """Return the value of a feature that all readings have, or None."""
    values = {reading.features.get(name) for reading in readings}
    return values.pop() if len(values) == 1 else None


def _may_be_preposition(lexicon: Lexicon, words: Iterable[str]) -> bool:
    return any(reading.upos == "ADP" for word in words for reading in lexicon.analyses(word))


def _verb_of_pronoun(
    words: list[str], lowered: list[str], position: int, lexicon: Lexicon
) -> Iterator[Agreeing]:
    verb = _after_clitics(lowered, position + 1)
    readings = lexicon.analyses(lowered[verb]) if verb < len(words) else ()
    if readings and all(r.upos in ("VERB", "AUX") for r in readings):
        known = {**SUBJECTS[lowered[position]], "VerbForm": "Fin"}
        for feature in ("Number", "Person"):
            yield Agreeing("subject_verb", words, verb, "VERB", known, feature, position, [])


def _after_clitics(lowered: Sequence[str], position: int) -> int:
    """Return the first position from this one on that is no clitic."""
    while position < len(lowered) and lowered[position] in CLITICS:
        position += 1
    return position


def _adjective_of_noun(
    words: list[str], lowered: list[str], determiner: int, noun: dict[str, str], lexicon: Lexicon
) -> Iterator[Agreeing]:
    """Yield the adjective behind a noun; behind a preposition an earlier noun might claim it."""
    position = determiner + 2
    before = lowered[max(determiner - 1, 0) : determiner + 1]  # `du` is preposition and determiner
    if position == len(words) or _may_be_preposition(lexicon, before):
        return
    known = _only(lexicon, lowered[position], "ADJ")
    for feature in ("Number", "Gender"):
        if known.get(feature) and known[feature] == noun.get(feature):
            yield Agreeing(
                *("noun_adjective", words, position, "ADJ", known, feature), position - 1, []
            )


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
# They agree seldom or never: with an infinitive, a measure, or no doer (il a fait chaud).
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
    """Yield every participle of a sentence that agrees with an object before it."""
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
                yield Agreeing(
                    *("participle_object", words, participle, "VERB", {**known, **PARTICIPLE}),
                    *(feature, controller, between),
                )


def _is_plain_participle(lowered: Sequence[str], position: int, lexicon: Lexicon) -> bool:
    """Return whether this is a participle that no infinitive follows: j'ai entendu jouer."""
    clitics = next((n for n, w in enumerate(lowered[position + 1 :]) if w not in CLITICS), 0)
    follow = lowered[position + 1 + clitics : position + 3 + clitics]
    behind = [lexicon.analyses(word) for word in (*lowered[position : position + 1], *follow)]
    if not behind or not any(PARTICIPLE.items() <= r.features.items() for r in behind[0]):
        return False
    lemmas = {reading.lemma for reading in behind[0]}
    if lowered[position] in SELDOM or lemmas & {"faire", "laisser", "coûter", "valoir"}:
        return False
    infinitives = [
        any(r.features.get("VerbForm") == "Inf" for r in readings) for readings in behind[1:]
    ]
    is_before = follow[:1] in (["à"], ["de"], ["d'"])
    return not any(infinitives[: 2 if is_before else 1])


Controller = tuple[int, dict[str, str], list[dict[str, str]]]  # position, features, those between


def _clitic_object(lowered: Sequence[str], have: int) -> Controller | None:
    """Find `les` or `la lui` before a form of avoir and behind its subject: ils les ont."""
    position = have - 1
    if position > 0 and lowered[position] in ("lui", "leur", "y"):
        position -= 1
    known = {
        "les": {"Number": "Plur"},
        "la": {"Number": "Sing", "Gender": "Fem"},
    }.get(lowered[position] if position > 0 else "")
    subject = position - 1
    while subject > 0 and lowered[subject] in ("ne", "n'", "me", "te", "nous", "vous"):
        if lowered[subject] in ("nous", "vous") and lowered[subject - 1] not in AFTER_QUE:
            break  # it is the subject
        subject -= 1
    if known is None or subject < 0 or lowered[subject] not in AFTER_QUE:
        return None
    return position, known, []


def _relative_object(lowered: Sequence[str], have: int, lexicon: Lexicon) -> Controller | None:
    """Find a noun, `que`, a pronoun that is the subject, then avoir: les échecs qu'ils ont."""
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
    has_determiner = any(reading.upos == "DET" for reading in lexicon.analyses(lowered[determiner]))
    before = lowered[max(determiner - 1, 0) : determiner + 1]
    if not has_determiner or lowered[noun] in TIMES or _may_be_preposition(lexicon, before):
        return None
    known = _only(lexicon, lowered[noun], "NOUN")
    return (noun, known, [AFTER_QUE[lowered[subject]]]) if known else None


# Triggers of a subjunctive, before its `que`. Left out are those that the indicative may follow as
# well (de sorte que, le fait que), and those that are often something else (encore que, tel que).
TRIGGERS = """
    bien, avant, pour, afin, pourvu, sans, à moins, de peur, de crainte, à condition, en attendant,
    jusqu' à ce, il se peut, il est possible, il est temps, il est nécessaire, il vaut mieux,
    il est important, il est juste
"""
BEFORE_QUE = [tuple(trigger.split()) for trigger in TRIGGERS.split(",")]
IN_ONE_WORD = {"quoique": "quoique", "quoiqu'": "quoique"}
MUST = {"faut", "fallait", "faudra", "faudrait", "fallut"}
AFTER_MUST = {"pas", "donc", "bien", "aussi", "toujours", "plus"}
FARTHEST = 8  # words between `que` and the verb in a text
# Behind these another clause may have begun.
BORDERS = {*QUE, "qui", "dont", "où", "si", "et", "ou", "mais", "de", "d'", "comme", "quand"}


def trigger(lowered: Sequence[str], que: int) -> str | None:
    """Return the trigger of a subjunctive that ends with the `que` or `quoique` at a position."""
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
    """Yield every subjunctive behind a trigger, if no indicative has its form."""
    for que in range(len(words)):
        asks = trigger(lowered, que)
        if asks == "bien que" and que > 1 and _finite(lexicon, lowered[que - 2]):
            continue  # vous comprendrez bien que j'aie pu, or j'ai pu
        verb = _verb_after(lowered, que, lexicon) if asks else None
        if asks and verb is not None:
            subject = AFTER_QUE.get(lowered[_subject(lowered, que)], {"Person": "3"})
            known = {name: subject[name] for name in ("Person", "Number") if name in subject}
            known |= {"Mood": "Sub", "VerbForm": "Fin"}
            readings = [r for r in _finite(lexicon, lowered[verb]) if agrees(r, known)]
            name = _subjunctive(_shared(readings, "Tense"))
            yield Agreeing(name, words, verb, "VERB", known, "Mood", que, [], asks)


def _subjunctive(tense: str | None) -> str:
    """Name the construction; few texts of today have the imperfect, and novels little else."""
    return "subjunctive_imperfect" if tense == "Imp" else "subjunctive"


def _subject(lowered: Sequence[str], que: int) -> int:
    """Return the position of the subject, if it is a pronoun: l'on is *on*."""
    is_elided = [*lowered[que + 1 : que + 3]] == ["l'", "on"]
    return que + 2 if is_elided else min(que + 1, len(lowered) - 1)


def _verb_after(lowered: Sequence[str], que: int, lexicon: Lexicon) -> int | None:
    """Return the position of the first finite verb, if it can only be a subjunctive."""
    subject = _subject(lowered, que)
    if lowered[subject] in AFTER_QUE:
        verb = _after_clitics(lowered, subject + 1)
        return verb if verb < len(lowered) and _is_subjunctive(lexicon, lowered[verb]) else None
    for position in range(que + 1, min(que + 2 + FARTHEST, len(lowered))):
        word = lowered[position]
        if _is_subjunctive(lexicon, word):
            return position
        if _finite(lexicon, word) or word in BORDERS or word in AFTER_QUE or not word[0].isalpha():
            return None
    return None


def _is_subjunctive(lexicon: Lexicon, word: str) -> bool:
    moods = {reading.features.get("Mood") for reading in _finite(lexicon, word)}
    return "Sub" in moods and "Ind" not in moods


def _finite(lexicon: Lexicon, word: str) -> list[Analysis]:
    return [r for r in lexicon.analyses(word) if r.features.get("VerbForm") == "Fin"]


# Trees

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
        self.position = {token.id: i for i, (token, kind) in enumerate(surface) if kind == "word"}
        self.by_id = {token.id: token for token in tree.tokens}
        self.below: dict[str, list[Token]] = {}
        for token in tree.tokens:
            self.below.setdefault(token.head, []).append(token)

    def dependants(self, token: Token, *relations: str) -> list[Token]:
        return [child for child in self.below.get(token.id, ()) if relation(child) in relations]

    def nouns_between(self, one: int, other: int) -> list[Token]:
        between = self.tokens[min(one, other) + 1 : max(one, other)]
        return [token for token in between if token.upos in NOMINAL]

    def is_before(self, one: Token, other: Token) -> bool:
        positions = [self.position.get(token.id) for token in (one, other)]
        return None not in positions and positions[0] < positions[1]

    def agreeing(
        self, construction: str, names: Sequence[str], controller: Token | None, target: Token
    ) -> Iterator[Agreeing]:
        """Yield the features that two words are known to share."""
        if controller is None or not {controller.id, target.id} <= self.position.keys():
            return
        decides, known = features(controller.feats), features(target.feats)
        if controller.upos in ("NOUN", "PROPN"):
            decides["Person"] = "3"
        one, other = self.position[controller.id], self.position[target.id]
        nouns = [features(noun.feats) for noun in self.nouns_between(one, other)]
        for name in names:
            if name in decides and decides[name] == known.get(name):
                yield Agreeing(
                    construction, self.forms, other, target.upos, known, name, one, nouns
                )


def relation(token: Token) -> str:
    """Return the relation of a token to its head, as release 2 of UD calls it."""
    name = token.deprel.partition(":")[0]
    return RELATIONS.get(name, name)


def agreeing_words_of_tree(tree: Tree) -> Iterator[Agreeing]:
    """Yield every agreement of a tree."""
    words = TreeWords(tree)
    for token in words.tokens:
        if token.upos == "NOUN":
            yield from _with_noun(words, token)
        if features(token.feats).get("VerbForm") == "Part":
            yield from _with_participle(words, token)
        yield from _with_subject(words, token)
        yield from _subjunctive_of_tree(words, token)


def _with_noun(words: TreeWords, noun: Token) -> Iterator[Agreeing]:
    for determiner in words.dependants(noun, "det"):
        yield from words.agreeing("determiner_noun", ["Number"], determiner, noun)
        yield from words.agreeing("determiner_noun", ["Gender"], noun, determiner)
    for adjective in words.dependants(noun, "amod"):
        if adjective.upos == "ADJ" and words.is_before(noun, adjective):
            positions = words.position[noun.id], words.position[adjective.id]
            if not words.nouns_between(*positions):
                yield from words.agreeing("noun_adjective", ["Number", "Gender"], noun, adjective)


def _with_subject(words: TreeWords, predicate: Token) -> Iterator[Agreeing]:
    """Yield the first finite verb, which agrees with a subject before it."""
    verbs = [*words.dependants(predicate, "aux", "cop"), predicate]
    finite = [verb for verb in verbs if features(verb.feats).get("VerbForm") == "Fin"]
    for subject in words.dependants(predicate, "nsubj"):
        controller = _controller(words, subject, predicate)
        for verb in finite[:1]:
            if words.is_before(subject, verb) and not _either_number(controller):
                yield from words.agreeing("subject_verb", ["Number", "Person"], controller, verb)


def _with_participle(words: TreeWords, participle: Token) -> Iterator[Agreeing]:
    """Yield a participle: with être it agrees with the subject, with avoir an object before it."""
    helpers = words.dependants(participle, "aux")
    if not helpers or any("Reflex=Yes" in t.feats for t in words.below.get(participle.id, ())):
        return
    auxiliary = helpers[-1].lemma
    role, name = {
        "être": ("nsubj", "participle_etre"),
        "avoir": ("obj", "participle_object"),
    }.get(auxiliary, (None, ""))
    for word in words.dependants(participle, role) if role else ():
        controller = _controller(words, word, participle)
        is_third = controller and features(controller.feats).get("Person", "3") == "3"
        is_clear = is_third and not _either_number(controller)
        is_object = auxiliary == "être" or word.upos == "PRON"
        if is_clear and is_object and words.is_before(word, participle):
            yield from words.agreeing(name, ["Number", "Gender"], controller, participle)


def _controller(words: TreeWords, token: Token, verb: Token) -> Token | None:
    """Return the antecedent of a relative pronoun, if beyond doubt; any other word itself."""
    if "PronType=Rel" not in token.feats.split("|"):
        return token
    head = words.by_id.get(verb.head)
    if head is None or relation(verb) != "acl" or not {head.id, token.id} <= words.position.keys():
        return None
    doubtful = words.nouns_between(words.position[head.id], words.position[token.id])
    return None if doubtful else head


def _either_number(token: Token | None) -> bool:
    return token is not None and token.lemma in EITHER_NUMBER


def _subjunctive_of_tree(words: TreeWords, verb: Token) -> Iterator[Agreeing]:
    """Yield a verb in the subjunctive whose clause a trigger introduces."""
    known = features(verb.feats)
    if known.get("Mood") != "Sub" or verb.id not in words.position:
        return
    clause = words.by_id.get(verb.head) if relation(verb) in ("aux", "cop") else verb
    if clause is None:
        return
    marks = words.dependants(clause, "mark")
    marks += [word for mark in marks for word in words.dependants(mark, "fixed", "mwe")]
    lowered = [form.lower() for form in words.forms]
    position = words.position[verb.id]
    positions = (words.position[m.id] for m in marks if m.id in words.position)
    for que in sorted(positions, reverse=True):
        if que < position and (asks := trigger(lowered, que)):
            between = [features(token.feats) for token in words.tokens[que + 1 : position]]
            name = _subjunctive(known.get("Tense"))
            yield Agreeing(
                *(name, words.forms, position, verb.upos, known, "Mood", que, between, asks)
            )
            return
