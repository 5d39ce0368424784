"""The strict CoNLL-U reader: faults are placed, what is accepted comes back byte for byte."""

import gzip
from collections import Counter

import pytest
from conllu_cases import write

from accord.corpora import conllu
from accord.corpora.conllu import features
from accord.corpora.sources import read
from accord.corpora.text import CorpusError, words

GOOD = """\
# sent_id = un
# text = Il parle des 50 000 chats.
1\tIl\til\tPRON\t_\tGender=Masc|Number=Sing\t2\tnsubj\t_\t_
2\tparle\tparler\tVERB\t_\tTense=Pres\t0\troot\t_\t_
3-4\tdes\t_\t_\t_\t_\t_\t_\t_\t_
3\tde\tde\tADP\t_\t_\t6\tcase\t_\t_
4\tles\tle\tDET\t_\tNumber=Plur|Number[psor]=Sing,Plur\t6\tdet\t_\t_
5\t50 000\t50 000\tNUM\t_\t_\t6\tnummod\t_\t_
6\tchats\tchat\tNOUN\t_\t_\t2\tobl\t_\tSpaceAfter=No
6.1\tparle\tparler\tVERB\t_\t_\t_\t_\t0:root\t_
7\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_

1\tOui\toui\tINTJ\t_\t_\t0\troot\t_\tSpaceAfter=No
2\t!\t!\tPUNCT\t_\t_\t1\tpunct\t_\t_

"""


@pytest.fixture
def written(tmp_path):
    def write_text(content: str | bytes):
        path = tmp_path / "a.conllu"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_text


def test_rows_have_their_kinds_and_sentences_their_text(written):
    first, second = conllu.read_sentences(written(GOOD), "dev")
    kinds = ["word", "word", "contracted", "part", "part", "word", "word", "empty", "word"]
    assert [row.kind for row in first.rows] == kinds
    assert words(first.rows, "surface") == ["Il", "parle", "des", "50 000", "chats", "."]
    assert (first.id, first.text, first.split) == ("un", "Il parle des 50 000 chats.", "dev")
    assert (second.id, second.text) == ("a.conllu:13", "Oui!")


def test_columns_are_kept_for_who_needs_the_tree(written):
    tree = next(conllu.read(written(GOOD)))
    les = tree.tokens[4]
    assert (les.form, les.head, les.deprel) == ("les", "6", "det")
    assert features(les.feats) == {"Number": "Plur", "Number[psor]": "Sing,Plur"}
    assert features(tree.tokens[3].feats) == {}


@pytest.mark.parametrize("name", ["b.conllu", "b.conllu.gz", "b.conllu.xz", "b.conllu.bz2"])
def test_reading_and_writing_gives_the_same_bytes(written, tmp_path, name):
    path = written(GOOD)
    write(conllu.read(path), tmp_path / name)
    again = tmp_path / "again.conllu"
    write(conllu.read(tmp_path / name), again)
    assert again.read_bytes() == path.read_bytes()


def test_a_file_of_windows_has_the_same_trees(written):
    trees = [*conllu.read(written(GOOD))]
    windows = ("\ufeff" + GOOD).replace("\n", "\r\n")
    assert [*conllu.read(written(windows))] == trees


BARE = "_\t" * 7 + "_"  # the columns after the form
FAULTS = {
    "spaces for tabs": ("1 Oui _ _ _ _ 0 root _ _\n\n", 1, "got 1"),
    "nine columns": (f"1\tOui\t{BARE[2:]}\n\n", 1, "10 tab-separated columns, got 9"),
    "an empty column": (f"1\t\t{BARE}\n\n", 1, "column 2 (FORM)"),
    "a space in a tag": (f"1\tOui\t_\tA B\t{BARE[4:]}\n\n", 1, "column 4 (UPOS)"),
    "an id twice": (f"1\ta\t{BARE}\n" * 2 + "\n", 2, "expected 2, got 1"),
    "a range backwards": (f"1-1\tdu\t{BARE}\n\n", 1, "begins at 1, got 1-1"),
    "a range cut short": (f"1-2\tdu\t{BARE}\n1\tde\t{BARE}\n\n", 2, "within a range up to 2"),
    "a range with a lemma": (f"1-2\tdu\tde\t{BARE[2:]}\n\n", 1, "column 3 (LEMMA)"),
    "an empty node out of order": (f"1.1\tx\t{BARE}\n\n", 1, "expected 0.1, got 1.1"),
    "a feature twice": (
        f"1\tx\t_\t_\t_\tNumber=Sing|Number=Plur\t{BARE[8:]}\n\n",
        1,
        "column 6 (FEATS): the feature Number stands twice",
    ),
    "a head that is no word": (
        f"1\tx\t_\t_\t_\t_\t2\t{BARE[10:]}\n\n",
        1,
        "column 7 (HEAD): expected the id of another word, at most 1",
    ),
    "no last blank line": (f"1\tOui\t{BARE}\n", 2, "blank line that ends the last"),
    "a comment within": (f"1\tOui\t{BARE}\n# non\n\n", 2, "a comment after the first"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_named_with_file_line_and_column(written, fault):
    content, line, message = FAULTS[fault]
    for before in ("", GOOD):
        path = written(before + content)
        with pytest.raises(conllu.ConlluError) as caught:
            list(conllu.read(path))
        place = f"{path}, line {line + before.count(chr(10))}"
        assert str(caught.value).startswith(place)
        assert message in str(caught.value)


def test_a_damaged_compressed_treebank_is_named(tmp_path):
    path = tmp_path / "a.conllu.gz"
    path.write_bytes(gzip.compress(GOOD.encode())[:-9])
    with pytest.raises(CorpusError, match=r"a\.conllu\.gz: the compressed file is damaged"):
        list(conllu.read(path))


@pytest.mark.parametrize("source", ["ud-french-1.4", "ud-french-sequoia-2.16"])
def test_every_real_treebank_file_comes_back_byte_for_byte(source, fetched, tmp_path):
    paths = sorted(fetched(source).glob("*.conllu"))
    assert len(paths) == 3
    for path in paths:
        write(conllu.read(path), tmp_path / path.name)
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path


def test_ud_french_1_4_has_the_numbers_of_the_papers_tables(fetched):
    sentences, counts = Counter(), Counter()
    for sentence in read("ud-french-1.4", folder=fetched):
        sentences[sentence.split] += 1
        counts.update(row.kind for row in sentence.rows)
        counts["surface"] += len(words(sentence.rows, "surface"))
        counts["syntactic"] += len(words(sentence.rows, "syntactic"))
    assert sentences == {"train": 14_554, "dev": 1_596, "test": 298}
    assert counts["syntactic"] == 402_197
    assert counts["contracted"] == 11_057
    assert counts["surface"] == 391_140
