"""Sentences and their splits: none lost, none twice, whatever the source."""

import gzip
import json
import lzma
from itertools import groupby

import pytest

from accord.pipeline.base.arrow import rows, splits
from accord.pipeline.config.sections import CorpusParams
from accord.pipeline.stages import corpus


def made(out, *sources: str, **params) -> dict[str, list[str]]:
    """The texts of each split."""
    out.mkdir()
    corpus.compute(CorpusParams(sources, **params), {}, out)
    assert {path.name for path in out.iterdir() if path.suffix != ".arrow"} == {"about.json"}
    return {split: [row["text"] for row in rows(path)] for split, path in splits(out).items()}


def sizes(parts: dict[str, list[str]]) -> dict[str, int]:
    return {split: len(part) for split, part in parts.items()}


def write(folder, **texts: list[str]) -> str:
    folder.mkdir()
    for name, lines in texts.items():
        (folder / f"{name.replace('_', '-')}.txt").write_text("\n".join(lines))
    return str(folder)


def phrases(name: str, count: int) -> list[str]:
    return [f"Phrase {number} de {name}." for number in range(count)]


SPLITS = ("train", "dev", "test")


def about(out) -> dict:
    return json.loads((out / "about.json").read_text(encoding="utf-8"))


def test_texts_that_a_reader_leaves_out_are_counted_in_the_log_and_beside_the_splits(
    tmp_path, monkeypatch, capsys
):
    words = "un deux trois quatre cinq six sept huit neuf dix"
    lines = [f"mot{number}\tMot {number} {words}. | Bref.\n" for number in range(100)]
    lines.append(f"harpe\tvignette|120px|Armoiries {words}.\n")
    (tmp_path / "data" / "wiktionnaire").mkdir(parents=True)
    glosses = gzip.compress("".join(lines).encode())
    (tmp_path / "data" / "wiktionnaire" / "glosses.txt.gz").write_bytes(glosses)
    monkeypatch.setenv("ACCORD_DATA", str(tmp_path / "data"))
    parts = made(tmp_path / "out", "wiktionnaire")
    assert sum(map(len, parts.values())) == 100
    counted = {"fewer than 10 words": 100, "wiki markup": 1}
    assert about(tmp_path / "out")["left out"] == {"wiktionnaire": counted}
    said = capsys.readouterr().err
    assert "left out of wiktionnaire: fewer than 10 words (100), wiki markup (1)" in said


def test_a_text_is_shuffled_without_what_differs_in_case_alone(tmp_path):
    lines = phrases("texte", 100)
    source = write(tmp_path / "texts", one=[*lines, *map(str.upper, lines)])
    parts = made(tmp_path / "out", source, valid=0.1, test=5)
    assert sizes(parts) == {"train": 85, "valid": 10, "test": 5}
    everything = [*parts["train"], *parts["valid"], *parts["test"]]
    assert sorted(everything) == sorted(lines)
    assert everything != lines


def test_given_splits_are_kept_also_where_several_files_make_one(tmp_path):
    texts = {name: phrases(name, 10) for name in ("a_train", "a_test", "b_train", "b_test")}
    parts = made(tmp_path / "out", write(tmp_path / "texts", **texts), valid=0.2)
    assert parts["test"] == texts["a_test"] + texts["b_test"]
    assert len(parts["valid"]) == 4
    train = texts["a_train"] + texts["b_train"]
    assert sorted(parts["train"] + parts["valid"]) == sorted(train)


@pytest.mark.parametrize("name", ["dev", "valid"])
def test_the_sources_own_validation_is_taken_or_stays_beside_what_is_drawn(tmp_path, name):
    texts = {split: phrases(split, 10) for split in ("train", name, "test")}
    source = write(tmp_path / "texts", **texts)
    own = made(tmp_path / "own", source, valid=0)
    assert own == {"train": texts["train"], "valid": texts[name], "test": texts["test"]}
    names = {"train": "train.txt:1", "valid": f"{name}.txt:1", "test": "test.txt:1"}
    assert documents(tmp_path / "own") == {split: [each] * 10 for split, each in names.items()}
    drawn = made(tmp_path / "drawn", source, valid=3)
    assert {*documents(tmp_path / "drawn")["train"]} == {None}
    assert {*documents(tmp_path / "drawn")["dev"]} == {f"{name}.txt:1"}
    assert drawn["dev"] == texts[name]
    assert sorted(drawn["train"] + drawn["valid"]) == sorted(texts["train"])


def test_a_limit_is_drawn_at_random_also_beside_the_sources_own_validation(tmp_path):
    texts = {split: phrases(split, 100) for split in ("train", "dev", "test")}
    source = write(tmp_path / "texts", **texts)
    parts = made(tmp_path / "one", source, valid=0, limit=20)
    assert len(set(parts["train"])) == 20
    assert set(parts["train"]) < set(texts["train"])
    assert set(parts["train"]) != set(texts["train"][:20])
    assert (parts["valid"], parts["test"]) == (texts["dev"], texts["test"])
    other = made(tmp_path / "other", source, valid=0, limit=20, seed=2)
    assert set(other["train"]) != set(parts["train"])


def sources(folder, **texts: list[str]) -> list[str]:
    write(folder, **texts)
    return [str(folder / f"{name}.txt") for name in texts]


def test_of_several_sources_each_sentence_is_kept_once_and_knows_its_part(tmp_path, capsys):
    own = {name: phrases(name, 50) for name in ("a", "b")}
    both = sources(tmp_path / "texts", a=own["a"], b=[*own["b"], *map(str.upper, own["a"])])
    parts = made(tmp_path / "out", *both, valid=20, test=30)
    assert sorted(parts["train"] + parts["valid"] + parts["test"]) == sorted(own["a"] + own["b"])
    assert sizes(parts) == {"train": 50, "valid": 20, "test": 30}
    for path in splits(tmp_path / "out").values():
        assert all(row["text"] in own[row["part"].removesuffix(".txt")] for row in rows(path))
    assert "50 sentences left out" in capsys.readouterr().err


def test_a_limit_is_drawn_over_all_sources(tmp_path):
    both = sources(tmp_path / "texts", a=phrases("a", 300), b=phrases("b", 100))
    made(tmp_path / "out", *both, limit=100, valid=10, test=10)
    drawn = [row["part"] for path in splits(tmp_path / "out").values() for row in rows(path)]
    assert len(drawn) == 100
    assert 60 < drawn.count("a.txt") < 90


def test_beside_a_source_with_splits_another_is_for_training_but_for_what_stands_in_them(tmp_path):
    bank = {split: phrases(split, 10) for split in ("train", "dev", "test")}
    bank["train"] += bank["train"][:1]  # what a treebank repeats stays
    (other,) = sources(tmp_path / "texts", a=[*phrases("a", 20), *bank["test"], *bank["train"]])
    parts = made(tmp_path / "out", other, write(tmp_path / "bank", **bank), valid=0)
    assert parts["test"] == bank["test"]
    assert parts["valid"] == bank["dev"]
    assert sorted(parts["train"]) == sorted(bank["train"] + phrases("a", 20))


def test_a_text_of_several_sources_to_pretrain_on_has_each_sentence_once(tmp_path):
    texts = sources(
        tmp_path / "texts", main=phrases("main", 50), a=phrases("a", 9) * 2, b=phrases("a", 12)
    )
    main, *pretraining = texts
    one = made(tmp_path / "one", main, pretraining=pretraining[:1])
    assert one["pretraining"] == phrases("a", 9) * 2
    both = made(tmp_path / "both", main, pretraining=pretraining)
    assert both["pretraining"] == phrases("a", 12)
    assert both["train"] == one["train"]


def documents(out) -> dict[str, list[str]]:
    """The document of each sentence of each split."""
    return {split: [row["document"] for row in rows(path)] for split, path in splits(out).items()}


def articles(count: int) -> list[list[str]]:
    """Of one to five sentences."""
    return [phrases(f"l'article {number}", 1 + number % 5) for number in range(count)]


def write_articles(folder, kind: str) -> str:
    folder.mkdir()
    texts = articles(300)
    if kind == "files":
        for number, text in enumerate(texts):
            (folder / f"{number}.txt").write_text("\n".join(text))
        return str(folder)
    if kind == "blocks":
        (folder / "a.txt").write_text("\n\n".join("\n".join(text) for text in texts))
        return str(folder / "a.txt")
    if kind == "newdoc":
        row = "1\tVa\taller\tVERB\t_\t_\t0\troot\t_\t_\n"
        trees = [
            f"{'# newdoc id = ' + str(number) if not place else '# _'}\n# text = {each}\n{row}\n"
            for number, text in enumerate(texts)
            for place, each in enumerate(text)
        ]
        (folder / "a.conllu").write_text("".join(trees))
        return str(folder / "a.conllu")
    lines = [
        json.dumps({"text": each, "document": str(number)}) + "\n"
        for number, text in enumerate(texts)
        for each in text
    ]
    (folder / "a.jsonl").write_text("".join(lines[::2] + lines[1::2]))  # not in one go
    return str(folder / "a.jsonl")


@pytest.mark.parametrize("kind", ["files", "blocks", "newdoc", "column"])
def test_no_document_is_in_two_splits(tmp_path, kind):
    """A test on an article whose other sentences were trained on is too easy."""
    source = write_articles(tmp_path / "texts", kind)
    parts = made(tmp_path / "out", source, valid=0.1, test=100)
    assert sizes(parts) == {"train": 710, "valid": 90, "test": 100}
    found = documents(tmp_path / "out")
    for one, other in (("train", "valid"), ("train", "test"), ("valid", "test")):
        assert not {*found[one]} & {*found[other]}
    counted = {split: len({*names}) for split, names in found.items()}
    assert about(tmp_path / "out")["documents"] == counted
    assert sum(counted.values()) == 300
    for split, names in found.items():  # a document's sentences are in a row, in their order
        assert len([*groupby(names)]) == counted[split]
        for _, text in groupby(parts[split], key=lambda text: text.split(" de ")[1]):
            numbers = [int(each.split()[1]) for each in text]
            assert kind == "column" or numbers == sorted(numbers)


@pytest.mark.parametrize(("names", "reason"), [("a", "one document"), ("abcd", "few or long")])
def test_one_document_or_long_ones_are_split_by_sentence_and_it_is_said(
    tmp_path, capsys, names, reason
):
    source = write(tmp_path / "texts", **{name: phrases(name, 100) for name in names})
    parts = made(tmp_path / "out", source, valid=10, test=10)
    assert sizes(parts) == {"train": 100 * len(names) - 20, "valid": 10, "test": 10}
    said = capsys.readouterr().err
    assert f"texts: {reason}" in said and "so the splits are drawn sentence by sentence" in said
    assert about(tmp_path / "out")["drawn by sentence"] == ["texts"]
    for found in documents(tmp_path / "out").values():  # no sentence follows the one before it
        assert {*found} == {None}


def test_beside_a_source_of_documents_one_without_is_split_by_sentence(tmp_path, capsys):
    texts = write_articles(tmp_path / "articles", "files")
    (alone,) = sources(tmp_path / "texts", alone=phrases("texte", 900))
    made(tmp_path / "out", texts, alone, valid=200, test=200)
    found = {
        split: [row["document"] for row in rows(path) if row["part"] == "articles"]
        for split, path in splits(tmp_path / "out").items()
    }
    assert all(found.values()) and not {*found["train"]} & {*found["test"]}
    test = [*rows(tmp_path / "out" / "test.arrow")]
    of_alone = [row for row in test if row["part"] == "alone.txt"]
    assert 60 < len(of_alone) < 140
    assert all((row["document"] is None) == (row in of_alone) for row in test)
    assert about(tmp_path / "out")["drawn by sentence"] == ["alone.txt"]
    assert "corpus: alone.txt: one document" in capsys.readouterr().err


def test_a_copy_of_the_test_does_not_get_into_the_text_to_pretrain_on(tmp_path, capsys):
    """However it is spelled, spaced or capitalised; the training text may be read twice."""
    bank = {split: [f"L'{split} n° {each} d'oeuvre." for each in range(9)] for split in SPLITS}
    source = write(tmp_path / "bank", **bank)

    def respelled(line: str) -> str:
        return line.replace("'", "’").replace("oe", "œ").replace(".", " .").upper()

    own = phrases("a", 20)
    (other,) = sources(
        tmp_path / "texts", a=[*own, *bank["train"], *bank["dev"], *map(respelled, bank["test"])]
    )
    for valid in (0, 3):  # the source's own, or drawn from its training text, dev being a test then
        out = tmp_path / f"valid {valid}"
        parts = made(out, source, valid=valid, pretraining=(other,))
        drawn = {*parts["valid"]} if valid else set()
        assert parts["pretraining"] == [*own, *(t for t in bank["train"] if t not in drawn)]
        assert about(out)["pretraining"]["held out"] == 18 + valid
        said = capsys.readouterr().err
        assert f"{18 + valid} sentences of the text to pretrain on left out" in said


def test_short_sentences_of_running_text_are_kept_as_often_as_they_stand_there(
    tmp_path, monkeypatch
):
    long = "Il la regarda encore une fois et ne dit plus rien du tout ce soir-là."
    novels = [
        {"id": f"N{number}", "text": f"— Oui.\n{long}\nPhrase {number}.\n— Oui."}
        for number in range(40)
    ]
    (tmp_path / "data" / "eltec").mkdir(parents=True)
    lines = "".join(json.dumps(novel) + "\n" for novel in novels)
    (tmp_path / "data" / "eltec" / "novels.jsonl.xz").write_bytes(lzma.compress(lines.encode()))
    monkeypatch.setenv("ACCORD_DATA", str(tmp_path / "data"))
    found = [text for texts in made(tmp_path / "out", "eltec").values() for text in texts]
    assert found.count("— Oui.") == 80
    assert found.count(long) == 1
