"""Lattices: the best paths are those of all paths; what is written is read; faults have a line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lattice_cases import LATTICES, every_path

from accord.zoo.lattices import read_lattices, read_lists, write_lattices


@given(LATTICES, st.integers(1, 8))
def test_the_n_best_are_the_best_of_all_paths(lattice, size):
    scored = {}
    for words, score in every_path(lattice):
        if words:
            scored[" ".join(words)] = max(score, scored.get(" ".join(words), score))
    found = lattice.nbest(size)
    assert found.scores == sorted(scored.values(), reverse=True)[:size]
    assert [scored[text] for text in found.texts] == found.scores
    assert len(set(found.texts)) == len(found.texts)


@pytest.mark.parametrize("name", ["some.lat", "some.lat.gz"])
@given(lattices=st.lists(LATTICES, min_size=1, max_size=3))
def test_what_is_written_is_read(name, lattices, tmp_path_factory):
    path = tmp_path_factory.mktemp("lattices") / name
    lattices = [each._replace(id=f"u{n}") for n, each in enumerate(lattices)]
    write_lattices(path, [(each, f"said {each.id}") for each in lattices])
    assert list(read_lattices(path)) == lattices
    assert [found.reference for found in read_lists(path)] == [f"said {e.id}" for e in lattices]


def test_what_kaldi_prints_is_read(tmp_path):
    path = tmp_path / "kaldi.lat"
    path.write_text(
        "utt-1 \n0\t1\tles\t1.5,10.25,3_3_4\n1\t2\t<eps>\t,,\n1\t2\tchats\t0.5,2,\n2\t0,1,\n\n"
        "utt-2\n0 1 oui\n1\n"
    )
    one, two = read_lists(path)
    assert (one.texts, one.scores) == (["les", "les chats"], [-12.75, -15.25])
    assert (two.texts, two.scores) == (["oui"], [0.0])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "expected lattices, but there is none"),
        ("u\n0 1 le x,1,\n", "line 2: expected finite costs GRAPH,ACOUSTIC, found 'x,1,'"),
        ("u\n1 1 le 1,1,\n", "line 2: expected an arc to a later node, found 1 to 1"),
        ("u v\n0 1 le\n", "line 1: expected the ID of a lattice, found 'u v'"),
        ("u\n0 1 le 1,1,\n2 0,0,\n", "'u': expected a path with words from node 0 to an end"),
    ],
)
def test_bad_lattices_are_refused_by_line(content, message, tmp_path):
    path = tmp_path / "bad.lat"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_lists(path)
