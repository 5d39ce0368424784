"""The index holds what was read, and is made anew when what it was made of changes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import lexicon
from lexicon.index import Index, build, cache_folder
from lexicon.reading import Row

words = st.text(min_size=1, max_size=6)
rows = st.lists(
    st.builds(Row, words, words, st.sampled_from(["NOUN", "VERB"]), st.sampled_from(["", "A=B"])),
    min_size=1,
    max_size=30,
)


@given(rows, st.lists(words))
def test_every_row_is_found_and_no_other(rows, others):
    index = Index("test", "none", build(iter(rows)))
    asked = np.array([*{row.form for row in rows}, *others], dtype=object)
    found = index.find(asked)
    answers = {(asked[word], *rest) for word, *rest in found.iloc[:, :4].itertuples(index=False)}
    assert answers == {row[:4] for row in rows}
    assert set(index) == {row.form for row in rows}
    for form in asked:
        assert {each[:3] for each in index.exact(form)} == {r[1:4] for r in rows if r.form == form}


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
