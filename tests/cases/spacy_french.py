"""spaCy's tokeniser with Accord's rules: what `accord.corpora.tokenise` must be equal to."""

import re
from collections.abc import Iterable, Iterator
from functools import cache

from spacy.lang.char_classes import ALPHA, HYPHENS
from spacy.tokenizer import Tokenizer
from spacy.util import compile_infix_regex, compile_prefix_regex, compile_suffix_regex

from accord.corpora.tokenise import (
    ELIDED,
    ENCLITICS,
    GROUPED_NUMBER,
    JOINER,
    WHOLE,
    characters,
    join_groups,
    normalise,
    signs,
)


def spacy_words(texts: Iterable[str]) -> Iterator[tuple[str, ...]]:
    for text in texts:
        document = tokenizer()(GROUPED_NUMBER.sub(join_groups, normalise(text)))
        yield tuple(token.text.replace(JOINER, " ") for token in document)


@cache
def tokenizer() -> Tokenizer:
    """spaCy's French punctuation rules with ours for ' and -, and our words that stay whole."""
    from spacy.lang.fr import French  # takes seconds: not whenever tests are collected

    defaults = French.Defaults
    bracketed = re.compile(rf"[{ALPHA}]+\([{ALPHA}]{{1,5}}\)[{ALPHA}]*\Z")  # ami(e)s, quel(le)
    sign = signs(characters().sign)
    prefixes = [rf"(?i:{ELIDED.replace(' ', '|')})'(?=[{ALPHA}\d])", sign, *defaults.prefixes]
    suffixes = [rf"(?<=[{ALPHA}])-{enclitic}" for enclitic in ENCLITICS]
    suffixes += [r"(?<=-[mt]')(?:en|y)", "[–—]", r"(?<=[\[\])}²³])\.", r"(?<=\d)h"]
    suffixes += [rule for rule in defaults.suffixes if "clés" not in rule]  # its enclitics
    infixes = [sign]
    infixes += [rule for rule in defaults.infixes if HYPHENS not in rule and "['’]" not in rule]
    infixes += [rf"(?<=[{ALPHA}])(?:[–—]|--+)(?=[{ALPHA}])"]
    suffix_search = compile_suffix_regex(suffixes).search
    return Tokenizer(
        French().vocab,
        rules={form: [{"ORTH": form}] for form in WHOLE},
        prefix_search=compile_prefix_regex(prefixes).search,
        suffix_search=lambda form: None if bracketed.search(form) else suffix_search(form),
        infix_finditer=compile_infix_regex(infixes).finditer,
        token_match=bracketed.match,
        url_match=defaults.url_match,
    )
