"""Definitions of the French Wiktionary."""

import gzip

import pytest

from corpora import CorpusError, read

TEN = "un deux trois quatre cinq six sept huit neuf dix"
GLOSSES = f"""\
chat\tPetit animal. | Animal {TEN}. | Animal {TEN}.
Paris\tVille {TEN}.
parisien\tRelatif à Paris et {TEN}. | Habitant {TEN}.
chatte\tAnimal {TEN}.
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "glosses.txt.gz").write_bytes(gzip.compress(GLOSSES.encode()))
    return lambda name: tmp_path


def test_only_long_new_definitions_of_common_words_are_kept(folder):
    found = list(read("wiktionnaire", folder=folder))
    assert [sentence.text for sentence in found] == [f"Animal {TEN}.", f"Habitant {TEN}."]
    assert [sentence.id for sentence in found] == ["chat:1.2", "parisien:3.2"]
    assert all(sentence.rows is None and sentence.split is None for sentence in found)


def test_a_line_without_a_tab_is_named(tmp_path):
    (tmp_path / "glosses.txt.gz").write_bytes(gzip.compress(b"chat\tAnimal.\nchien\n"))
    with pytest.raises(CorpusError, match=r"glosses\.txt\.gz, line 2: expected headword, tab"):
        list(read("wiktionnaire", folder=lambda name: tmp_path))


def test_the_real_corpus_has_the_size_the_catalogue_promises(fetched):
    found = list(read("wiktionnaire", folder=fetched))
    assert len(found) == 158_543
    assert len({sentence.text for sentence in found}) == len({s.id for s in found}) == len(found)
