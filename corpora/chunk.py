"""The words of a chunk, which is what stands between two spaces: spaCy's way, in linear time.

Affixes are split off both ends until a word is left that is known to be whole or has none; this
falls apart at its infixes. What is split off is looked for near the ends only, so that a megabyte
without a space is no work for minutes.
"""

from collections.abc import Container

from corpora.affixes import (
    ADDRESS,
    BRACKETED,
    BRACKETED_REACH,
    ELIDED,
    INFIX,
    PREFIX,
    REACH,
    SUFFIX,
)

# What looks like several words and is one, most of it from the forms of DELA, Lefff and Lexique.
COMPOUNDS = """
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


def words_of_chunk(chunk: str) -> tuple[str, ...]:
    """The words of what stands between two spaces."""
    return tuple(_rejoined(_cut(chunk, WHOLE)))


def _cut(chunk: str, whole: Container[str]) -> list[str]:
    """A chunk without its affixes, these before and after it, and it cut at its infixes."""

    def is_whole(start: int, end: int) -> bool:
        return end - start <= LONGEST and chunk[start:end] in whole

    start, end = 0, len(chunk)
    before: list[str] = []
    after: list[str] = []  # the last word first
    while start < end and not is_whole(start, end) and not BRACKETED.match(chunk, start, end):
        prefix = PREFIX.match(chunk, start, end)
        inner_start = prefix.end() if prefix else start
        if is_whole(inner_start, end):
            inner_end = end
        else:
            inner_end = _without_suffix(chunk, inner_start, end)
            if is_whole(start, inner_end):
                inner_start = start
        if (inner_start, inner_end) == (start, end):
            break
        if start < inner_start:
            before.append(chunk[start:inner_start])
        if inner_end < end:
            after.append(chunk[inner_end:end])
        start, end = inner_start, inner_end
    rest = chunk[start:end]
    one = is_whole(start, end) or BRACKETED.match(rest) or ("." in rest and ADDRESS.fullmatch(rest))
    return [*before, *([rest] if one else _at_infixes(rest)), *reversed(after)]


def _without_suffix(chunk: str, start: int, end: int) -> int:
    """Where a word ends without its last suffix; an ellipsis is one however long."""
    dots = end
    while dots > start and chunk[dots - 1] == ".":
        dots -= 1
    suffix = SUFFIX.search(chunk[max(start, dots - REACH) : end])
    return end - len(suffix.group()) if suffix and not _ends_bracketed(chunk, start, end) else end


def _ends_bracketed(chunk: str, start: int, end: int) -> bool:
    tail = chunk[max(start, end - BRACKETED_REACH) : end]
    return ")" in tail and bool(BRACKETED.search(tail))


def _at_infixes(word: str) -> list[str]:
    """A word cut where infixes stand, which are words themselves; the first place is none."""
    cut, done = [], 0
    for infix in INFIX.finditer(word):
        if infix.start():
            cut += [word[done : infix.start()], infix.group()]
            done = infix.end()
    return [piece for piece in (*cut, word[done:]) if piece]


def _rejoined(words: list[str]) -> list[str]:
    """Words with those made one that are pieces of a whole one, as in `a/p.`"""
    if len(words) == 1:
        return words
    joined, place = [], 0
    while place < len(words):
        for size in SIZES:
            form = PIECES.get(tuple(words[place : place + size]))
            if form:
                break
        joined.append(form or words[place])
        place += size if form else 1
    return joined


_LISTED = [*COMPOUNDS.split(), *ABBREVIATIONS.split(), *(f"{word}'" for word in ELIDED.split())]
WHOLE = frozenset(form[:1].upper() + form[1:] for form in _LISTED) | frozenset(_LISTED)
LONGEST = max(map(len, WHOLE))
PIECES = {tuple(pieces): form for form in WHOLE if len(pieces := _cut(form, ())) > 1}
SIZES = sorted({len(pieces) for pieces in PIECES}, reverse=True)
