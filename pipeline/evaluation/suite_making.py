"""Suites made of treebanks and texts.

Of a text: a pronoun that can only be a subject and the verb behind it and its clitics; a determiner
and a word that can only be a noun; such a noun and a word behind it that can only be an adjective;
a participle after its object; a subjunctive after what asks for one.

Cases are left out in which a flipped word might still be right: collective subjects, relative
pronouns and adjectives that another noun might claim, the *vous* that may be one person.

Beside the files in CLAMS's form stands `pairs.csv`, a row for each pair in the order in which the
suite is read: its construction, the distance of the two words that agree, the attractors, and the
trigger of a subjunctive.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pandas as pd

from accord.corpora import sources
from accord.corpora.sentence import Token, Tree, features
from accord.errors import AccordError
from accord.lexicon import Lexicon
from accord.lexicon.analysis import Paradigms
from accord.models.common.files import write_whole
from accord.pipeline.base.tables import write_table
from accord.pipeline.data.catalogue import folder_of
from accord.pipeline.evaluation.participles_and_moods import (
    CLITICS,
    SUBJECTS,
    Agreeing,
    Made,
    TreeWords,
    broken,
    may_be_preposition,
    only,
    participles_of_text,
    relation,
    shared,
    subjunctive_of_tree,
    subjunctives_of_text,
)
from accord.pipeline.evaluation.suites import TABLE


def agreeing_words_of_text(words: Sequence[str], lexicon: Lexicon) -> Iterator[Agreeing]:
    """Every agreement of a sentence that is beyond doubt."""
    words = list(words)
    lowered = [word.lower() for word in words]
    for place, word in enumerate(lowered[:-1]):
        if word in SUBJECTS:
            yield from _with_pronoun(words, lowered, place, lexicon)
        noun = only(lexicon, lowered[place + 1], "NOUN")
        determiners = [a for a in lexicon.analyses(word) if a.upos == "DET"]
        if noun and determiners:
            number = shared(determiners, "Number")
            if number and number == noun.get("Number"):
                yield Agreeing(
                    "determiner_noun", words, place + 1, "NOUN", noun, "Number", place, []
                )
            yield from _with_adjective(words, lowered, place, noun, lexicon)
    yield from participles_of_text(words, lowered, lexicon)
    yield from subjunctives_of_text(words, lowered, lexicon)


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
    if behind == len(words) or any(may_be_preposition(lexicon, word) for word in before):
        return
    adjective = only(lexicon, lowered[behind], "ADJ")
    for feature in ("Number", "Gender"):
        if adjective and adjective.get(feature) and adjective[feature] == noun.get(feature):
            yield Agreeing(
                "noun_adjective", words, behind, "ADJ", adjective, feature, behind - 1, []
            )


# Singular and plural are both right with these: la moitié dort, la moitié dorment; c'est eux.
EITHER_NUMBER = {
    *("ce", "un", "on", "plupart", "majorité", "minorité", "moitié", "tiers", "quart", "partie"),
    *("reste", "nombre", "foule", "ensemble", "groupe", "série", "multitude", "quantité"),
    *("totalité", "infinité", "dizaine", "douzaine", "quinzaine", "vingtaine", "trentaine"),
    *("cinquantaine", "centaine", "millier", "million", "milliard"),
}


def agreeing_words_of_tree(tree: Tree) -> Iterator[Agreeing]:
    """Every agreement of a tree."""
    words = TreeWords(tree)
    for token in words.tokens:
        if token.upos == "NOUN":
            yield from _with_noun(words, token)
        if features(token.feats).get("VerbForm") == "Part":
            yield from _with_participle(words, token)
        yield from _with_subject(words, token)
        yield from subjunctive_of_tree(words, token)


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
    role = {"être": "nsubj", "avoir": "obj"}.get(auxiliary)
    name = {"être": "participle_etre", "avoir": "participle_object"}.get(auxiliary)
    for word in words.dependants(participle, role) if role else ():
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
    """The antecedent of a relative pronoun, if it is beyond doubt; any other word itself."""
    if "PronType=Rel" not in token.feats.split("|"):
        return token
    head = words.by_id.get(verb.head)
    if head is None or relation(verb) != "acl" or not {head.id, token.id} <= words.place.keys():
        return None
    doubtful = words.nouns_between(words.place[head.id], words.place[token.id])
    return None if doubtful else head


def _before(words: TreeWords, one: Token, other: Token) -> bool:
    place = words.place
    return one.id in place and other.id in place and place[one.id] < place[other.id]


def _either_number(token: Token | None) -> bool:
    return token is not None and token.lemma in EITHER_NUMBER


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
        raise AccordError(
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
        rows += [(name, m.distance, m.attractors, m.trigger) for m in by_construction[name]]
    table = pd.DataFrame(rows, columns=["construction", "distance", "attractors", "trigger"])
    write_table(table, folder / TABLE)
    return table
