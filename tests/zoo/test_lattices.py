"""Lattices and n-best lists: read as written, ranked as defined, repaired by agreement."""

import json
import math
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest
from cli_cases import answered
from fuzz_cases import CASES, damaged, excerpt, fuzz, outcome
from hypothesis import given
from hypothesis import strategies as st

import accord
from accord.lexicon.homophones import Homophones, Spoken
from accord.pipeline.model.suites import Line, read_lines, read_suite
from accord.zoo.lattices import (
    COST,
    HTK_SILENT,
    Arc,
    Channel,
    Lattice,
    NBest,
    Terms,
    Weights,
    distance,
    error_rate,
    fields_of,
    read_lattices,
    read_lists,
    read_nbest,
    slf_text_of,
    tuned,
    write_lattices,
)

NODES = 5
SCORES = st.integers(-40, 40).map(lambda eighths: eighths / 8)  # whose sums are exact
ARCS = st.builds(
    lambda start, step, word, score: Arc(start, min(start + step, NODES), word, score),
    st.integers(0, NODES - 1),
    st.integers(1, 2),
    st.sampled_from(["", "a", "b", "c"]),
    SCORES,
)
LATTICES = st.builds(
    lambda arcs, final: Lattice("u", (*arcs, Arc(0, NODES, "a", 0.0)), {NODES: final}),
    st.lists(ARCS, max_size=12),
    SCORES,
)


def every_path(lattice: Lattice, node: int = 0) -> list[tuple[tuple[str, ...], float]]:
    found = [((), lattice.ends[node])] if node in lattice.ends else []
    for arc in lattice.arcs:
        if arc.start == node:
            said = (arc.word,) if arc.word else ()
            found += [(said + words, arc.score + s) for words, s in every_path(lattice, arc.end)]
    return found


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


def read_slf(tmp_path, text: str, name: str = "some.slf") -> list:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_lists(path)


@pytest.mark.parametrize("text", [ON_LINKS, ON_NODES, ON_LINKS.replace("\n", "\r\n")])
@pytest.mark.parametrize("name", ["some.slf", "some.lat"])
def test_words_on_nodes_or_on_links_are_the_same(text, name, tmp_path):
    (found,) = read_slf(tmp_path, text, name)
    assert found.id == "test.mfc"
    assert (found.texts, found.scores) == BEST


@pytest.mark.parametrize("ending", [".slf", ".slf.gz"])
@given(lattices=st.lists(LATTICES, min_size=1, max_size=3))
def test_slf_is_read_as_it_was_written(ending, lattices, tmp_path_factory):
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


HTK_WORDS = st.text(min_size=1).filter(
    lambda word: word.split() == [word] and word not in HTK_SILENT
)


@given(word=HTK_WORDS, name=HTK_WORDS)
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
        ("a\\ b", "a b"),
        ("#1", "#1"),
    ],
)
def test_quotes_and_escapes(word, text, tmp_path):
    (found,) = read_slf(tmp_path, f"N=2 L=1\nJ=0 S=0 E=1 W={word} a=-1\n")
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
    (found,) = read_slf(tmp_path, f"{header}\nN=2 L=1\nJ=0 S=0 E=1 W=oui a=-1 l=-2 n=-3 r=-4\n")
    assert found.scores == pytest.approx([score])


def test_a_file_holds_several_and_one_may_have_no_name(tmp_path):
    plain = "N=2 L=1\nJ=0 S=0 E=1 W=oui\n"
    found = read_slf(
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
def test_bad_slf_is_refused_by_line(content, message, tmp_path):
    with pytest.raises(ValueError, match=message) as refused:
        read_slf(tmp_path, content, "bad.slf")
    assert "bad.slf" in str(refused.value)


SOUNDS = [
    *(Spoken("la", "la", 100.0), Spoken("là", "la", 10.0)),
    *(Spoken("l'", "l", 80.0), Spoken("a", "a", 60.0), Spoken("à", "a", 90.0)),
    *(Spoken("chat", "Sa", 5.0), Spoken("char", "SaR", 4.0)),
]
SPOKEN_WORDS = st.lists(
    st.sampled_from(["la", "l'", "a", "chat", ",", "Zoé"]), min_size=1, max_size=6
)


@given(SPOKEN_WORDS, st.booleans())
def test_what_was_said_may_have_been_heard(words, spelling):
    lattice = Channel(Homophones.of_rows(SOUNDS), spelling).lattice("u", words)
    found = lattice.nbest(10**6)
    assert " ".join(words) in found.texts
    assert all(one >= other for one, other in pairwise(found.scores))


def test_a_word_becomes_what_sounds_the_same_alone_or_with_an_elided_one():
    channel = Channel(Homophones.of_rows(SOUNDS))
    assert set(channel.lattice("u", ["la"]).nbest(9).texts) == {"la", "là", "l' a", "l' à"}
    assert set(channel.lattice("u", ["l'", "a"]).nbest(9).texts) == {"la", "là", "l' a", "l' à"}


def test_with_a_vocabulary_no_other_words_are_heard():
    channel = Channel(Homophones.of_rows(SOUNDS), spelling=True, vocabulary={"là", "l'", "à"})
    assert set(channel.lattice("u", ["la"]).nbest(9).texts) == {"la", "là", "l' à"}
    assert set(channel.lattice("u", ["chat"]).nbest(9).texts) == {"chat"}


def test_scores_are_frequencies_and_a_letter_costs():
    found = Channel(Homophones.of_rows(SOUNDS), spelling=True).lattice("u", ["chat"]).nbest(9)
    scores = dict(zip(found.texts, found.scores, strict=True))
    assert scores["chat"] == pytest.approx(math.log(5e-6))
    assert scores["char"] == pytest.approx(math.log(4e-6) - COST)


@pytest.mark.slow
def test_lists_of_a_text_are_made_and_read(tmp_path):
    text, lists = tmp_path / "text.txt", tmp_path / "new" / "lists.jsonl"
    text.write_text("Elle est partie.\nCes 50 000 enfants chantent.\n", encoding="utf-8")
    answered("rescore", str(lists), "--make", str(text), "--size", "20")
    first, second = read_nbest(lists)
    assert first.reference == "elle est partie ."
    assert "elle est parti ." in first.texts
    assert "ses 50 000 enfants chante ." in second.texts
    lattices = tmp_path / "lattices.lat"
    answered("rescore", str(lattices), "--make", str(text))
    again = read_lists(lattices)
    assert [each.reference for each in again] == [first.reference, second.reference]
    assert again[1].texts[:20] == second.texts


DATA = Path(__file__).parents[1] / "data"
LETTERS = st.lists(st.sampled_from("abc"), max_size=6)


def test_tuned_weights_repair_agreement_in_other_sentences(trained):
    files = [str(DATA / "test.nbest.jsonl"), "--tune", str(DATA / "dev.nbest")]
    command = ["rescore", *files, "--run", str(trained), "--model", "ll-rnn"]
    done = answered(*command)
    assert "word error rate: 20.00% before" in done.output
    after = float(done.output.split("before, ")[1].split("%")[0])
    assert after < 20
    assert "t2 ||| les petites filles dorment" in done.output


def test_no_weights_of_the_grid_are_better_than_the_tuned_ones(trained):
    lists = read_nbest(DATA / "dev.nbest")
    terms = Terms.scored(lists, accord.load(trained, "ll-rnn"))
    best = error_rate(lists, tuned(lists, terms).best(terms))
    assert best < error_rate(lists, Weights(0, 0).best(terms))
    for model in (0.1, 0.3, 1, 3):
        assert best <= error_rate(lists, Weights(model, 0).best(terms)) + 1e-9


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a ||| le chat ||| -1\n\na le chat", r"line 3: expected ID \|\|\| HYPOTHESIS"),
        ("a ||| le chat ||| -1 nan", "line 1: expected finite numbers as scores.* found -1 nan"),
        ('{"id": 1, "hypotheses": [', "line 1: expected JSON, but"),
        ("a ||| le chat ||| reference", "expected hypotheses, but 'a' has none"),
    ],
)
def test_bad_lists_are_refused_by_line(content, message, tmp_path):
    path = tmp_path / "bad.nbest"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=message) as refusal:
        read_nbest(path)
    assert str(path) in str(refusal.value)


@given(LETTERS, LETTERS, LETTERS)
def test_the_distance_is_a_metric(one, two, three):
    assert (distance(one, two) == 0) == (one == two)
    assert distance(one, two) == distance(two, one)
    assert distance(one, three) <= distance(one, two) + distance(two, three)
    assert abs(len(one) - len(two)) <= distance(one, two) <= max(len(one), len(two))


ODD_WORDS = st.lists(st.text("aàbcéêœ'-.!|", min_size=1, max_size=6), min_size=1, max_size=5)
SUITES = {
    ".txt": "True\tla fille mange\nFalse\tla fille mangent\nTrue\tl' été\nFalse\tl' étés\n",
    ".csv": "item,good,bad\n1,la fille mange,la fille mangent\n2,l'été,\"l'étés, là\"\n",
    ".tsv": "good\tbad\tUID\nla fille mange\tla fille mangent\tsv\n",
    ".jsonl": '{"sentence_good": "l\'été", "sentence_bad": "l\'\\ud83d\\ude00", "UID": "n"}\n',
}


def read_suite_file(path: Path) -> list[Line]:
    return list(read_lines(path))


@pytest.mark.parametrize("ending", SUITES)
@CASES
def test_damaged_suites(cases, ending, tmp_path):
    """Every line is a pair or a fault that is named; what is a pair stands in the file."""
    path = tmp_path / f"simple{ending}"

    def check(data: bytes) -> None:
        for line in outcome(read_suite_file, path, data) or ():
            assert line.where.startswith(str(path))
            assert line.fault or (line.good.strip() and line.bad.strip())
            line.good.encode(), line.bad.encode(), line.construction.encode()
        for pair in outcome(lambda path: read_suite(str(path)).pairs, path, data) or ():
            assert pair.good.strip() and pair.bad.strip() and pair.good != pair.bad

    samples = [SUITES[ending].encode()]
    if ending == ".txt":
        samples.append(excerpt("clams-fr", "simple_agrmt.txt", 10**9)[:600])
    fuzz(cases, damaged(samples), check)


@pytest.mark.parametrize("ending", SUITES)
@CASES
def test_any_suite_is_read_as_it_was_written(cases, ending, tmp_path):
    path = tmp_path / f"simple{ending}"

    def check(pairs: list[tuple[str, str]]) -> None:
        table = pd.DataFrame(pairs, columns=["good", "bad"])
        if ending == ".txt":
            lines = [f"True\t{good}\nFalse\t{bad}\n" for good, bad in pairs]
            path.write_text("".join(lines), encoding="utf-8")
        elif ending == ".jsonl":
            table.to_json(path, orient="records", lines=True, force_ascii=False)
        else:
            table.to_csv(path, index=False, sep="\t" if ending == ".tsv" else ",")
        found = read_suite_file(path)
        assert [(line.good, line.bad, line.fault) for line in found] == [
            (*pair, None) for pair in pairs
        ]

    sentence = ODD_WORDS.map(" ".join)
    fuzz(cases, st.lists(st.tuples(sentence, sentence), min_size=1), check)


SOUND = {
    ".nbest": "a ||| le chat ||| -1.5 -2\na ||| les chats ||| -3\na ||| le chat ||| reference\n",
    ".jsonl": '{"id": "a", "hypotheses": [{"text": "\\ud83d\\ude00", "score": -1}], '
    '"reference": "été"}\n',
}


@pytest.mark.parametrize("ending", SOUND)
@CASES
def test_damaged_n_best_lists(cases, ending, tmp_path):
    def check(data: bytes) -> None:
        found = outcome(read_nbest, tmp_path / f"lists{ending}", data)
        if found is not None:
            "".join(text for each in found for text in (each.id, *each.texts)).encode()
            write(found, tmp_path / "again.jsonl")
            assert read_nbest(tmp_path / "again.jsonl") == found

    fuzz(cases, damaged([SOUND[ending].encode()]), check)


LATTICE_FILES = {
    ".lat": "a\n0 1 le 1.5,2,\n0 1 <eps> ,,\n1 2 été 0,0.5,3_4\n2 0,1,\n\nb\n0 1 oui\n1\n",
    ".slf": "# of two\nVERSION=1.0\nUTTERANCE=a lmscale=2 wdpenalty=-1\nbase=10\nN=3 L=3\n"
    "I=0 t=0.0 W=!NULL\nI=1 t=0.4\nI=2 t=0.9\nJ=0 S=0 E=1 W=le a=-1.5 l=-2\n"
    "J=1 S=0 E=1 W=!NULL\nJ=2 S=1 E=2 W=\\303\\251t\\303\\251 v=0 a=-5e-1\n"
    'VERSION=1.0\nNODES=2 LINKS=1\nI=0\nI=1 WORD="été"\nJ=0 START=0 END=1 acoustic=-1\n',
}


@pytest.mark.parametrize("ending", LATTICE_FILES)
@CASES
def test_damaged_lattices(cases, ending, tmp_path):
    def check(data: bytes) -> None:
        for found in outcome(read_lists, tmp_path / f"some{ending}", data) or ():
            assert found.texts
            assert all(map(math.isfinite, found.scores))
            "".join([found.id, *found.texts]).encode()

    fuzz(cases, damaged([LATTICE_FILES[ending].encode()]), check)


@CASES
def test_any_n_best_lists_are_read_as_they_were_written(cases, tmp_path):
    def check(lists: list[NBest]) -> None:
        write(lists, tmp_path / "lists.jsonl")
        assert read_nbest(tmp_path / "lists.jsonl") == lists

    sentence = ODD_WORDS.map(" ".join)
    one = st.lists(st.tuples(sentence, st.floats(-1e6, 1e6)), min_size=1, max_size=4).map(
        lambda pairs: list(map(list, zip(*pairs, strict=True)))
    )
    lists = st.lists(st.tuples(one, st.none() | sentence), min_size=1, max_size=3)
    numbered = lists.map(
        lambda found: [NBest(str(n), *pairs, said) for n, (pairs, said) in enumerate(found)]
    )
    fuzz(cases, numbered, check)


def write(lists: list[NBest], path: Path) -> None:
    lines = [
        json.dumps(
            {
                "id": each.id,
                "hypotheses": [
                    {"text": text, "score": score}
                    for text, score in zip(each.texts, each.scores, strict=True)
                ],
                "reference": each.reference,
            }
        )
        for each in lists
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
