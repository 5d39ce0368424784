"""Words of French text: one spelling for its characters, then cut chunk by chunk; and back.

A chunk is the text between two spaces. Affixes are split off both its ends until the rest is known
to be whole or has none; the rest is cut at its infixes. This is spaCy's algorithm with better rules
for French: `c'est-à-dire`, `là-bas`, `chef-d'oeuvre` and `J.-C.` fall apart in spaCy 3's blank
French; `est-elle` stays whole while `est-il` is split; `va-t-il` loses a lone `-t` (Lefff, which
knows enclitics, writes `-t-il`); `(chap. 8)` ends in a smiley; emoji that are joined fall apart.
The tests compare our words with those of spaCy's tokeniser under the same rules. Loading spaCy's
French would take longer than most commands.
"""

import re
import sys
import unicodedata
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from accord.errors import AccordError

# œ and æ become `oe` and `ae`: DELA, Lefff and Lexique know `coeur` and `ex aequo` and hold no œ at
# all (æ in ten proper names of Lefff), so that the ligature would hide a common word's analyses.
# Signs that carry meaning stay as they are: `m²`, `½`, « ».
SPELLINGS = {
    "'": "’‘ʼ´\x92",  # typographic, opening, modifier, acute, and cp1252's in Latin-1
    "-": "\u2010\u2011",  # hyphen, non-breaking hyphen
    " ": "\u00a0\u202f\u2007\u2009\u200a\t",  # no-break, narrow no-break, figure, thin, hair, tab
    "": "\u00ad\u200b\u200c\u200e\u200f\u2060\ufeff",  # soft hyphen, zero-width and marks
    "...": "…",
    "oe": "œ",
    "Oe": "Œ",
    "ae": "æ",
    "Ae": "Æ",
    "ff": "\ufb00",
    "fi": "\ufb01",
    "fl": "\ufb02",
    "ffi": "\ufb03",
    "ffl": "\ufb04",
    "st": "\ufb05\ufb06",
    "ij": "ĳ",
    "°": "º",  # nº
    "n°": "№",
    "e": "ᵉ",  # XIXᵉ
    "r": "ʳ",  # 1ᵉʳ
    "μ": "µ",  # the micro sign, for the Greek letter
}
# A zero-width joiner makes one sign of several emoji; anywhere else it is invisible, and dropped.
EMOJI_JOINER, EMOJI = "\u200d", "\u2190-\u21ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
LOOSE_JOINER = re.compile(rf"(?<![{EMOJI}\ufe0f]){EMOJI_JOINER}|{EMOJI_JOINER}(?![{EMOJI}])")
# Composing sorts the marks above and below a letter, in time that grows with the square of their
# number. Unicode's Stream-Safe Text Format allows 30 in a row, and a joiner then begins anew.
MOST_MARKS, MARK_JOINER = 30, "\u034f"
MAYBE_MARKS = re.compile(rf"[\u0300-\U0001ffff]{{{MOST_MARKS + 1}}}")  # no letter of French: quick
RESPELLED = str.maketrans({char: plain for plain, chars in SPELLINGS.items() for char in chars})


def normalise(text: str) -> str:
    """Compose a text (NFC), respell it by SPELLINGS, with single spaces; idempotent."""
    respelled = composed(LOOSE_JOINER.sub("", text)).translate(RESPELLED)
    return " ".join(composed(respelled).split())  # again, as other characters now meet


def comparable(text: str) -> str:
    """Return the letters of a text, whatever its spelling (SPELLINGS), spaces and case."""
    return _letters(text).casefold()


def composed(text: str) -> str:
    """Compose a text (NFC), with no more marks in a row than Unicode allows in a stream."""
    if MAYBE_MARKS.search(text):
        text = too_many_marks().sub(rf"\g<0>{MARK_JOINER}", text)
    return unicodedata.normalize("NFC", text)


@cache
def too_many_marks() -> re.Pattern:
    """Return a pattern of the most marks in a row that there may be, before another one."""
    marks = "".join(chr(code) for code in range(0x20000) if unicodedata.combining(chr(code)))
    return re.compile(f"[{marks}]{{{MOST_MARKS}}}(?=[{marks}])")


# The numbers of letters and signs, by class.
CHARACTERS = Path(__file__).with_name("characters.txt")


class Characters(NamedTuple):
    """Classes of characters, as they stand between the brackets of a regular expression."""

    letter: str
    lower: str  # those without case count as both
    upper: str
    sign: str


def characters(below: int = sys.maxunicode + 1) -> Characters:
    """Return the classes, without characters of `below` and higher numbers."""
    classes: dict[str, list[str]] = {"cased": [], "uncased": [], "sign": []}
    for line in CHARACTERS.read_text(encoding="utf-8").splitlines():
        name, *entries = line.split()
        if name != "#":
            classes[name] += [e for e in entries if int(e.partition("-")[0], 16) < below]
    cased, uncased, signs = classes.values()
    members = "".join(map(_members, cased))
    rest = _ranges(uncased)
    return Characters(
        _ranges(cased) + rest,
        "".join(filter(str.islower, members)) + "ʔ" + rest,  # which has no capital
        "".join(filter(str.isupper, members)) + rest,
        _ranges(signs),
    )


def _members(entry: str) -> str:
    """Return the characters of an entry, in order."""
    first, _, last = entry.partition("-")
    return "".join(map(chr, range(int(first, 16), int(last or first, 16) + 1)))


def _ranges(entries: Sequence[str]) -> str:
    return "".join("-".join(chr(int(end, 16)) for end in entry.split("-")) for entry in entries)


PUNCTUATION = re.escape(",:;!?¿؟¡()[]{}<>_#*&。？！，、；：～·।،۔؛٪")
QUOTE = re.escape("'\"”“`‚,„»«「」『』（）〔〕【】《》〈〉⟦⟧")
CURRENCY = r"\$£€¥฿﷼₠-₿"
DOLLARS = r"(?:US|C|A)\$"

# Split off a number before them.
UNITS = """
    km km² km³ m m² m³ dm dm² dm³ cm cm² cm³ mm mm² mm³ ha nm yd in ft kg g mg t lb oz m/s km/h kmh
    mph hPa Pa mbar mb MB kb KB gb GB tb TB T G M K %
    км км² км³ м м² м³ дм дм² дм³ см см² см³ мм мм² мм³ нм кг г мг м/с км/ч кПа Па мбар Кб КБ кб Мб
    МБ мб Гб ГБ гб Тб ТБ
    كم كم² كم³ م م² م³ سم سم² سم³ مم مم² مم³ غرام جرام جم كغ ملغ كوب اكواب
"""


# Elided words are split off the front only: `l'` of `l'arbre`, nothing of `prud'homme`.
ELIDED = "c d j l m n s t ç qu jusqu lorsqu presqu puisqu quoiqu"

# Enclitics are split off the end with their hyphen, and with the `t` that only makes them heard.
ENCLITICS = (
    r"t-(?:ils?|elles?|on)",
    r"(?:ils?|elles?|on|je|tu|ce|nous|vous|moi|toi|lui|leur|les?|la|y|en|ci|là)",
    r"[mt]'",  # va-t'en, donnez-m'en
)


def _one_of(listed: str) -> str:
    return "|".join(listed.split())


REACH = 12  # the longest suffix without dots, with its context
# ami(e)s, quel(le): with a bound on the letters, so that a text without spaces takes linear time.
MOST_LETTERS = 100
BRACKETED_REACH = MOST_LETTERS + 8  # a letter, (, five letters, ) and those after it


def signs(sign: str) -> str:
    """Return a pattern of a sign with its skin tone and selector, and of signs joined to it."""
    tone = r"[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]{0,2}"
    return rf"[{sign}]{tone}(?:{EMOJI_JOINER}[{EMOJI}]{tone})*"


class Rules(NamedTuple):
    """Regular expressions for the affixes of a chunk, and for chunks that stay whole."""

    prefix: str
    suffix: str
    infix: str
    bracketed: str
    address: str  # of the internet: a scheme, a user, then numbers or names


def rules(chars: Characters) -> Rules:
    name = r"A-Za-z0-9\u00a1-\uffff"
    return Rules(
        prefix=rf"(?i:{_one_of(ELIDED)})'(?=[{chars.letter}\d])"
        rf"|[§%=—–{PUNCTUATION}{QUOTE}{CURRENCY}]|{signs(chars.sign)}"
        rf"|\+(?![0-9])|\.\.+|{DOLLARS}",
        suffix=rf"(?:(?<=[{chars.letter}])-(?:{'|'.join(ENCLITICS)})"
        r"|(?<=-[mt]')(?:en|y)"
        rf"|[–—{PUNCTUATION}{QUOTE}]"
        r"|\.\.+"
        rf"|(?<=[0-9{chars.lower}{QUOTE}()\[\]}}?:%²³+-])\."
        rf"|(?<=[{chars.upper}][{chars.upper}])\."
        r"|(?<=°[FCK])\."
        r"|(?<=\d)h"
        rf"|(?<=[0-9])(?:\+|[{CURRENCY}]|{DOLLARS}|{_one_of(UNITS)})"
        r")\Z",
        infix=rf"\.\.+|{signs(chars.sign)}"
        r"|(?<=[0-9])[+\-*^](?=[0-9-])"
        rf"|(?<=[{chars.lower}{QUOTE}])\.(?=[{chars.upper}{QUOTE}])"
        rf"|(?<=[{chars.letter}])(?:,|[–—]|--+)(?=[{chars.letter}])"
        rf"|(?<=[{chars.letter}0-9])[:<>=/](?=[{chars.letter}])",
        bracketed=rf"[{chars.letter}]{{1,{MOST_LETTERS}}}\([{chars.letter}]{{1,5}}\)"
        rf"[{chars.letter}]{{0,{MOST_LETTERS}}}\Z",
        address=r"(?:[\w+\-.]{2,}://)?(?:\S+@)?"
        r"(?:(?!(?:10|127)(?:\.\d{1,3}){3})(?!(?:169\.254|192\.168)(?:\.\d{1,3}){2})"
        r"(?!172\.(?:1[6-9]|2\d|3[01])(?:\.\d{1,3}){2})"  # of a private network
        r"(?:[1-9]\d?|1\d\d|2[01]\d|22[0-3])(?:\.(?:1?\d{1,2}|2[0-4]\d|25[0-5])){2}"
        r"\.(?:[1-9]\d?|1\d\d|2[0-4]\d|25[0-4])"
        rf"|(?:(?:[{name}][{name}_-]{{0,62}})?[{name}]\.)+[{chars.lower}]{{2,63}})"
        r"(?::\d{2,5})?(?:[/?#]\S*)?",
    )


MAYBE_ADDRESS = re.compile(r"\.[^\s.-]{2}|\.\d")  # no address is without


# Single words that look like several, most of them from DELA, Lefff and Lexique.
COMPOUNDS = """
    c'est-à-dire jusqu'au-boutisme jusqu'au-boutismes jusqu'au-boutiste jusqu'au-boutistes
    j'm'en-foutisme m'as-tu-vu m'as-tu-vue qu'en-dira-t-on presqu'île presqu'îles
    celui-ci celui-là celle-ci celle-là ceux-ci ceux-là celles-ci celles-là
    chez-moi chez-nous chez-toi chez-lui chez-vous garde-à-vous non-moi rendez-vous revenez-y
    de-ci de-là jusque-là par-ci par-là sur-moi la-la-la être-là °C °F
"""

# A full stop belongs to these; any other is a word of its own after a lower-case letter. Words that
# also end sentences are left out: `art.`, `vol.`, `cap.`, `sept.`, and units such as `m.`
ABBREVIATIONS = """
    apr. av. bull. c.-à-d. c.-à.-d. cf. chap. coll. dép. dir. e.g. éd. env. etc. ex. fasc. fig. hab.
    i.e. ibid. id. ill. n° op. p. p.-s. pp. préc. réf. rééd. sp. spp. sq. subsp. suiv. syn. tél.
    trad. var. vs. zool. janv. févr. avr. juil. juill. oct. nov. déc.
    Dr. J.-C. M. MM. Mgr. Mlle. Mme. Mr. St. Ste.
"""


_LISTED = [*COMPOUNDS.split(), *ABBREVIATIONS.split(), *(f"{word}'" for word in ELIDED.split())]
WHOLE = frozenset(form[:1].upper() + form[1:] for form in _LISTED) | frozenset(_LISTED)
LONGEST_WHOLE = max(map(len, WHOLE))


class Cutter:
    """Cuts chunks of characters below a bound into words, in linear time.

    Affixes are searched near the ends only, so that a megabyte without a space does not take
    minutes. To compile all rules takes 60 ms, as many characters are letters; a tenth of that is
    enough for Latin text. The rules are compiled at their first use.
    """

    def __init__(self, below: int = sys.maxunicode + 1) -> None:
        self.rules = rules(characters(below))
        self.prefix, self.suffix, self.infix = map(re.compile, self.rules[:3])
        self.bracketed = re.compile(self.rules.bracketed)
        cut = {form: self.cut(form, ()) for form in WHOLE}
        self.pieces = {tuple(pieces): form for form, pieces in cut.items() if len(pieces) > 1}
        self.sizes = sorted({len(pieces) for pieces in self.pieces}, reverse=True)

    def is_address(self, word: str) -> bool:
        return bool(MAYBE_ADDRESS.search(word) and self.address.fullmatch(word))

    @cached_property
    def address(self) -> re.Pattern:
        return re.compile(self.rules.address)

    def words(self, chunk: str) -> tuple[str, ...]:
        """Return the words of a chunk."""
        return tuple(self.rejoined(self.cut(chunk, WHOLE)))

    def cut(self, chunk: str, whole: Container[str]) -> list[str]:
        """Return the words of a chunk: its prefixes, the rest cut at its infixes, its suffixes."""

        def is_whole(start: int, end: int) -> bool:
            return end - start <= LONGEST_WHOLE and chunk[start:end] in whole

        start, end = 0, len(chunk)
        prefixes: list[str] = []
        suffixes: list[str] = []  # the last word first
        while start < end and not (is_whole(start, end) or self.bracketed.match(chunk, start, end)):
            prefix = self.prefix.match(chunk, start, end)
            inner_start = prefix.end() if prefix else start
            if is_whole(inner_start, end):
                inner_end = end
            else:
                inner_end = self.without_suffix(chunk, inner_start, end)
                if is_whole(start, inner_end):
                    inner_start = start
            if (inner_start, inner_end) == (start, end):
                break
            if start < inner_start:
                prefixes.append(chunk[start:inner_start])
            if inner_end < end:
                suffixes.append(chunk[inner_end:end])
            start, end = inner_start, inner_end
        rest = chunk[start:end]
        is_one = is_whole(start, end) or self.bracketed.match(rest) or self.is_address(rest)
        words = [rest] if is_one else self.cut_at_infixes(rest)
        return [*prefixes, *words, *reversed(suffixes)]

    def without_suffix(self, chunk: str, start: int, end: int) -> int:
        """Return the end of a word without its last suffix; an ellipsis of any length is one."""
        dots = end
        while dots > start and chunk[dots - 1] == ".":
            dots -= 1
        suffix = self.suffix.search(chunk[max(start, dots - REACH) : end])
        if suffix is None:
            return end
        tail = chunk[max(start, end - BRACKETED_REACH) : end]
        is_bracketed = ")" in tail and self.bracketed.search(tail)
        return end if is_bracketed else end - len(suffix.group())

    def cut_at_infixes(self, word: str) -> list[str]:
        """Return the parts of a word between its infixes, and the infixes."""
        pieces, end = [], 0
        for infix in self.infix.finditer(word):
            if infix.start():
                pieces += [word[end : infix.start()], infix.group()]
                end = infix.end()
        return [piece for piece in (*pieces, word[end:]) if piece]

    def rejoined(self, words: list[str]) -> list[str]:
        """Join words that are the pieces of one word, as in `a/p.`"""
        if len(words) == 1:
            return words
        joined, place = [], 0
        while place < len(words):
            for size in self.sizes:
                form = self.pieces.get(tuple(words[place : place + size]))
                if form:
                    break
            joined.append(form or words[place])
            place += size if form else 1
        return joined


LATIN = 0x250  # the first character after Latin letters
cutter = cache(Cutter)


# The groups of three in 50 000, written with the word joiner so that they stand in one chunk.
JOINER = "\u2060"
GROUPED_NUMBER = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3})+(?!\d)")

REMEMBERED = 100_000  # chunks, none of them longer than LONGEST_REMEMBERED
LONGEST_REMEMBERED = 50


def tokenised(texts: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Yield the words of each French text, which is normalised first."""
    for text in texts:
        words: list[str] = []
        for chunk in GROUPED_NUMBER.sub(join_groups, normalise(text)).split():
            is_short = len(chunk) <= LONGEST_REMEMBERED
            words += (_remembered if is_short else words_of_chunk)(chunk)
        yield tuple(word.replace(JOINER, " ") for word in words)


def join_groups(number: re.Match) -> str:
    return number.group().replace(" ", JOINER)


def words_of_chunk(chunk: str) -> tuple[str, ...]:
    return cutter(*([LATIN] if max(chunk) < chr(LATIN) else [])).words(chunk)


_remembered = lru_cache(REMEMBERED)(words_of_chunk)


# From words back to text: new sentences are written out, and words found in a text. A space stands
# between most words, also before `; : ! ? » %` and after `«`. The rules list the exceptions.

# No space after brackets and elided words (l'arbre, qu'il), none around a slash and a dash.
OPENING = re.compile(r"[(\[{/]|--|.*\w'")
# No space before these, nor before enclitics (va-t-il, ce jour-là).
CLOSING = re.compile(rf"[,.)\]}}/]|\.\.+|--|-(?:{'|'.join(ENCLITICS)})")
SHOUT = re.compile(r"[!?]+")  # no space between two of these: ?!
RANGE = re.compile(r"\d - \d")  # 1990-1995
STRAIGHT_QUOTES = "\"'"  # alike at both ends: the first opens, the next closes


def detokenise(words: Iterable[str]) -> str:
    """Return the text of a sentence, its first letter a capital."""
    pieces: list[str] = []
    open_quotes: set[str] = set()
    space = False  # whether one may stand before the next word
    last = ""
    for word in words:
        closes = word in open_quotes or CLOSING.fullmatch(word)
        if space and not (closes or (SHOUT.fullmatch(last) and SHOUT.fullmatch(word))):
            pieces.append(" ")
        pieces.append(word)
        if word in STRAIGHT_QUOTES:
            open_quotes ^= {word}
        space = not (word in open_quotes or OPENING.fullmatch(word))
        last = word
    text = RANGE.sub(lambda years: years.group().replace(" ", ""), "".join(pieces))
    return re.sub(r"\w", lambda letter: letter.group().upper(), text, count=1)


SPACES = re.compile("[ \t\n\u00a0\u202f]*")  # others may mean something
FIRST_MARK = "\u0300"  # that may be bound to the character before it
DELETED = {chr(code) for code, spelling in RESPELLED.items() if spelling == ""} | {EMOJI_JOINER}
JAMO = range(0x1160, 0x1200)  # Korean vowels and finals, composed with the letters before them


def spans(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Return the start and end of each word in a text: `text[start:end]` is the word as written.

    `normalise` respells the text. So the text is cut into pieces that are respelled together: a
    character, its marks, and the deleted characters after it. Words and text must then have the
    same letters in the same order, whatever the spaces. Most texts need no respelling, and their
    words are found in a fraction of the time.
    """
    return _spans_as_written(text, words) or _spans_respelled(text, words)


def _spans_as_written(text: str, words: Sequence[str]) -> list[tuple[int, int]] | None:
    """Return the spans if the words stand in the text letter for letter; else None."""
    if max(text, default="") >= FIRST_MARK:
        return None
    spans, end = [], 0
    for word in words:
        start = SPACES.match(text, end).end()
        if not word or not text.startswith(word, start):
            return None
        end = start + len(word)
        spans.append((start, end))
    return spans if SPACES.fullmatch(text, end) else None


def _spans_respelled(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    letters_of = cache(_letters)  # a text has few different pieces
    letters = [(c, piece) for piece in _pieces(text) for c in letters_of(text[slice(*piece)])]
    spans, first = [], 0
    for word in words:
        expected = letters_of(word)
        span = letters[first : first + len(expected)]
        if not expected or expected != "".join(letter for letter, _ in span):
            rest = text[span[0][1][0] :] if span else ""
            raise AccordError(f"expected the word {word!r} in {text!r}; found {rest[:30]!r}")
        spans.append((span[0][1][0], span[-1][1][1]))
        first += len(expected)
    if first < len(letters):
        rest = text[letters[first][1][0] :]
        raise AccordError(f"expected no word after {' '.join(words)!r}; found {rest[:30]!r}")
    return spans


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each piece, without the deleted characters at its end."""
    joined = (
        _is_bound(text[n]) or (text[n - 1] == EMOJI_JOINER and not LOOSE_JOINER.match(text, n - 1))
        for n in range(1, len(text))
    )
    starts = [0, *(n for n, is_joined in enumerate(joined, start=1) if not is_joined)]
    for start, end in pairwise([*starts, len(text)]):
        while end > start and text[end - 1] in DELETED:
            end -= 1
        yield start, end


@lru_cache(4096)
def _is_bound(character: str) -> bool:
    """Return whether a character may be composed with one before it, or is deleted."""
    is_mark = unicodedata.category(character).startswith("M")
    return is_mark or character in DELETED or ord(character) in JAMO


def _letters(text: str) -> str:
    return normalise(text).replace(" ", "")
