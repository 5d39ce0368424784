"""The corpus that comes with the package, and the lexicon made for it."""

import csv
import re
from importlib.resources import files

from accord.corpora import sources
from accord.corpora.conllu import FEATURE
from accord.corpora.tokenise import tokenised


def lexicon() -> list[dict]:
    table = files("accord.lexicon") / "tiny.tsv"
    with table.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def test_every_word_of_the_text_has_an_analysis():
    forms = {row["form"] for row in lexicon()}
    texts = [sentence.text for sentence in sources.read("tiny")]
    words = {word.lower() for sentence in tokenised(texts) for word in sentence}
    assert 400 <= len(texts) == len(set(texts))
    assert len(words) >= 250
    assert words <= forms
    assert len(forms - words) >= 100, "a lexicon knows more words than a text uses"


def test_the_lexicon_speaks_ud():
    rows = lexicon()
    assert len({tuple(row.values()) for row in rows}) == len(rows)
    for row in rows:
        assert row["form"] and row["lemma"] and row["upos"].isupper(), row
        names = [feature.split("=")[0] for feature in row["feats"].split("|")]
        assert names == sorted(set(names), key=str.lower), row
        assert re.fullmatch(rf"_|{FEATURE}(\|{FEATURE})*", row["feats"]), row
