"""Lattices of HTK: what is written is read, words on nodes or links; faults have a line."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lattice_cases import LATTICES

from accord.zoo.lattices import (
    HTK_SILENT,
    Arc,
    Lattice,
    fields_of,
    read_lattices,
    read_lists,
    slf_text_of,
    write_lattices,
)

# A word, then a choice, and a link that says nothing.
ON_LINKS = """VERSION=1.0
UTTERANCE=test.mfc
lmname=wdnet
lmscale=20.00 wdpenalty=-30.00
vocab=dict
N=4    L=4
I=0    t=0.00
I=1    t=0.36
I=2    t=0.75
I=3    t=0.81
J=0     S=0    E=1    W=les     v=0  a=-300.50  l=-1.00
J=1     S=1    E=2    W=chats   v=0  a=-200.25  l=-2.50
J=2     S=1    E=2    W=chat    v=0  a=-201.00  l=-2.00   # likelier
J=3     S=2    E=3    W=!NULL   v=0  a=-10.00   l=0.00
"""
BEST = (["les chat", "les chats"], [-631.5, -640.75])
ON_NODES = """# of nodes that are in no order
VERSION=1.0
UTTERANCE=test.mfc
lmscale=20 wdpenalty=-30
NODES=5 LINKS=5
I=0 t=0.81 W=</s>
I=1 t=0.75 WORD=chats
I=2 t=0.75 WORD=chat
I=3 t=0.36 WORD=les
I=4 t=0.00 W=<s>
J=0 S=4 E=3 a=-300.5 l=-1
J=1 S=3 E=1 acoustic=-200.25 language=-2.5
J=2 START=3 END=2 a=-201 l=-2
J=3 S=1 E=0 a=-10
J=4 S=2 E=0 a=-10
"""


def read(tmp_path, text: str, name: str = "some.slf") -> list:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_lists(path)


@pytest.mark.parametrize("text", [ON_LINKS, ON_NODES, ON_LINKS.replace("\n", "\r\n")])
@pytest.mark.parametrize("name", ["some.slf", "some.lat"])
def test_words_on_nodes_or_on_links_are_the_same(text, name, tmp_path):
    (found,) = read(tmp_path, text, name)
    assert found.id == "test.mfc"
    assert (found.texts, found.scores) == BEST


@pytest.mark.parametrize("ending", [".slf", ".slf.gz"])
@given(lattices=st.lists(LATTICES, min_size=1, max_size=3))
def test_what_is_written_is_read(ending, lattices, tmp_path_factory):
    path = tmp_path_factory.mktemp("lattices") / f"some{ending}"
    lattices = [each._replace(id=f"u{n}") for n, each in enumerate(lattices)]
    write_lattices(path, [(each, f"said {each.id}") for each in lattices])
    found = read_lattices(path)
    assert [each.nbest(500) for each in found] == [each.nbest(500) for each in lattices]
    assert [each.reference for each in read_lists(path)] == [f"said {e.id}" for e in lattices]


@given(LATTICES)
def test_the_tools_of_htk_find_one_word_one_start_and_one_end(lattice):
    lines = [fields_of(line) for line in slf_text_of(lattice).splitlines()]
    nodes = {each["I"] for each in lines if "I" in each}
    links = [each for each in lines if "J" in each]
    assert not any("W" in link for link in links)
    assert len(nodes - {link["E"] for link in links}) == 1
    assert len(nodes - {link["S"] for link in links}) == 1


WORDS = st.text(min_size=1).filter(lambda word: word.split() == [word] and word not in HTK_SILENT)


@given(word=WORDS, name=WORDS)
def test_any_word_is_read_as_it_was_written(word, name, tmp_path_factory):
    path = tmp_path_factory.mktemp("lattices") / "some.slf"
    write_lattices(path, [(Lattice(name, (Arc(0, 1, word, 0.0),), {1: 0.0}), "")])
    (found,) = read_lattices(path)
    assert (found.id, found.nbest(1).texts) == (name, [word])


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("\\303\\251t\\303\\251", "été"),
        ('"New  York"', "New York"),
        ("'l\\'été'", "l'été"),
        ("l'été", "l'été"),
        ("\\'t", "'t"),
        ("a\\ b", "a b"),
        ("\\\\x", "\\x"),
        ("#1", "#1"),
        ("a=b", "a=b"),
    ],
)
def test_quotes_and_escapes(word, text, tmp_path):
    (found,) = read(tmp_path, f"N=2 L=1\nJ=0 S=0 E=1 W={word} a=-1\n")
    assert (found.id, found.texts) == ("some", [text])


@pytest.mark.parametrize(
    ("header", "score"),
    [
        ("", -1 - 2 - 3 - 4),
        ("acscale=2 lmscale=3 ngscale=0 prscale=0.5", -2 - 6 - 2),
        ("base=10", -10 * math.log(10)),
        ("base=1 wdpenalty=-5", -15),
        ("base=2.718281828459045", -10),
    ],
)
def test_scores_are_nats_whatever_the_header_says(header, score, tmp_path):
    (found,) = read(tmp_path, f"{header}\nN=2 L=1\nJ=0 S=0 E=1 W=oui a=-1 l=-2 n=-3 r=-4\n")
    assert found.scores == pytest.approx([score])


def test_what_a_link_does_not_say_its_last_node_says(tmp_path):
    text = (
        "wdpenalty=-1\nN=3 L=2\nI=0 W=il a=-4\nI=1 W=dort a=-2\nI=2\nJ=0 S=0 E=1 l=-1\nJ=1 S=1 E=2"
    )
    (found,) = read(tmp_path, text)
    assert (found.texts, found.scores) == (["il dort"], [-9.0])


def test_a_file_holds_several_and_one_may_have_no_name(tmp_path):
    plain = "N=2 L=1\nJ=0 S=0 E=1 W=oui\n"
    found = read(
        tmp_path, f"{ON_LINKS}\n{plain}VERSION=1.0\n{plain}UTTERANCE=u VERSION=1.0\n{plain}"
    )
    assert [each.id for each in found] == ["test.mfc", "some-2", "some-3", "u"]


LINK = "J=0 S=0 E=1 W=oui"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "expected lattices, but there is none"),
        ("VERSION=1.0\n", "line 1: expected L= and a whole number, found nothing"),
        (f"N=2 L=1\n{LINK} a=1e999\n", "line 2: expected a finite number, found a=1e999"),
        (f"N=2 L=1 base=-2\n{LINK} a=1\n", "line 2: expected a base of 0 or more, found base=-2"),
        (f"N=2 L=1\n{LINK} chat\n", "line 2: expected NAME=VALUE, found 'chat'"),
        ("N=2 L=1\nJ=0 S=0 E=1 W=\\351t\\351\n", "line 2: expected bytes of UTF-8"),
        ("N=2 L=1\nJ=0 S=0 E=2 W=oui\n", "line 2: expected E below N=2, found 2"),
        ("N=2 L=1\nJ=1 S=0 E=1 W=oui\n", "line 2: expected J below L=1, found 1"),
        (f"N=2 L=2\n{LINK}\n", "line 2: expected L=2 links, found 1"),
        (f"N=2 L=1\nI=0\n{LINK}\n", "line 3: expected N=2 lines of nodes, found 1"),
        (f"SUBLAT=s\nN=2 L=1\n{LINK}\n.\n", "line 1: expected no sub-lattice, found SUBLAT=s"),
        (f"N=3 L=2\n{LINK}\nJ=1 S=0 E=2 W=non\n", "one node that no link leaves, found 2"),
        (
            f"N=4 L=4\n{LINK}\nJ=1 S=1 E=2 W=a\nJ=2 S=2 E=1 W=a\nJ=3 S=2 E=3 W=a\n",
            "line 5: expected links that lead on, found a loop",
        ),
        ("VERSION=1.0\nI~0\n", "line 2: expected NAME=VALUE, found 'I~0'"),
    ],
)
def test_bad_lattices_are_refused_by_line(content, message, tmp_path):
    with pytest.raises(ValueError, match=message) as refused:
        read(tmp_path, content, "bad.slf")
    assert "bad.slf" in str(refused.value)
