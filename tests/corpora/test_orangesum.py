"""Articles of OrangeSum as sentences."""

import json
import lzma
from itertools import islice

import pytest

from corpora import CorpusError, read

ARTICLE = {
    "id": 7,
    "title": "Un titre sans point",
    "heading": "Le chef a parlé. Il n'a rien dit.",
    "article": "Une crise en 2019.Alors que l'été vient.Visa refuséLundi, il part.burs-kd/ber/roc",
    "date": "2019-05-28",
}


def corpus(folder, *lines: str):
    (folder / "articles.jsonl.xz").write_bytes(lzma.compress("".join(lines).encode()))
    return read("orangesum", folder=lambda name: folder)


def test_headings_and_texts_are_sentences_and_what_ends_in_no_stop_is_left_out(tmp_path):
    others = [
        {"id": 8, "heading": "2 septembre", "article": ""},
        {"id": 9, "heading": "x" * 200_000, "article": ""},
    ]
    lines = (json.dumps(article) + "\n" for article in (ARTICLE, *others))
    found = list(corpus(tmp_path, *lines))
    assert {sentence.id: sentence.text for sentence in found} == {
        "7.1": "Le chef a parlé.",
        "7.2": "Il n'a rien dit.",
        "7.3": "Une crise en 2019.",
        "7.4": "Alors que l'été vient.",
        "7.6": "Lundi, il part.",
    }
    assert all(sentence.rows is None and sentence.split is None for sentence in found)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("{", "expected an article in JSON, but"),
        ("[1]", r"expected an article in JSON, found '\[1\]"),
        ("[" * 100_000, "expected an article in JSON, but"),
        (
            json.dumps({**ARTICLE, "heading": "\ud83d."}),
            "expected .* half of a character",
        ),
        (json.dumps({"id": 1, "heading": ""}), "expected 'article' to be str, found none"),
        (json.dumps({**ARTICLE, "id": "7"}), "expected 'id' to be int, found '7'"),
        (json.dumps({**ARTICLE, "heading": None}), "expected 'heading' to be str, found None"),
    ],
)
def test_a_line_that_is_no_article_is_named(tmp_path, line, fault):
    with pytest.raises(CorpusError, match=rf"articles\.jsonl\.xz, line 2: {fault}"):
        list(corpus(tmp_path, json.dumps(ARTICLE) + "\n", line + "\n"))


def test_the_real_corpus_has_sentences_of_a_sensible_length(fetched):
    found = list(islice(read("orangesum", folder=fetched), 20_000))
    assert len({sentence.id for sentence in found}) == len(found)
    lengths = sorted(len(sentence.text.split()) for sentence in found)
    assert 18 < lengths[len(lengths) // 2] < 30
    assert lengths[-100] < 90
