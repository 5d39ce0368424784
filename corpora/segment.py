"""Sentences of French text, also of text whose paragraphs were glued: `…en 2019.Alors que…`.

A sentence ends after a stop (. ! ? …) and the quotes and brackets that close after it, where a
capital or a number follows. A colon, a semicolon and a stop before a small letter end nothing.
Where a heading without a stop is glued to the text after it (`coude-à-coudeL'ex-chef`), it ends
too. The tables below list abbreviations and openings of French.
"""

import re
from itertools import pairwise

# A full stop after a title ends no sentence; after an abbreviation it ends one where a word follows
# that opens sentences. `is_initial` decides about a lone capital (George W. Bush).
TITLES = "Cdt Ch Dr Drs Gal Gén Lt MM Me Mgr Mlle Mlles Mme Mmes Mr Mrs Ms Ph Pr Prof Sgt St Ste Th"
ABBREVIATIONS = """
    Bros Co Corp Inc Jr Ltd No Nos Sr apr art av avr bd boul cf chap coll dir déc env ex
    fig févr hab ibid id ill janv juil juill nov oct op p pp réf sept tél trad vol vs éd
"""

# Words that begin a sentence and are no names: they separate `plan B. Le maire` from
# `J. K. Rowling`, and `ParisLe maire` from `YouTube`.
OPENINGS = """
    A À Actuellement Ainsi Alors Après Au Aucun Aucune Aujourd'hui Auparavant Aussi Autre Aux Avant
    Avec Beaucoup Bien C' Ça Car Ce Ceci Cela Celle Celles Celui Cependant Certaines Certains Ces
    Cet Cette Ceux Chacun Chaque Chez Cinq Comme Comment Concernant Contacté Contactée Contre Côté
    D' Dans De Début Déjà Depuis Derrière Des Dès Désormais Deux Devant Dix Donc Du Durant Elle
    Elles En Encore Enfin Ensuite Entre Environ Est Et Eux Face Fin Finalement Grâce Huit Ici Il Ils
    Interrogé Interrogée Invité Invitée J' Jamais Je Jeudi Jusqu' L' La Là Le Les Leur Leurs Lors
    Lorsqu' Lorsque Lui Lundi Ma Mais Malgré Mardi Même Mercredi Mes Moins Mon N' Ne Néanmoins Neuf
    Ni Non Nos Notre Nous Objectif On Or Ou Où Outre Par Parce Parfois Parmi Pas Pendant Personne
    Peu Plus Plusieurs Pour Pourquoi Pourtant Près Puis Qu' Quand Quant Quatre Que Quel Quelle
    Quelles Quelque Quelques Quels Qui Reste Résultat Rien S' Sa Samedi Sans Sauf Se Selon Sept Ses
    Seul Seule Seules Seulement Seuls Si Sinon Six Son Sont Sous Sur Surtout Toujours Tous Tout
    Toute Toutefois Toutes Très Trois Trop Tu Un Une Vendredi Vers Voici Voilà Vous
"""

TITLE_WORDS, ABBREVIATED_WORDS = frozenset(TITLES.split()), frozenset(ABBREVIATIONS.split())

SMALL, CAPITAL = "a-zß-öø-ÿœ", "A-ZÀ-ÖØ-ÞŒ"
INVISIBLE = "\u200b\ufeff"  # they stand where a line ended
WHITE = f" \t\r\n\xa0{INVISIBLE}"
SPACE = rf"[\s{INVISIBLE}]"
STOP = re.compile(  # stops in a row are read from their first alone, not from each of them again
    rf"(?<![.!?…])(?P<stop>[.!?…]+)(?:{SPACE}?[»”)\]])*(?P<gap>{SPACE}*)"
    rf"(?=(?:[«“(\[•►♦*–—#'+-]{SPACE}?)*(?P<first>[{CAPITAL}\d]))"
)
# A capital or a quote right after what ends a word; each begins by the rare character, for speed.
GLUE = re.compile(
    rf"[{CAPITAL}](?<=[\w%€)\]”»].)(?![{CAPITAL}\d])"
    rf"|[“«](?:(?<=[\w%€)].)|(?<=[”»]\s.)){SPACE}?[{CAPITAL}]"  # also after a heading in quotes
)
# A heading between dashes, after a stop: `. - Silence des autorités -La branche locale…`
DASHED = re.compile(
    rf"-(?:(?<=[.!?…”»)]-)|(?<=[.!?…”»)]\s-))\s[^.…]{{2,100}}?\s-(?=\s?[“«]?\s?[{CAPITAL}])"
)

OPENING = re.compile(
    rf"(?:{'|'.join(sorted(OPENINGS.split(), key=len, reverse=True))})(?:(?<=')|(?![\w'.-]))"
)
LAST_WORD = re.compile(rf"(?:[{CAPITAL}]+|[{CAPITAL}]?[{SMALL}]+|)\Z")
NAME = re.compile(rf"[{CAPITAL}][\w'’-]+(?=\s\Z)")
GLUED_TO = re.compile(r"[^\s(\[«“”»]*\Z")
SMALL_WORD = re.compile(rf"(?:\A|\W)[{SMALL}]{{3,}}\Z")
LIST_NUMBER = re.compile(rf"(?:\A|[.!?…]{SPACE}*)\d{{1,2}}\Z")
ADDRESS = re.compile(r"[#@_]|\.\w+/|://|www\.")  # of the net, or a name on it


def segment(text: str) -> list[str]:
    """Return the sentences of a text in order; together they hold all of it but spaces."""
    return [text[begin:end] for begin, end in sentence_spans(text)]


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each sentence of a text, without the spaces around it."""
    turned = with_turned_quotes(text)
    ends = {stop.end() for stop in STOP.finditer(turned) if ends_sentence(turned, stop)}
    ends |= {glue.start() for glue in GLUE.finditer(turned) if is_glued(turned, glue.start())}
    for heading in DASHED.finditer(turned):
        ends.difference_update(range(heading.start() + 1, heading.end()))
        ends.add(heading.end())
    spans = []
    for begin, end in pairwise([0, *sorted(ends), len(text)]):
        sentence = text[begin:end].lstrip(WHITE)
        begin = end - len(sentence)
        if sentence:
            spans.append((begin, begin + len(sentence.rstrip(WHITE))))
    return spans


def with_turned_quotes(text: str) -> str:
    """Write straight quotes as “ and ” by the characters around them, else in turns."""
    first, *others = text.split('"')
    pieces, left, is_open = [first], first, False
    for right in others:
        opens = not left[-1:].strip() or left[-1] in "([«'’-/:"
        closes = not right[:1].strip() or right[0] in ",;:.!?)]»…"
        is_open = opens if opens != closes else not is_open
        pieces += ["“" if is_open else "”", right]
        left = right
    return "".join(pieces)


def ends_sentence(text: str, stop: re.Match) -> bool:
    """Return whether a stop ends a sentence."""
    place, first = stop.start(), stop.start("first")
    if text[place - 1 : place] in ("(", "["):  # (…)
        return bool(OPENING.match(text, first))
    if stop["stop"] != ".":
        return True
    word = LAST_WORD.search(text, max(0, place - 20), place).group()
    if place + 1 == first and text[first].isdigit():  # 1.500, art.5; but confrères.275.000 élèves
        return len(word) > 2 and word.islower() and word not in ABBREVIATED_WORDS
    if word in TITLE_WORDS or LIST_NUMBER.search(text, max(0, place - 6), place):
        return False
    if len(word) == 1 and word.isupper():
        return not is_initial(text, place - 1, first)
    return word not in ABBREVIATED_WORDS or bool(OPENING.match(text, first))


def is_initial(text: str, place: int, first: int) -> bool:
    """Return whether a lone capital stands for a name: that of M. or J. K., not of plan B."""
    if not OPENING.match(text, first):
        return True
    if text[place] != "M":
        return False
    # M. Le Maire, unless a name stands before it: Hichem M. Il est…
    name = NAME.search(text, max(0, place - 40), place)
    return name is None or bool(OPENING.match(name.group()))


def is_glued(text: str, place: int) -> bool:
    """Return whether a sentence begins here although no stop or space stands before it.

    After a word in small letters or a closing mark any capital is one; after a name (YouTube) or a
    number only a word that opens sentences.
    """
    prefix = GLUED_TO.search(text, max(0, place - 40), place).group()
    if ADDRESS.search(prefix):
        return False
    if text[place] in "“«" or text[place - 1] in ")]”»" or SMALL_WORD.search(prefix):
        return True
    opening = OPENING.match(text, place)
    # PMA, USA: that A begins nothing.
    return bool(opening) and (opening.group() != "A" or prefix[-1:].islower())
