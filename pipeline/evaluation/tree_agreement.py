"""What agrees with what in a tree of a treebank, of either release of Universal Dependencies.

Left out is what a flipped word would not break beyond doubt: collective subjects, relative
pronouns and adjectives that another noun might claim, the *vous* that may be one person.
"""

from collections.abc import Iterator, Sequence

from accord.corpora.sentence import Token, Tree, features, row_kinds
from accord.corpora.tokenise import normalise
from accord.pipeline.evaluation.agreeing import Agreeing

RELATIONS = {"nsubjpass": "nsubj", "auxpass": "aux", "dobj": "obj"}  # of release 1 -> of release 2
NOMINAL = {"NOUN", "PROPN", "PRON"}
# Singular and plural are both right with these: la moitié dort, la moitié dorment; c'est eux.
EITHER_NUMBER = {
    *("ce", "un", "on", "plupart", "majorité", "minorité", "moitié", "tiers", "quart", "partie"),
    *("reste", "nombre", "foule", "ensemble", "groupe", "série", "multitude", "quantité"),
    *("totalité", "infinité", "dizaine", "douzaine", "quinzaine", "vingtaine", "trentaine"),
    *("cinquantaine", "centaine", "millier", "million", "milliard"),
}


class Words:
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


def agreeing_words(tree: Tree) -> Iterator[Agreeing]:
    """Every agreement of a tree."""
    words = Words(tree)
    for token in words.tokens:
        if token.upos == "NOUN":
            yield from _with_noun(words, token)
        if features(token.feats).get("VerbForm") == "Part":
            yield from _with_participle(words, token)
        yield from _with_subject(words, token)


def _with_noun(words: Words, noun: Token) -> Iterator[Agreeing]:
    for determiner in words.dependants(noun, "det"):
        yield from words.agreeing("determiner_noun", ["Number"], determiner, noun)
        yield from words.agreeing("determiner_noun", ["Gender"], noun, determiner)
    for adjective in words.dependants(noun, "amod"):
        one, other = words.place.get(noun.id), words.place.get(adjective.id)
        behind = one is not None and other is not None and one < other
        if adjective.upos == "ADJ" and behind and not words.nouns_between(one, other):
            yield from words.agreeing("noun_adjective", ["Number", "Gender"], noun, adjective)


def _with_subject(words: Words, predicate: Token) -> Iterator[Agreeing]:
    """The first finite verb agrees with the subject, if that stands before it."""
    verbs = [*words.dependants(predicate, "aux", "cop"), predicate]
    finite = [verb for verb in verbs if features(verb.feats).get("VerbForm") == "Fin"]
    for subject in words.dependants(predicate, "nsubj"):
        controller = _controller(words, subject, predicate)
        for verb in finite[:1]:
            if _before(words, subject, verb) and not _either_number(controller):
                yield from words.agreeing("subject_verb", ["Number", "Person"], controller, verb)


def _with_participle(words: Words, participle: Token) -> Iterator[Agreeing]:
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


def _controller(words: Words, token: Token, verb: Token) -> Token | None:
    """What a relative pronoun stands for, if that is beyond doubt; any other word itself."""
    if "PronType=Rel" not in token.feats.split("|"):
        return token
    head = words.by_id.get(verb.head)
    if head is None or _relation(verb) != "acl" or not {head.id, token.id} <= words.place.keys():
        return None
    doubtful = words.nouns_between(words.place[head.id], words.place[token.id])
    return None if doubtful else head


def _before(words: Words, one: Token, other: Token) -> bool:
    place = words.place
    return one.id in place and other.id in place and place[one.id] < place[other.id]


def _either_number(token: Token | None) -> bool:
    return token is not None and token.lemma in EITHER_NUMBER


def _relation(token: Token) -> str:
    relation = token.deprel.partition(":")[0]
    return RELATIONS.get(relation, relation)
