"""Damaged corpora: what is read is what stands there, to the byte, or the fault is named."""

import bz2
import gzip
import json
import lzma
from collections.abc import Iterable
from pathlib import Path

import pytest
from conllu_cases import write
from fuzz_cases import CASES, damaged, excerpt, fuzz, outcome
from hypothesis import strategies as st

from accord.corpora import conllu, formats, text
from accord.corpora.conllu import Token, Tree
from accord.corpora.segment import segment
from accord.corpora.text import Sentence, Unwanted

TREES = b"""\
# sent_id = a-1
# text = Il parle du chat.
1\tIl\til\tPRON\t_\tGender=Masc|Number=Sing\t2\tnsubj\t_\t_
2\tparle\tparler\tVERB\t_\tMood=Ind|VerbForm=Fin\t0\troot\t_\t_
3-4\tdu\t_\t_\t_\t_\t_\t_\t_\t_
3\tde\tde\tADP\t_\t_\t5\tcase\t_\t_
4\tle\tle\tDET\t_\tPronType=Art\t5\tdet\t_\t_
5\tchat\tchat\tNOUN\t_\t_\t2\tobl\t_\tSpaceAfter=No
5.1\tmort\tmort\tADJ\t_\t_\t_\t_\t_\t_
6\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_

# sentid: a-2
1\t50 000\t50 000\tNUM\t_\tNumber[psor]=Plur\t0\troot\t_\t_

"""


def real_trees() -> bytes:
    """The first trees of a real treebank."""
    return b"\n\n".join(excerpt("ud-french-1.4", "fr-ud-test.conllu", 10**9).split(b"\n\n")[:4])


@CASES
def test_damaged_trees(cases, tmp_path):
    def check(data: bytes) -> None:
        trees = outcome(lambda path: list(conllu.read(path)), tmp_path / "trees.conllu", data)
        if trees is not None:
            write(trees, tmp_path / "again.conllu")
            assert (tmp_path / "again.conllu").read_bytes() == data
            list(conllu.read_sentences(tmp_path / "trees.conllu"))

    real = real_trees()
    fuzz(cases, damaged([TREES, real + b"\n\n" if real else b""]), check)


WORD = st.text(st.characters(exclude_categories=["Cs", "Z", "C"]), min_size=1, max_size=8)
FEATS = st.lists(st.sampled_from(["Gender=Fem", "Number=Sing,Plur", "Person[psor]=1"]), unique=True)


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    words = draw(st.lists(WORD, min_size=1, max_size=6))
    tokens = []
    for number, form in enumerate(words, start=1):
        head = draw(st.integers(0, len(words)).filter(lambda head, own=number: head != own))
        feats = "|".join(draw(FEATS)) or "_"
        tag, misc = draw(WORD), draw(WORD)
        tokens.append(
            Token(str(number), form, draw(WORD), tag, "_", feats, str(head), "dep", "_", misc)
        )
    return Tree((f"# sent_id = {draw(WORD)}",), tuple(tokens), 1)


@CASES
def test_any_tree_is_read_as_it_was_written(cases, tmp_path):
    def check(written: list[Tree]) -> None:
        write(written, tmp_path / "trees.conllu")
        found = list(conllu.read(tmp_path / "trees.conllu"))
        assert [tree[:2] for tree in found] == [tree[:2] for tree in written]

    fuzz(cases, st.lists(trees(), max_size=3), check)


LINES = "\ufeffUne phrase.\n\n  Deux phrases… l’une «\u00a0ici\u00a0».\nTrois.".encode()
COMPRESSIONS = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}


def texts(path: Path) -> list[str]:
    return [sentence.text for sentence in text.read(path)]


@CASES
def test_damaged_texts(cases, tmp_path):
    def check(data: bytes) -> None:
        found = outcome(texts, tmp_path / "lines.txt", data)
        if found is not None:
            lines = data.decode("utf-8").removeprefix("\ufeff").split("\n")
            assert found == [line.strip() for line in lines if line.strip()]

    fuzz(cases, damaged([LINES]), check)


@pytest.mark.parametrize("ending", COMPRESSIONS)
@CASES
def test_damaged_compressed_texts(cases, ending, tmp_path):
    """Damage that changes the text is found; but several archives in a row are one sound file."""
    sound = [outcome(texts, tmp_path / "lines.txt", LINES * copies) for copies in range(1, 9)]

    def check(data: bytes) -> None:
        found = outcome(texts, tmp_path / f"lines.txt{ending}", data)
        assert found is None or found in sound

    fuzz(cases, damaged([COMPRESSIONS[ending](LINES)]), check)


def sentences(found: Iterable[Sentence | Unwanted]) -> list[Sentence]:
    return [each for each in found if isinstance(each, Sentence)]


GLOSSES = """\
chat\tPetit félin domestique au pelage doux qui chasse les souris la nuit | Bref
Paris\tCapitale de la France sur la Seine que beaucoup de gens visitent chaque année
""".encode()


@CASES
def test_damaged_definitions(cases, tmp_path):
    def check(data: bytes) -> None:
        found = outcome(
            lambda path: sentences(formats.read_wiktionnaire(path)), tmp_path / "glosses.txt", data
        )
        for sentence in found or ():
            assert sentence.text in data.decode("utf-8")
            assert "\t" not in sentence.text

    real = gzip.decompress(excerpt("wiktionnaire", "glosses.txt.gz", 10**9) or gzip.compress(b""))
    fuzz(cases, damaged([GLOSSES, b"".join(real.splitlines(keepends=True)[:30])]), check)


ARTICLES = """\
{"id": 7, "heading": "Un chef a parl\\u00e9. Il part.", "article": "En 2019.Alors qu'\\"on\\" va."}
{"id": 8, "heading": "", "article": "M. ? \\ud83d\\ude00 « Oui ! » Fin", "date": "2019"}
""".encode()


@CASES
def test_damaged_articles(cases, tmp_path):
    def check(data: bytes) -> None:
        found = outcome(
            lambda path: sentences(formats.read_orangesum(path)), tmp_path / "some.jsonl", data
        )
        if found is not None:
            articles = [json.loads(line) for line in data.decode("utf-8").split("\n") if line]
            written = [article["heading"] + article["article"] for article in articles]
            assert all(any(sentence.text in text for text in written) for sentence in found)
            "".join(written).encode()

    fuzz(cases, damaged([ARTICLES]), check)


FRENCH = st.text(st.sampled_from("abÉL Mé.!?…\"«»“”()'’-1 \n\u200b#@/"), max_size=60)


@CASES
def test_of_any_text_sentences_hold_all_but_spaces(cases):
    def check(written: str) -> None:
        def printed(text: str) -> str:
            return "".join(text.replace("\u200b", "").split())

        sentences = segment(written)
        assert all(sentences)
        assert printed("".join(sentences)) == printed(written)

    fuzz(cases, FRENCH, check)
