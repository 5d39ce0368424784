"""Damaged agreement suites and n-best lists: all sentences as they stand, or the line by name."""

import json
import math
from pathlib import Path

import pandas as pd
import pytest
from fuzz_cases import CASES, damaged, excerpt, fuzz, outcome
from hypothesis import strategies as st

from accord.pipeline.model.suites import Line, read_lines, read_suite
from accord.zoo.lattices import NBest, read_lists, read_nbest

WORDS = st.lists(st.text("aàbcéêœ'-.!|", min_size=1, max_size=6), min_size=1, max_size=5)
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

    sentence = WORDS.map(" ".join)
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


LATTICES = {
    ".lat": "a\n0 1 le 1.5,2,\n0 1 <eps> ,,\n1 2 été 0,0.5,3_4\n2 0,1,\n\nb\n0 1 oui\n1\n",
    ".slf": "# of two\nVERSION=1.0\nUTTERANCE=a lmscale=2 wdpenalty=-1\nbase=10\nN=3 L=3\n"
    "I=0 t=0.0 W=!NULL\nI=1 t=0.4\nI=2 t=0.9\nJ=0 S=0 E=1 W=le a=-1.5 l=-2\n"
    "J=1 S=0 E=1 W=!NULL\nJ=2 S=1 E=2 W=\\303\\251t\\303\\251 v=0 a=-5e-1\n"
    'VERSION=1.0\nNODES=2 LINKS=1\nI=0\nI=1 WORD="été"\nJ=0 START=0 END=1 acoustic=-1\n',
}


@pytest.mark.parametrize("ending", LATTICES)
@CASES
def test_damaged_lattices(cases, ending, tmp_path):
    def check(data: bytes) -> None:
        for found in outcome(read_lists, tmp_path / f"some{ending}", data) or ():
            assert found.texts
            assert all(map(math.isfinite, found.scores))
            "".join([found.id, *found.texts]).encode()

    fuzz(cases, damaged([LATTICES[ending].encode()]), check)


@CASES
def test_any_n_best_lists_are_read_as_they_were_written(cases, tmp_path):
    def check(lists: list[NBest]) -> None:
        write(lists, tmp_path / "lists.jsonl")
        assert read_nbest(tmp_path / "lists.jsonl") == lists

    sentence = WORDS.map(" ".join)
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
