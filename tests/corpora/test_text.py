"""Plain text files: one sentence a line, compressed or not."""

import bz2
import gzip
import lzma

import pytest

from accord.corpora.text import CorpusError, read

TEXT = "Il dort.\n\n  Elle part.\r\nÇa va"


def test_lines_are_sentences_and_blank_lines_are_not(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(TEXT.encode())
    found = list(read(path, "train"))
    assert [sentence.text for sentence in found] == ["Il dort.", "Elle part.", "Ça va"]
    assert [sentence.id for sentence in found] == ["a.txt:1", "a.txt:3", "a.txt:4"]
    assert {(sentence.rows, sentence.split) for sentence in found} == {(None, "train")}


@pytest.mark.parametrize("ending, module", [(".gz", gzip), (".xz", lzma), (".bz2", bz2)])
def test_compressed_files_read_the_same(tmp_path, ending, module):
    plain, packed = tmp_path / "a.txt", tmp_path / f"a.txt{ending}"
    plain.write_bytes(TEXT.encode())
    packed.write_bytes(module.compress(TEXT.encode()))
    assert [sentence.text for sentence in read(packed)] == [s.text for s in read(plain)]


@pytest.mark.parametrize("ending, module", [(".gz", gzip), (".xz", lzma), (".bz2", bz2)])
def test_a_damaged_compressed_file_is_named(tmp_path, ending, module):
    path = tmp_path / f"a.txt{ending}"
    path.write_bytes(module.compress(TEXT.encode() * 100)[:-12])
    with pytest.raises(CorpusError, match="damaged or cut short"):
        list(read(path))
    path.write_bytes(b"not compressed at all")
    with pytest.raises(CorpusError, match="damaged or cut short"):
        list(read(path))


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfIl dort.\n")
    assert next(read(path)).text == "Il dort."


def test_what_is_not_utf8_is_named_with_its_byte(tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes("Il dort.\nÉté\n".encode("latin-1"))
    with pytest.raises(
        CorpusError, match=r"latin\.txt.*UTF-8.*0xc9 at byte offset 9; .*save it as UTF-8"
    ):
        list(read(path))
