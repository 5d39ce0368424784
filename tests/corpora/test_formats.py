"""Formats of single corpora: labelled sentences, definitions of the Wiktionary, news."""

import gzip
import json
import lzma
from collections import Counter
from itertools import islice

import pytest

from accord.corpora.sources import read
from accord.corpora.text import CorpusError

ROW = "1\tVa\taller\tVERB\t_\t_\t0\troot\t_\t_\n"
WRITTEN = {
    "a.tsv": "text\tgenre\ttopic\nVa .\tnews\tsport\nViens .\t\tart\n",
    "a.jsonl": '{"text": "Va .", "genre": "news", "topic": "sport", "words": ["Va"]}\n'
    '{"text": "Viens .", "topic": "art", "genre": ""}\n',
    "a.conllu": f"# sent_id = 1\n# genre = news\n# topic = sport\n# text = Va .\n{ROW}\n"
    f"# sent_id = 2\n# topic = art\n# text = Viens .\n{ROW}\n",
}


@pytest.mark.parametrize("name", WRITTEN)
def test_labels_are_read_by_their_names(tmp_path, name):
    (tmp_path / name).write_text(WRITTEN[name], encoding="utf-8")
    first, second = read(str(tmp_path / name))
    assert (first.text, dict(first.labels)) == ("Va .", {"genre": "news", "topic": "sport"})
    assert (second.text, dict(second.labels)) == ("Viens .", {"topic": "art"})


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
    assert [sentence.document for sentence in found] == ["chat", "parisien"]
    assert all(sentence.rows is None and sentence.split is None for sentence in found)


MARKUP = [
    "vignette|120px|Armoiries avec une harpe Meuble {}.",
    "Phosphate de fer dont la formule est {{fchim|Fe|2}} {}.",
    "Thumb: thumb Le corps {}.",
    "Intensité [[intensité de courant {}.",
    "Le ''corps'' {}.",
    "Le corps<ref>page 3</ref> {}.",
    "Synonyme d'analcime&thinsp;The {}.",
    "Valeur du code[//books.google.fr/books?id=2_02] {}.",
    "Le rapport \\sqrt 2 {}.",
    "Plante herbacée vivace. {} Catégorie:Plantes en français",
    "# Le corps {}.",
    ": Le corps {}.",
]
NO_MARKUP = [
    "Le symbole : <, {}.",
    "Une vignette automobile, 3 x < 5 et 1 heure = 60 minutes, à Donjons & Dragons, {}.",
    "Signe # ou * que l'on tape, [sic] d'où C#, {}.",
]


def test_definitions_with_wiki_markup_are_left_out_and_counted(tmp_path):
    wanted = [text.replace("{}", TEN) for text in NO_MARKUP]
    lines = [f"un\t{text.replace('{}', TEN)}\n" for text in MARKUP]
    lines += [f"deux\t{text} | Bref.\n" for text in wanted]
    (tmp_path / "glosses.txt.gz").write_bytes(gzip.compress("".join(lines).encode()))
    left_out = Counter()
    found = read("wiktionnaire", folder=lambda name: tmp_path, left_out=left_out)
    assert [sentence.text for sentence in found] == wanted
    assert left_out == {"wiki markup": len(MARKUP), "fewer than 10 words": len(wanted)}


def test_the_real_definitions_have_the_size_the_catalogue_promises(fetched):
    found = list(read("wiktionnaire", folder=fetched))
    assert len(found) == 157_282
    for sign in ("|", "{{", "[[", "''", "<ref", "px|", "http:"):
        assert not any(sign in sentence.text for sentence in found)
    assert len({sentence.text for sentence in found}) == len({s.id for s in found}) == len(found)


ARTICLE = {
    "id": 7,
    "title": "Un titre sans point",
    "heading": "Le chef a parlé. Il n'a rien dit.",
    "article": "Une crise en 2019.Alors que l'été vient.Visa refuséLundi, il part.burs-kd/ber/roc",
    "date": "2019-05-28",
}


def news(folder, *lines: str):
    (folder / "articles.jsonl.xz").write_bytes(lzma.compress("".join(lines).encode()))
    return read("orangesum", folder=lambda name: folder)


def test_headings_and_texts_are_sentences_and_what_ends_in_no_stop_is_left_out(tmp_path):
    others = [
        {"id": 8, "heading": "2 septembre", "article": ""},
        {"id": 9, "heading": "x" * 200_000, "article": ""},
    ]
    lines = (json.dumps(article) + "\n" for article in (ARTICLE, *others))
    found = list(news(tmp_path, *lines))
    assert {sentence.id: sentence.text for sentence in found} == {
        "7.1": "Le chef a parlé.",
        "7.2": "Il n'a rien dit.",
        "7.3": "Une crise en 2019.",
        "7.4": "Alors que l'été vient.",
        "7.6": "Lundi, il part.",
    }
    assert {sentence.document for sentence in found} == {"7"}
    assert all(sentence.rows is None and sentence.split is None for sentence in found)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("{", "expected an object in JSON, but"),
        (json.dumps({**ARTICLE, "heading": "\ud83d."}), "expected .* half of a character"),
        (json.dumps({**ARTICLE, "id": "7"}), "expected 'id' to be int, found '7'"),
    ],
)
def test_a_line_that_is_no_article_is_named(tmp_path, line, fault):
    with pytest.raises(CorpusError, match=rf"articles\.jsonl\.xz, line 2: {fault}"):
        list(news(tmp_path, json.dumps(ARTICLE) + "\n", line + "\n"))


def test_novels_and_sheets_are_read_paragraph_by_paragraph(tmp_path):
    text = "LE CAPTAIN\nIl entra. Elle dit :\n-- Venez ! Oui.\nson nom,"
    line = json.dumps({"id": "F1", "text": text}) + "\n"
    (tmp_path / "novels.jsonl.xz").write_bytes(lzma.compress(line.encode()))
    found = list(read("eltec", folder=lambda name: tmp_path))
    assert [sentence.text for sentence in found] == ["Il entra.", "Elle dit :", "— Venez !", "Oui."]
    assert {sentence.document for sentence in found} == {"F1"}


SENSIBLE = [("orangesum", (18, 30)), ("eltec", (11, 25)), ("fiches", (11, 30))]


@pytest.mark.parametrize(("source", "words"), SENSIBLE)
def test_real_texts_have_sentences_of_a_sensible_length(fetched, source, words):
    found = list(islice(read(source, folder=fetched), 20_000))
    assert len({sentence.id for sentence in found}) == len(found)
    lengths = sorted(len(sentence.text.split()) for sentence in found)
    assert words[0] < lengths[len(lengths) // 2] < words[1]
    assert len({sentence.document for sentence in found}) > 2
