"""Damaged agreement suites and n-best lists: all sentences as they stand, or the line by name."""

import json
import re
from pathlib import Path

import pytest
from fuzz_cases import CASES, damaged, excerpt, fuzz, outcome
from hypothesis import strategies as st

from pipeline.evaluation.suite import Pair, read_pairs
from pipeline.inference.nbest import NBest, read_nbest

PAIRS = "True\tla fille mange\nFalse\tla fille mangent\nTrue\tl' été\nFalse\tl' étés\n".encode()
WORDS = st.lists(st.text("aàbcéêœ'-.!|", min_size=1, max_size=6), min_size=1, max_size=5)


@CASES
def test_damaged_suites(cases, tmp_path):
    path = tmp_path / "simple.txt"

    def check(data: bytes) -> None:
        pairs = outcome(read_pairs, path, data)
        if pairs is not None:
            lines = [f"True\t{pair.good}\nFalse\t{pair.bad}\n" for pair in pairs]
            sound = re.sub(rb"\r*(\n|\Z)", b"\n", data)  # however the lines end
            assert "".join(lines).encode().rstrip(b"\n") == sound.rstrip(b"\n")

    fuzz(cases, damaged([PAIRS, excerpt("clams-fr", "simple_agrmt.txt", 10**9)[:600]]), check)


@CASES
def test_any_suite_is_read_as_it_was_written(cases, tmp_path):
    path = tmp_path / "simple.txt"

    def check(pairs: list[Pair]) -> None:
        lines = [f"True\t{pair.good}\nFalse\t{pair.bad}\n" for pair in pairs]
        path.write_text("".join(lines), encoding="utf-8")
        assert read_pairs(path) == pairs

    sentence = WORDS.map(" ".join)
    pair = st.builds(Pair, st.just("simple"), sentence, sentence)
    fuzz(cases, st.lists(pair.filter(lambda pair: pair.good != pair.bad)), check)


SOUND = {
    ".nbest": "a ||| le chat ||| -1.5 -2\na ||| les chats ||| -3\na ||| le chat ||| reference\n",
    ".jsonl": '{"id": "a", "hypotheses": [{"text": "été", "score": -1}], "reference": "été"}\n',
}


@pytest.mark.parametrize("ending", SOUND)
@CASES
def test_damaged_n_best_lists(cases, ending, tmp_path):
    def check(data: bytes) -> None:
        found = outcome(read_nbest, tmp_path / f"lists{ending}", data)
        if found is not None:
            write(found, tmp_path / "again.jsonl")
            assert read_nbest(tmp_path / "again.jsonl") == found

    fuzz(cases, damaged([SOUND[ending].encode()]), check)


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
