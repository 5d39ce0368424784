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

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter
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
from accord.pipeline.model.suites import TABLE

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
    between: Sequence[Mapping[str, str]] = ()
    trigger: str = NO_TRIGGER


# Attractors are nouns and pronouns that would agree with the wrong word, or verbs in a wrong mood.
COLUMNS = ("construction", "good", "bad", "distance", "attractors", "trigger")


def broken(agreeing: Agreeing, paradigms: Paradigms) -> tuple[str, str, str, int, int, str] | None:
    """Return a row of COLUMNS if the lexicon knows exactly one form that breaks the sentence."""
    construction, words, position, upos, known, feature, controller, between, trigger = agreeing
    value = OTHER[feature].get(known[feature])
    flipped = value and paradigms.flip(words[position], upos, known, feature, value)
    if not flipped or any(" " in word for word in words):
        return None
    wrong = [*words[:position], flipped, *words[position + 1 :]]
    name, distance = f"{construction}_{feature.lower()}", abs(position - controller) - 1
    attractors = sum(noun.get(feature) == value for noun in between)
    return name, " ".join(words), " ".join(wrong), distance, attractors, trigger


def make_suite(source: str, lexicon: Lexicon, folder: Path) -> pd.DataFrame:
    """Write the suite of a treebank or a text: a file for each construction, and the table.

    Return the table of all pairs, in the order of the files.
    """
    if folder.exists() and any(folder.iterdir()):
        raise AccordError(
            f"{folder} is not empty: expected a new folder, as its other files would be read as a "
            f"part of the suite"
        )
    sentences: Iterator[TreeWords | TextWords]
    if trees := sources.trees(source, folder=folder_of):
        sentences = map(TreeWords, trees)
    else:
        read = sources.read_words(source, folder=folder_of)
        sentences = (TextWords(words, lexicon) for _, words in read)
    paradigms = Paradigms(lexicon)
    rows = (broken(pair, paradigms) for sentence in sentences for pair in sentence.agreeing())
    made = sorted(dict.fromkeys(filter(None, rows)), key=itemgetter(0))
    if not made:
        raise AccordError(
            f"{source}: found no agreement to break; expected trees with heads and features, or "
            f"sentences whose words the lexicon knows"
        )
    folder.mkdir(parents=True, exist_ok=True)
    table = pd.DataFrame(made, columns=COLUMNS)
    for name, pairs in table.groupby("construction", sort=False):
        text = "True\t" + pairs["good"] + "\nFalse\t" + pairs["bad"] + "\n"
        write_whole(folder / f"{name}.txt", "".join(text).encode())
    table = table.drop(columns=["good", "bad"])
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
CLITICS = {
    *("ne", "n'", "me", "m'", "te", "t'", "se", "s'", "le", "la", "les", "l'", "lui", "leur"),
    *("y", "en", "nous", "vous"),
}
QUE = ("que", "qu'")

FORMS_OF_HAVE = """
    ai as a avons avez ont avais avait avions aviez avaient aurai auras aura aurons aurez auront
    aurais aurait aurions auriez auraient eus eut eûmes eûtes eurent aie aies ait ayons ayez aient
    eusse eusses eût eussions eussiez eussent
"""
HAVE = set(FORMS_OF_HAVE.split())
BEFORE_PARTICIPLE = {"pas", "jamais", "plus", "point", "bien", "déjà", "toujours", "encore", "tant"}
INDIRECT = {"ne", "n'", "me", "m'", "te", "t'", "nous", "vous", "lui", "leur", "y"}
# They agree seldom or never: with an infinitive, a measure, or no doer (il a fait chaud).
SELDOM = {"fait", "laissé", "pu", "dû", "voulu", "eu", "été", "fallu", "coûté", "valu", "duré"}
SELDOM_LEMMAS = {"faire", "laisser", "coûter", "valoir"}
# Behind these `que` is no object: il y a un an que je vous ai guéri, la fois que je t'ai vue.
TIMES = {
    *("an", "ans", "année", "années", "mois", "semaine", "semaines", "jour", "jours", "nuit"),
    *("heure", "heures", "minute", "minutes", "instant", "instants", "moment", "moments", "fois"),
    *("temps", "siècle", "siècles", "soir", "matin", "façon", "manière", "dommage"),
}
PARTICIPLE = {"VerbForm": "Part", "Tense": "Past"}
OBJECTS = {"les": {"Number": "Plur"}, "la": {"Number": "Sing", "Gender": "Fem"}}
Controller = tuple[int, dict[str, str], list[dict[str, str]]]  # position, features, those between

# Triggers of a subjunctive, before its `que`. Left out are those that the indicative may follow as
# well (de sorte que, le fait que), and those that are often something else (encore que, tel que).
TRIGGERS = """
    bien, avant, pour, afin, pourvu, sans, à moins, de peur, de crainte, à condition, en attendant,
    jusqu' à ce, il se peut, il est possible, il est temps, il est nécessaire, il vaut mieux,
    il est important, il est juste
"""
BEFORE_QUE = [tuple(trigger.split()) for trigger in TRIGGERS.split(",")]
IN_ONE_WORD = ("quoique", "quoiqu'")
MUST = {"faut", "fallait", "faudra", "faudrait", "fallut"}
AFTER_MUST = {"pas", "donc", "bien", "aussi", "toujours", "plus"}
FARTHEST = 8  # words between `que` and the verb in a text
# Behind these another clause may have begun.
BORDERS = {*QUE, "qui", "dont", "où", "si", "et", "ou", "mais", "de", "d'", "comme", "quand"}


class TextWords:
    """A sentence of a text, and the readings of its words in small letters."""

    def __init__(self, words: Sequence[str], lexicon: Lexicon):
        self.words = list(words)
        self.lowered = [word.lower() for word in words]
        self.readings = [lexicon.analyses(word) for word in self.lowered]

    def agreeing(self) -> Iterator[Agreeing]:
        """Yield every agreement that is beyond doubt."""
        for position, word in enumerate(self.lowered[:-1]):
            if word in SUBJECTS:
                yield from self.verb_of_pronoun(position)
            noun = self.only(position + 1, "NOUN")
            determiners = [a for a in self.readings[position] if a.upos == "DET"]
            if noun and determiners:
                if noun.get("Number", "") == _shared(determiners, "Number"):
                    pair = "determiner_noun", self.words, position + 1, "NOUN", noun, "Number"
                    yield Agreeing(*pair, position)
                yield from self.adjective_of_noun(position, noun)
        yield from self.participles()
        yield from self.subjunctives()

    def only(self, position: int, upos: str) -> dict[str, str]:
        """Return the features that all readings share, if all are of this part of speech."""
        readings = self.readings[position]
        if any(reading.upos != upos for reading in readings):
            return {}
        values = {name: _shared(readings, name) for name in ("Number", "Gender")}
        return {name: value for name, value in values.items() if value}

    def verb_of_pronoun(self, position: int) -> Iterator[Agreeing]:
        verb = self.after_clitics(position + 1)
        readings = self.readings[verb] if verb < len(self.words) else ()
        if readings and all(reading.upos in ("VERB", "AUX") for reading in readings):
            known = {**SUBJECTS[self.lowered[position]], "VerbForm": "Fin"}
            for feature in ("Number", "Person"):
                yield Agreeing("subject_verb", self.words, verb, "VERB", known, feature, position)

    def after_clitics(self, position: int) -> int:
        """Return the first position from this one on that is no clitic."""
        while position < len(self.lowered) and self.lowered[position] in CLITICS:
            position += 1
        return position

    def adjective_of_noun(self, determiner: int, noun: dict[str, str]) -> Iterator[Agreeing]:
        """Yield the adjective of a noun; behind a preposition an earlier noun might claim it."""
        position = determiner + 2
        if position == len(self.words) or self.may_be_behind_preposition(determiner):
            return
        known = self.only(position, "ADJ")
        for feature in ("Number", "Gender"):
            if known.get(feature) and known[feature] == noun.get(feature):
                pair = "noun_adjective", self.words, position, "ADJ", known, feature
                yield Agreeing(*pair, position - 1)

    def may_be_behind_preposition(self, determiner: int) -> bool:
        readings = self.readings[max(determiner - 1, 0) : determiner + 1]  # `du` is both
        return any(reading.upos == "ADP" for reading in chain.from_iterable(readings))

    def participles(self) -> Iterator[Agreeing]:
        """Yield every participle that agrees with an object before it."""
        for have in (place for place, word in enumerate(self.lowered) if word in HAVE):
            position = have + 1
            while position < len(self.words) and self.lowered[position] in BEFORE_PARTICIPLE:
                position += 1
            if self.is_plain_participle(position) and (
                pair := self.clitic_object(have) or self.relative_object(have)
            ):
                controller, known, between = pair
                participle = "participle_object", self.words, position, "VERB", known | PARTICIPLE
                for feature in ("Number", "Gender"):
                    if feature in known:
                        yield Agreeing(*participle, feature, controller, between)

    def is_plain_participle(self, position: int) -> bool:
        """Return whether this is a participle that no infinitive follows: j'ai entendu jouer."""
        if position == len(self.words) or self.lowered[position] in SELDOM:
            return False
        readings = self.readings[position]
        is_participle = any(PARTICIPLE.items() <= r.features.items() for r in readings)
        if not is_participle or any(r.lemma in SELDOM_LEMMAS for r in readings):
            return False
        behind = self.after_clitics(position + 1)
        reach = 2 if self.lowered[behind : behind + 1] in (["à"], ["de"], ["d'"]) else 1
        following = chain.from_iterable(self.readings[behind : behind + reach])
        return not any(reading.features.get("VerbForm") == "Inf" for reading in following)

    def clitic_object(self, have: int) -> Controller | None:
        """Find `les` or `la lui` before a form of avoir and behind its subject: ils les ont."""
        lowered, position = self.lowered, have - 1
        if position > 0 and lowered[position] in ("lui", "leur", "y"):
            position -= 1
        known = OBJECTS.get(lowered[position]) if position > 0 else None
        subject = position - 1
        while subject > 0 and lowered[subject] in ("ne", "n'", "me", "te", "nous", "vous"):
            if lowered[subject] in ("nous", "vous") and lowered[subject - 1] not in AFTER_QUE:
                break  # it is the subject
            subject -= 1
        is_clear = known and subject >= 0 and lowered[subject] in AFTER_QUE
        return (position, known, []) if is_clear else None

    def relative_object(self, have: int) -> Controller | None:
        """Find a noun, `que`, a pronoun that is the subject, then avoir: les échecs qu'ils ont."""
        lowered, subject = self.lowered, have - 1
        while subject > 0 and lowered[subject] in INDIRECT and lowered[subject - 1] not in QUE:
            subject -= 1
        que = subject - 1
        if subject > 1 and lowered[subject] == "on" and lowered[que] == "l'":
            que -= 1
        noun = que - 1
        if noun < 1 or lowered[subject] not in AFTER_QUE or lowered[que] not in QUE:
            return None
        has_determiner = any(reading.upos == "DET" for reading in self.readings[noun - 1])
        if not has_determiner or lowered[noun] in TIMES or self.may_be_behind_preposition(noun - 1):
            return None
        known = self.only(noun, "NOUN")
        return (noun, known, [AFTER_QUE[lowered[subject]]]) if known else None

    def subjunctives(self) -> Iterator[Agreeing]:
        """Yield every subjunctive behind a trigger, if no indicative has its form."""
        for que in range(len(self.words)):
            asks = trigger(self.lowered, que)
            if asks == "bien que" and que > 1 and self.finite(que - 2):
                continue  # vous comprendrez bien que j'aie pu, or j'ai pu
            verb = self.verb_after(que) if asks else None
            if verb is not None:
                subject = AFTER_QUE.get(self.lowered[self.subject_after(que)], {"Person": "3"})
                known = {name: subject[name] for name in ("Person", "Number") if name in subject}
                known |= {"Mood": "Sub", "VerbForm": "Fin"}
                readings = [reading for reading in self.finite(verb) if agrees(reading, known)]
                name = _subjunctive(_shared(readings, "Tense"))
                yield Agreeing(name, self.words, verb, "VERB", known, "Mood", que, (), asks)

    def subject_after(self, que: int) -> int:
        """Return the position of the subject, if it is a pronoun: l'on is *on*."""
        is_elided = self.lowered[que + 1 : que + 3] == ["l'", "on"]
        return que + 2 if is_elided else min(que + 1, len(self.lowered) - 1)

    def verb_after(self, que: int) -> int | None:
        """Return the position of the first finite verb, if it can only be a subjunctive."""
        subject = self.subject_after(que)
        if self.lowered[subject] in AFTER_QUE:
            verb = self.after_clitics(subject + 1)
            return verb if verb < len(self.lowered) and self.is_subjunctive(verb) else None
        for position in range(que + 1, min(que + 2 + FARTHEST, len(self.lowered))):
            word = self.lowered[position]
            if self.is_subjunctive(position):
                return position
            is_border = word in BORDERS or word in AFTER_QUE or not word[0].isalpha()
            if is_border or self.finite(position):
                return None
        return None

    def is_subjunctive(self, position: int) -> bool:
        moods = {reading.features.get("Mood") for reading in self.finite(position)}
        return "Sub" in moods and "Ind" not in moods

    def finite(self, position: int) -> list[Analysis]:
        """Return the readings of a word as a finite verb."""
        return [r for r in self.readings[position] if r.features.get("VerbForm") == "Fin"]


def _shared(readings: Sequence[Analysis], name: str) -> str | None:
    """Return the value of a feature that all readings have, or None."""
    values = {reading.features.get(name) for reading in readings}
    return values.pop() if len(values) == 1 else None


def trigger(lowered: Sequence[str], que: int) -> str | None:
    """Return the trigger of a subjunctive that ends with the `que` or `quoique` at a position."""
    if lowered[que] in IN_ONE_WORD:
        return IN_ONE_WORD[0]
    if lowered[que] not in QUE:
        return None
    for words in BEFORE_QUE:
        if tuple(lowered[max(que - len(words), 0) : que]) == words:
            return " ".join((*words, "que")).replace("' ", "'")
    must = que - 2 if lowered[que - 1] in AFTER_MUST else que - 1
    return "il faut que" if must > 0 and lowered[must] in MUST else None


def _subjunctive(tense: str | None) -> str:
    """Name the construction; few texts of today have the imperfect, and novels little else."""
    return "subjunctive_imperfect" if tense == "Imp" else "subjunctive"


# Trees

RELATIONS = {"nsubjpass": "nsubj", "auxpass": "aux", "dobj": "obj"}  # of release 1 -> of release 2
NOMINAL = {"NOUN", "PROPN", "PRON"}
# Auxiliary → the relation of the word that decides, and the construction.
ROLES = {"être": ("nsubj", "participle_etre"), "avoir": ("obj", "participle_object")}
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

    def nouns_between(self, one: Token, other: Token) -> list[Token]:
        first, last = sorted(self.position[token.id] for token in (one, other))
        return [token for token in self.tokens[first + 1 : last] if token.upos in NOMINAL]

    def is_before(self, one: Token, other: Token) -> bool:
        positions = [self.position.get(token.id) for token in (one, other)]
        return None not in positions and positions[0] < positions[1]

    def agreeing(self) -> Iterator[Agreeing]:
        """Yield every agreement of the tree."""
        for token in self.tokens:
            if token.upos == "NOUN":
                yield from self.with_noun(token)
            if features(token.feats).get("VerbForm") == "Part":
                yield from self.with_participle(token)
            yield from self.with_subject(token)
            yield from self.subjunctive(token)

    def shared(
        self, construction: str, names: Sequence[str], controller: Token | None, target: Token
    ) -> Iterator[Agreeing]:
        """Yield the features that two words are known to share."""
        if controller is None or not {controller.id, target.id} <= self.position.keys():
            return
        decides, known = features(controller.feats), features(target.feats)
        if controller.upos in ("NOUN", "PROPN"):
            decides["Person"] = "3"
        nouns = [features(noun.feats) for noun in self.nouns_between(controller, target)]
        for name in names:
            if name in decides and decides[name] == known.get(name):
                pair = construction, self.forms, self.position[target.id], target.upos, known, name
                yield Agreeing(*pair, self.position[controller.id], nouns)

    def with_noun(self, noun: Token) -> Iterator[Agreeing]:
        for determiner in self.dependants(noun, "det"):
            yield from self.shared("determiner_noun", ["Number"], determiner, noun)
            yield from self.shared("determiner_noun", ["Gender"], noun, determiner)
        for adjective in self.dependants(noun, "amod"):
            is_behind = adjective.upos == "ADJ" and self.is_before(noun, adjective)
            if is_behind and not self.nouns_between(noun, adjective):
                yield from self.shared("noun_adjective", ["Number", "Gender"], noun, adjective)

    def with_subject(self, predicate: Token) -> Iterator[Agreeing]:
        """Yield the first finite verb, which agrees with a subject before it."""
        verbs = [*self.dependants(predicate, "aux", "cop"), predicate]
        finite = [verb for verb in verbs if features(verb.feats).get("VerbForm") == "Fin"]
        for subject in self.dependants(predicate, "nsubj") if finite else ():
            controller = self.controller(subject, predicate)
            if self.is_before(subject, finite[0]) and not _either_number(controller):
                yield from self.shared("subject_verb", ["Number", "Person"], controller, finite[0])

    def with_participle(self, participle: Token) -> Iterator[Agreeing]:
        """Yield a participle that agrees with the subject of être or an earlier object of avoir."""
        helpers = self.dependants(participle, "aux")
        below = self.below.get(participle.id, ())
        if not helpers or any("Reflex=Yes" in token.feats for token in below):
            return
        role, name = ROLES.get(helpers[-1].lemma, (None, ""))
        for word in self.dependants(participle, role):
            controller = self.controller(word, participle)
            is_third = controller and features(controller.feats).get("Person", "3") == "3"
            is_clear = is_third and not _either_number(controller)
            is_object = role == "nsubj" or word.upos == "PRON"
            if is_clear and is_object and self.is_before(word, participle):
                yield from self.shared(name, ["Number", "Gender"], controller, participle)

    def controller(self, token: Token, verb: Token) -> Token | None:
        """Return the antecedent of a relative pronoun, if beyond doubt; any other word itself."""
        if "PronType=Rel" not in token.feats.split("|"):
            return token
        head = self.by_id.get(verb.head)
        is_relative = head is not None and relation(verb) == "acl"
        is_read = is_relative and {head.id, token.id} <= self.position.keys()
        return head if is_read and not self.nouns_between(head, token) else None

    def subjunctive(self, verb: Token) -> Iterator[Agreeing]:
        """Yield a verb in the subjunctive whose clause a trigger introduces."""
        known, position = features(verb.feats), self.position.get(verb.id)
        clause = self.by_id.get(verb.head) if relation(verb) in ("aux", "cop") else verb
        if known.get("Mood") != "Sub" or position is None or clause is None:
            return
        marks = self.dependants(clause, "mark")
        marks += [word for mark in marks for word in self.dependants(mark, "fixed", "mwe")]
        lowered = [form.lower() for form in self.forms]
        for que in sorted((self.position.get(mark.id, -1) for mark in marks), reverse=True):
            if 0 <= que < position and (asks := trigger(lowered, que)):
                between = [features(token.feats) for token in self.tokens[que + 1 : position]]
                pair = _subjunctive(known.get("Tense")), self.forms, position, verb.upos, known
                yield Agreeing(*pair, "Mood", que, between, asks)
                return


def relation(token: Token) -> str:
    """Return the relation of a token to its head, as release 2 of UD calls it."""
    name = token.deprel.partition(":")[0]
    return RELATIONS.get(name, name)


def _either_number(token: Token | None) -> bool:
    return token is not None and token.lemma in EITHER_NUMBER
