"""Words of French text, by spaCy's tokeniser with rules of our own where its French goes wrong.

What spaCy 3's blank French does and these rules change: `c'est-à-dire`, `là-bas`, `chef-d'oeuvre`
and `J.-C.` fall apart; `est-elle` stays whole while `est-il` is split; `va-t-il` loses a lone `-t`
(Lefff, which knows enclitics, writes `-t-il`); `50 000` is two words; `(chap. 8)` ends in a smiley.
"""

import multiprocessing
import re
from collections import deque
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from corpora.normalise import normalise

if TYPE_CHECKING:
    from spacy.tokenizer import Tokenizer

# Elided words are split off the front only: `l'` of `l'arbre`, nothing of `prud'homme`.
ELIDED = "c d j l m n s t ç qu jusqu lorsqu presqu puisqu quoiqu"

# Enclitics are split off the end with their hyphen, and with the `t` that only makes them heard.
ENCLITICS = (
    r"t-(?:ils?|elles?|on)",
    r"(?:ils?|elles?|on|je|tu|ce|nous|vous|moi|toi|lui|leur|les?|la|y|en|ci|là)",
    r"[mt]'",  # va-t'en, donnez-m'en
)

# What looks like several words and is one, most of it from the forms of DELA, Lefff and Lexique.
WHOLE = """
    c'est-à-dire jusqu'au-boutisme jusqu'au-boutismes jusqu'au-boutiste jusqu'au-boutistes
    j'm'en-foutisme m'as-tu-vu m'as-tu-vue qu'en-dira-t-on presqu'île presqu'îles
    celui-ci celui-là celle-ci celle-là ceux-ci ceux-là celles-ci celles-là
    chez-moi chez-nous chez-toi chez-lui chez-vous garde-à-vous non-moi rendez-vous revenez-y
    de-ci de-là jusque-là par-ci par-là sur-moi la-la-la être-là °C °F
"""

# A full stop belongs to these; any other is a word of its own after a lower-case letter. Left out
# is what also ends sentences as a word: `art.`, `vol.`, `cap.`, `sept.`, and units such as `m.`
ABBREVIATIONS = """
    apr. av. bull. c.-à-d. c.-à.-d. cf. chap. coll. dép. dir. e.g. éd. env. etc. ex. fasc. fig. hab.
    i.e. ibid. id. ill. n° op. p. p.-s. pp. préc. réf. rééd. sp. spp. sq. subsp. suiv. syn. tél.
    trad. var. vs. zool. janv. févr. avr. juil. juill. oct. nov. déc.
    Dr. J.-C. M. MM. Mgr. Mlle. Mme. Mr. St. Ste.
"""

# The groups of three in 50 000, written with the word joiner so that spaCy sees one word.
JOINER = "\u2060"
GROUPED_NUMBER = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3})+(?!\d)")

BATCH = 1000  # texts: enough to hide what passing them to another process costs
MOST_WORDS = 100_000  # that spaCy may remember, as it forgets none by itself


def tokenised(texts: Iterable[str], processes: int = 1) -> Iterator[tuple[str, ...]]:
    """The words of each French text, normalised first, in order; by one process or several."""
    batches = batched(texts)
    if processes == 1:
        for batch in batches:
            yield from words_of(batch)
        return
    # Not spaCy's own n_process: it sends whole documents back, at a fifth of the speed.
    with multiprocessing.Pool(processes) as pool:
        waiting = deque()  # few: a pool's own imap runs as far ahead as there are texts
        for batch in batches:
            waiting.append(pool.apply_async(words_of, [batch]))
            if len(waiting) > 2 * processes:
                yield from waiting.popleft().get()
        for result in waiting:
            yield from result.get()


def batched(texts: Iterable[str]) -> Iterator[list[str]]:
    texts = iter(texts)
    while batch := list(islice(texts, BATCH)):
        yield batch


def words_of(texts: list[str]) -> list[tuple[str, ...]]:
    joined = [GROUPED_NUMBER.sub(join_groups, normalise(text)) for text in texts]
    documents = french_tokenizer().pipe(joined)
    words = [tuple([token.text.replace(JOINER, " ") for token in doc]) for doc in documents]
    if len(french_tokenizer().vocab) > MOST_WORDS:
        french_tokenizer.cache_clear()
    return words


def join_groups(number: re.Match) -> str:
    return number.group().replace(" ", JOINER)


@cache
def french_tokenizer() -> "Tokenizer":
    """spaCy's tokeniser with its French punctuation rules and our rules for ' and -."""
    import spacy  # here, as it takes seconds, which who tokenises nothing need not wait
    from spacy.lang.char_classes import ALPHA, HYPHENS
    from spacy.lang.fr import French
    from spacy.tokenizer import Tokenizer
    from spacy.util import compile_infix_regex, compile_prefix_regex, compile_suffix_regex

    bracketed = re.compile(rf"[{ALPHA}]+\([{ALPHA}]{{1,5}}\)[{ALPHA}]*\Z")  # ami(e)s, quel(le)
    defaults = French.Defaults
    elided = ELIDED.replace(" ", "|")
    prefixes = [rf"(?i:{elided})'(?=[{ALPHA}\d])", *defaults.prefixes]
    suffixes = [rf"(?<=[{ALPHA}])-{enclitic}" for enclitic in ENCLITICS]
    suffixes += [r"(?<=-[mt]')(?:en|y)", "[–—]", r"(?<=[\])}²³])\.", r"(?<=\d)h"]
    suffixes += [rule for rule in defaults.suffixes if "clés" not in rule]  # its enclitics
    infixes = [rule for rule in defaults.infixes if HYPHENS not in rule and "['’]" not in rule]
    infixes += [rf"(?<=[{ALPHA}])(?:[–—]|--+)(?=[{ALPHA}])"]
    whole = [*WHOLE.split(), *ABBREVIATIONS.split(), *(f"{word}'" for word in ELIDED.split())]
    spellings = {spelling for form in whole for spelling in (form, form[0].upper() + form[1:])}
    suffix_search = compile_suffix_regex(suffixes).search
    return Tokenizer(
        spacy.blank("fr").vocab,
        rules={form: [{"ORTH": form}] for form in spellings},
        prefix_search=compile_prefix_regex(prefixes).search,
        suffix_search=lambda form: None if bracketed.search(form) else suffix_search(form),
        infix_finditer=compile_infix_regex(infixes).finditer,
        token_match=bracketed.match,
        url_match=defaults.url_match,
    )
