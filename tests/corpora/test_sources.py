"""What a user may name as a corpus, several as one, and what is said when it cannot be read."""

import bz2
import csv
import gzip
import lzma
import re
from importlib.resources import files as package_files

import pytest

from accord.corpora import sources
from accord.corpora.conllu import FEATURE
from accord.corpora.sources import files, part_names, read, read_parts, read_words
from accord.corpora.text import CorpusError, TreebankRow, words
from accord.corpora.text import read as read_lines
from accord.corpora.tokenise import tokenised

TREE = "1\tOui\toui\tINTJ\t_\t_\t0\troot\t_\t_\n\n"


def texts(source, **given):
    return [sentence.text for sentence in read(str(source), **given)]


def test_a_file_a_pattern_and_a_folder(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("Un.\n")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"Deux.\n"))
    (tmp_path / "notes.md").write_text("not a corpus")
    (tmp_path / "old.txt").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert texts(tmp_path / "a.txt") == texts("a*.txt") == texts("~/a.txt") == ["Un."]
    assert texts(tmp_path / "*.txt*") == texts(tmp_path) == ["Un.", "Deux."]
    assert files(str(tmp_path)) == [tmp_path / "a.txt", tmp_path / "b.txt.gz"]


def test_files_named_for_splits_fix_them_and_one_alone_does_not(tmp_path):
    for split in ("train", "dev", "test"):
        (tmp_path / f"fr_x-ud-{split}.conllu").write_text(TREE)
    splits = {sentence.id: sentence.split for sentence in read(str(tmp_path))}
    assert splits == {f"fr_x-ud-{split}.conllu:1": split for split in ("train", "dev", "test")}
    (only,) = read(str(tmp_path / "fr_x-ud-train.conllu"))
    assert only.split is None


@pytest.mark.parametrize(
    ("sources", "names"),
    [
        (["orangesum", "wiktionnaire"], ["orangesum", "wiktionnaire"]),
        (["/data/a.txt", "b.txt"], ["a.txt", "b.txt"]),
        (["/one/a.txt", "/two/a.txt"], ["one/a.txt", "two/a.txt"]),
        (["a.txt", "/two/a.txt"], ["a.txt", "two/a.txt"]),
        (["hub:owner/set:config", "tiny"], ["set:config", "tiny"]),
        (["/a.txt"], ["a.txt"]),
    ],
)
def test_a_part_is_called_by_the_end_of_its_path_that_no_other_has(sources, names):
    assert part_names(sources) == names


def test_sources_with_splits_of_their_own_come_first(tmp_path):
    (tmp_path / "plain.txt").write_text("Un.\nDeux.\n")
    (tmp_path / "bank").mkdir()
    for split in ("train", "test"):
        (tmp_path / "bank" / f"bank-{split}.txt").write_text(f"Phrase de {split}.\n")
    found = list(read_parts([str(tmp_path / "plain.txt"), str(tmp_path / "bank")]))
    assert [(part, sentence.text, sentence.split) for part, sentence in found] == [
        ("bank", "Phrase de test.", "test"),
        ("bank", "Phrase de train.", "train"),
        ("plain.txt", "Un.", None),
        ("plain.txt", "Deux.", None),
    ]


def test_words_are_those_of_a_text_or_the_surface_words_of_a_treebank(tmp_path):
    (tmp_path / "text.txt").write_text("Elle est partie.\n", encoding="utf-8")
    (tmp_path / "x.conllu").write_text(TREE, encoding="utf-8")
    assert [*read_words(str(tmp_path / "text.txt"))] == [
        ("text.txt:1", ["Elle", "est", "partie", "."])
    ]
    assert [*read_words(str(tmp_path / "x.conllu"))] == [("x.conllu:1", ["Oui"])]


def test_words_of_one_split_are_read_and_one_that_a_source_lacks_is_refused(tmp_path):
    for split in ("train", "test"):
        (tmp_path / f"x-{split}.txt").write_text(f"Phrase de {split}.\n", encoding="utf-8")
    ((name, _),) = read_words(str(tmp_path), split="test")
    assert name == "x-test.txt:1"
    with pytest.raises(ValueError, match=r"expected a split of it \(test, train\), got dev"):
        list(read_words(str(tmp_path), split="dev"))
    with pytest.raises(ValueError, match=r"expected a split of it \(none\), got test"):
        list(read_words(str(tmp_path / "x-test.txt"), split="test"))


def documents(source) -> list[str]:
    return [sentence.document for sentence in read(str(source))]


def test_a_file_is_a_document_unless_blank_lines_part_it(tmp_path):
    (tmp_path / "a.txt").write_text("Un.\nDeux.\n\n\nTrois.\n \nQuatre.\n")
    (tmp_path / "b.txt").write_text("Un.\nDeux.\n")
    assert documents(tmp_path) == ["a.txt:1", "a.txt:1", "a.txt:5", "a.txt:7", "b.txt:1", "b.txt:1"]
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.txt").write_text("Un.\n")
    assert documents(tmp_path / "*" / "a.txt") == ["one/a.txt:1", "two/a.txt:1"]


def test_newdoc_begins_a_document_of_a_treebank_and_else_the_file_is_one(tmp_path):
    trees = [TREE, f"# newdoc id = n01\n{TREE}", TREE, f"# newdoc\n{TREE}", TREE]
    (tmp_path / "x.conllu").write_text("".join(trees))
    names = ["x.conllu", "x.conllu:n01", "x.conllu:n01", "x.conllu:8", "x.conllu:8"]
    assert documents(tmp_path / "x.conllu") == names


def test_a_column_names_the_document(tmp_path):
    (tmp_path / "a.tsv").write_text("text\tdocument\nUn.\tn1\nDeux.\t\n")
    (tmp_path / "b.jsonl").write_text('{"text": "Un.", "document": 7}\n')
    assert documents(tmp_path / "a.tsv") == ["a.tsv:n1", "a.tsv"]
    assert documents(tmp_path / "b.jsonl") == ["b.jsonl:7"]


TEXT = "\ufeffIl dort.\n\n  Elle part.\r\nÇa va"


def test_lines_are_sentences_and_blank_lines_are_not(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(TEXT.encode())
    sentences = list(read_lines(path, "train"))
    assert [sentence.text for sentence in sentences] == ["Il dort.", "Elle part.", "Ça va"]
    assert [sentence.id for sentence in sentences] == ["a.txt:1", "a.txt:3", "a.txt:4"]
    assert {(sentence.rows, sentence.split) for sentence in sentences} == {(None, "train")}


@pytest.mark.parametrize("ending, module", [(".gz", gzip), (".xz", lzma), (".bz2", bz2)])
def test_compressed_files_read_the_same_and_damaged_ones_are_named(tmp_path, ending, module):
    path = tmp_path / f"a.txt{ending}"
    path.write_bytes(module.compress(TEXT.encode()))
    assert [sentence.text for sentence in read_lines(path)] == ["Il dort.", "Elle part.", "Ça va"]
    for damaged in (module.compress(TEXT.encode() * 100)[:-12], b"not compressed at all"):
        path.write_bytes(damaged)
        with pytest.raises(CorpusError, match="damaged or cut short"):
            list(read_lines(path))


def test_other_encodings_are_named_with_their_first_byte(tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes("Il dort.\nÉté\n".encode("latin-1"))
    fault = r"latin\.txt.*UTF-8.*0xc9 at byte offset 9; .*save it as UTF-8"
    with pytest.raises(CorpusError, match=fault):
        list(read_lines(path))


def test_each_view_counts_its_own_words():
    kinds = ("word", "word", "contracted", "part", "part", "word", "empty")
    rows = list(map(TreebankRow, ["Il", "parle", "des", "de", "les", "chats", "elidé"], kinds))
    assert words(rows, "surface") == ["Il", "parle", "des", "chats"]
    assert words(rows, "syntactic") == ["Il", "parle", "de", "les", "chats"]
    assert words(rows, "rows") == ["Il", "parle", "des", "de", "les", "chats"]
    with pytest.raises(ValueError, match=r"'lemmas'.*surface, syntactic, rows"):
        words(rows, "lemmas")


def lexicon() -> list[dict]:
    table = package_files("accord.lexicon") / "tiny.tsv"
    with table.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def test_every_word_of_the_text_has_an_analysis():
    forms = {row["form"] for row in lexicon()}
    texts = [sentence.text for sentence in sources.read("tiny")]
    words = {word.lower() for sentence in tokenised(texts) for word in sentence}
    assert 400 <= len(texts) == len(set(texts))
    assert len(words) >= 250
    assert words <= forms
    assert len(forms - words) >= 100, "a lexicon knows more words than a text uses"


def test_the_lexicon_speaks_ud():
    rows = lexicon()
    assert len({tuple(row.values()) for row in rows}) == len(rows)
    for row in rows:
        assert row["form"] and row["lemma"] and row["upos"].isupper(), row
        names = [feature.split("=")[0] for feature in row["feats"].split("|")]
        assert names == sorted(set(names), key=str.lower), row
        assert re.fullmatch(rf"_|{FEATURE}(\|{FEATURE})*", row["feats"]), row
