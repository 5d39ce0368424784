"""Hard words, one readable table: tests/data/hard-words.txt, checked by hand."""

from pathlib import Path

import pytest

from accord import lexicon

TABLE = Path(__file__).parents[1] / "data" / "hard-words.txt"
LONG = "Mood=Ind Mood=Sub Mood=Cnd Mood=Imp VerbForm=Part VerbForm=Inf VerbForm=Fin Tense=Pres"
LONG += " Tense=Imp Tense=Past Tense=Fut Person=1 Person=2 Person=3 Gender=Masc Gender=Fem"
LONG += " Number=Sing Number=Plur"
SHORT = "ind sub cnd imp part inf  pres impf past fut 1 2 3 m f s p"  # VerbForm=Fin is not written
SHORT = dict(zip(LONG.split(), SHORT.split(" "), strict=True))


def expected(name: str) -> dict[str, str]:
    table, word = {}, ""
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if not line.startswith(" "):
            word = line
        elif line.split()[0] == name:
            table[word] = line.split(maxsplit=1)[1]
    return table


def readable(analyses) -> str:
    rank = {pair: place for place, pair in enumerate(SHORT)}
    lines = []
    for lemma, upos, feats, _ in analyses:
        pairs = sorted(feats.split("|"), key=lambda pair: (rank.get(pair, len(rank)), pair))
        lines.append(" ".join(filter(None, [lemma, upos, *(SHORT.get(p, p) for p in pairs)])))
    return "; ".join(sorted(lines)) or "—"


@pytest.mark.parametrize("name", ["closed", "lefff", "dela", "lexique"])
def test_hard_words(name, folder):
    table = expected(name)
    assert len(table) >= 40
    known = lexicon.load([name], folder=folder)
    assert {word: readable(known.analyses(word)) for word in table} == table
