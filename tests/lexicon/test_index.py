"""The index holds what was read, and is made anew when what it was made of changes."""

import gc
import os
import shutil
import weakref
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accord import lexicon
from accord.corpora.tokenise import normalise
from accord.lexicon.analysis import LexiconError, plain
from accord.lexicon.index import Index, LexiconRow, build, cache_folder
from accord.lexicon.tables import read_contracted, treebank

words = st.text(min_size=1, max_size=6)
rows = st.lists(
    st.builds(
        LexiconRow, words, words, st.sampled_from(["NOUN", "VERB"]), st.sampled_from(["", "A=B"])
    ),
    min_size=1,
    max_size=30,
)


@given(rows, st.lists(words))
def test_every_row_is_found_and_no_other(rows, others):
    index = Index("test", "none", build(iter(rows)))
    rows = [row._replace(form=plain(row.form)) for row in rows]
    asked = np.array([*{row.form for row in rows}, *others], dtype=object)
    found = index.find(asked)
    answers = {(asked[word], *rest) for word, *rest in found.iloc[:, :4].itertuples(index=False)}
    assert answers == {row[:4] for row in rows}
    assert set(index) == {row.form for row in rows}
    for form in asked:
        assert {each[:3] for each in index.exact(form)} == {r[1:4] for r in rows if r.form == form}


def test_a_lexicon_that_was_asked_is_freed_when_nothing_holds_it():
    index = Index("test", "none", build(iter([LexiconRow("chat", "chat", "NOUN")])))
    assert index.analyses("chat") == index.analyses("chat")
    held = weakref.ref(index)
    del index
    gc.collect()
    assert held() is None


SPELLED = ["cœur", "Œuf", "aujourd’hui", "e\u0301te\u0301", "ex æquo", "İzmir", "ΑΣ"]


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("form", SPELLED)
def test_a_form_is_found_as_it_is_listed_as_a_text_has_it_and_in_its_own_case(form, lowercase):
    row = LexiconRow(form, "lemma", "NOUN")
    index = Index("test", "none", build(iter([row]), lowercase))
    index.lowercase = lowercase
    asked = {form, plain(form), normalise(form)} | ({form.lower()} if lowercase else set())
    for each in asked:
        assert [found.lemma for found in index.analyses(each)] == ["lemma"]
        assert index.lookup([each])["lemma"].tolist() == ["lemma"]


def test_the_same_text_is_compiled_once_and_a_changed_one_anew(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    table = tmp_path / "mine.tsv"
    head = "form\tlemma\tupos\tfeats\n"

    def compiled() -> int:
        return len(list(cache_folder().glob("mine-*")))

    table.write_text(head + "zig\tzig\tNOUN\t\n")
    lexicon.load([str(table)], folder=None)
    lexicon.load([str(table)], folder=None)
    assert compiled() == 1
    table.write_text(head + "zag\tzag\tNOUN\t\n")
    assert list(lexicon.load([str(table)], folder=None)) == ["zag"]
    assert compiled() == 2
    assert not list(cache_folder().glob("*.partial"))


def test_another_version_of_a_reader_or_another_reader_compiles_anew(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "mine.tsv"
    path.write_text("zig\tzig\tNOUN\t\t3\n")
    first = treebank(path)
    later = replace(first, version=first.version + 1)
    other = replace(first, read=read_contracted)
    keys = {each.open(path).identity() for each in (first, first, later)}
    assert len(keys) == 2
    with pytest.raises(LexiconError, match="no row could be read"):
        other.open(path)  # its rows are those without a part of speech, which the file has none of


@pytest.fixture
def made_once(tmp_path, monkeypatch):
    """A table, what its index answers, and the file of the index in the cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    table = tmp_path / "mine.tsv"
    rows = (f"mot{number}\tmot\tNOUN\tGender=Fem" for number in range(20))
    table.write_text("\n".join(["form\tlemma\tupos\tfeats", *rows]) + "\n")
    answers = lexicon.load([str(table)], folder=None).lookup([f"mot{n}" for n in range(20)])
    [path] = cache_folder().glob("mine-*")
    return table, answers, path


def answers_of(table):
    return lexicon.load([str(table)], folder=None).lookup([f"mot{n}" for n in range(20)])


def test_a_whole_file_of_the_cache_is_not_made_anew(made_once):
    table, answers, path = made_once
    before = path.stat().st_ino
    assert answers_of(table).equals(answers)
    assert path.stat().st_ino == before


@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_flipped_bit_in_the_cache_is_found_and_the_index_made_anew(made_once, place, bit):
    table, answers, path = made_once
    written = path.read_bytes()
    damaged = bytearray(written)
    damaged[int(place * len(damaged))] ^= 1 << bit
    path.write_bytes(damaged)
    assert answers_of(table).equals(answers)
    assert path.read_bytes() == written


@pytest.mark.parametrize("length", [0, 1, 40, -1])
def test_a_truncated_file_of_the_cache_is_made_anew(made_once, length):
    table, answers, path = made_once
    written = path.read_bytes()
    path.write_bytes(written[:length])
    assert answers_of(table).equals(answers)
    assert path.read_bytes() == written


def test_a_cache_that_cannot_be_written_is_reported_and_done_without(made_once, caplog):
    table, answers, path = made_once
    shutil.rmtree(path.parent)
    path.parent.write_text("a file where the folder should be")
    assert answers_of(table).equals(answers)
    assert "the next command makes it again: File exists" in caplog.text


def test_what_a_killed_process_left_in_the_cache_is_removed(made_once):
    table, _, path = made_once
    left, young = (path.parent / f"{name}.partial" for name in ("tmp1", "tmp2"))
    for each in (left, young):
        each.write_text("half a file")
    os.utime(left, (0, 0))
    path.unlink()
    answers_of(table)
    assert not left.exists() and young.exists()
