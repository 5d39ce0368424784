"""Labels of sentences: columns of tables and JSON lines, comments of CoNLL-U."""

import pytest

from corpora.sources import read
from corpora.text import CorpusError

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


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("a.tsv", "phrase\tgenre\nVa .\tnews\n", r"line 1: expected a header .* 'text'"),
        ("a.tsv", "text\tgenre\nVa .\n", "line 2: expected 2 columns, found 1"),
        ("a.tsv", "text\tgenre\n \tnews\n", "line 2: expected a sentence in 'text'"),
        ("a.jsonl", '{"text": "Va ."}\n{"texte": "Viens ."}\n', "line 2: expected an object"),
        ("a.jsonl", "{\n", "line 1: expected an object in JSON, but"),
        ("a.jsonl", '{"text": "Va \\ud800."}\n', r"a\.jsonl, line 1: .* half of a character"),
        ("a.jsonl", "[" * 10_000, "line 1: .* it is nested too deeply"),
    ],
)
def test_what_is_no_table_of_sentences_is_refused(tmp_path, name, content, fault):
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(CorpusError, match=fault):
        [*read(str(tmp_path / name))]
