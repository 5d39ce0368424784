"""Plain text files: one sentence a line, compressed or not; which rows of a treebank are words."""

import bz2
import gzip
import lzma

import pytest

from accord.corpora.text import CorpusError, TreebankRow, read, words

TEXT = "\ufeffIl dort.\n\n  Elle part.\r\nÇa va"


def test_lines_are_sentences_and_blank_lines_are_not(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(TEXT.encode())
    sentences = list(read(path, "train"))
    assert [sentence.text for sentence in sentences] == ["Il dort.", "Elle part.", "Ça va"]
    assert [sentence.id for sentence in sentences] == ["a.txt:1", "a.txt:3", "a.txt:4"]
    assert {(sentence.rows, sentence.split) for sentence in sentences} == {(None, "train")}


@pytest.mark.parametrize("ending, module", [(".gz", gzip), (".xz", lzma), (".bz2", bz2)])
def test_compressed_files_read_the_same_and_damaged_ones_are_named(tmp_path, ending, module):
    path = tmp_path / f"a.txt{ending}"
    path.write_bytes(module.compress(TEXT.encode()))
    assert [sentence.text for sentence in read(path)] == ["Il dort.", "Elle part.", "Ça va"]
    for damaged in (module.compress(TEXT.encode() * 100)[:-12], b"not compressed at all"):
        path.write_bytes(damaged)
        with pytest.raises(CorpusError, match="damaged or cut short"):
            list(read(path))


def test_other_encodings_are_named_with_their_first_byte(tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes("Il dort.\nÉté\n".encode("latin-1"))
    fault = r"latin\.txt.*UTF-8.*0xc9 at byte offset 9; .*save it as UTF-8"
    with pytest.raises(CorpusError, match=fault):
        list(read(path))


def test_each_view_counts_its_own_words():
    kinds = ("word", "word", "contracted", "part", "part", "word", "empty")
    rows = list(map(TreebankRow, ["Il", "parle", "des", "de", "les", "chats", "elidé"], kinds))
    assert words(rows, "surface") == ["Il", "parle", "des", "chats"]
    assert words(rows, "syntactic") == ["Il", "parle", "de", "les", "chats"]
    assert words(rows, "rows") == ["Il", "parle", "des", "de", "les", "chats"]
    with pytest.raises(ValueError, match=r"'lemmas'.*surface, syntactic, rows"):
        words(rows, "lemmas")
