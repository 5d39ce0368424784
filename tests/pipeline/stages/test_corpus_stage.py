"""Sentences and their splits: none lost, none twice, documents whole, whatever the source."""

import json
import lzma
from array import array
from itertools import groupby, pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import accord
from accord.corpora.sources import read
from accord.pipeline.base.arrow import rows, splits
from accord.pipeline.config.sections import CorpusParams
from accord.pipeline.data.encoded import read_sentences, weighted
from accord.pipeline.model.comparison import read_scores
from accord.pipeline.stages import corpus
from accord.pipeline.stages.corpus import split_by_document, split_by_sentence


def made(out, *sources: str, **params) -> dict[str, list[str]]:
    """The texts of each split."""
    out.mkdir()
    corpus.compute(CorpusParams(sources, **params), {}, out)
    assert not (out / "spool").exists()
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


SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=60)  # of documents


def numbered(sizes: list[int]) -> array:
    return array("I", [number for number, size in enumerate(sizes) for _ in range(size)])


@given(
    SIZES, st.sampled_from([0.05, 0.2, 7, 60]), st.integers(0, 5), st.integers(1, 500) | st.none()
)
def test_splits_are_of_whole_documents_and_as_long_as_they_should_be(sizes, amount, seed, limit):
    documents = numbered(sizes)
    params = CorpusParams(valid=amount, test=amount, seed=seed, limit=limit)
    parts = split_by_document(documents, [], params)
    if parts is None:
        return
    assert list(parts) == ["train", "valid", "test"]
    drawn = [number for part in parts.values() for number in part]
    total = min(limit or len(documents), len(documents))
    assert len(drawn) == len({*drawn}) == total
    of_parts = [{documents[number] for number in part} for part in parts.values()]
    assert sum(map(len, of_parts)) == len(set.union(*of_parts))
    wanted = round(amount * total) if amount < 1 else amount
    for split in ("valid", "test"):
        assert wanted / 2 <= len(parts[split]) < max(2 * wanted, 1)
    assert parts["train"]


@given(st.integers(20, 200), st.integers(0, 5), st.integers(20, 200) | st.none())
def test_documents_of_one_sentence_are_split_as_sentences_are(sentences, seed, limit):
    params = CorpusParams(valid=0.1, test=5, seed=seed, limit=limit)
    apart = split_by_sentence(sentences, params)
    assert split_by_document(array("I", range(sentences)), [], params) == apart
    assert split_by_document(array("I", [0] * sentences), [0], params) == apart


def test_where_short_documents_are_left_a_split_has_as_many_sentences_as_it_should():
    sizes = [9, 1, 5] * 50
    for seed in range(20):
        parts = split_by_document(numbered(sizes), [], CorpusParams(valid=40, test=73, seed=seed))
        assert {split: len(part) for split, part in parts.items()} == {
            "train": 750 - 113,
            "valid": 40,
            "test": 73,
        }


def test_each_of_several_sources_gives_its_share():
    """Three novels beside a thousand short articles are not passed over."""
    articles, novels = [4] * 1000, [1000, 1000, 2000]
    of_parts = [range(1000), range(1000, 1003)]
    params = CorpusParams(valid=2000, test=2000)
    parts = split_by_document(numbered(articles + novels), [], params, of_parts)
    for split in ("valid", "test"):
        of_novels = sum(number >= 4000 for number in parts[split])
        assert (of_novels, len(parts[split])) == (1000, 2000)


@pytest.fixture(scope="module")
def this(tmp_path_factory, slow):
    """Two sources, the first of documents of four sentences, the second of single sentences."""
    folder = tmp_path_factory.mktemp("documents")
    lines = [sentence.text for sentence in read("tiny")]
    half = len(lines) // 2
    documents = ("\n".join(lines[start : start + 4]) for start in range(0, half, 4))
    (folder / "long.txt").write_text("\n\n".join(documents), encoding="utf-8")
    (folder / "short.txt").write_text("\n\n".join(lines[half:]), encoding="utf-8")
    changes = {
        "corpus.source": [str(folder / name) for name in ("long.txt", "short.txt")],
        "corpus.test": 40,
        "train.epochs": 1,
        "train.text": "documents",
        "train.source_weights": {"long.txt": 2, "short.txt": 0.5},
    }
    return accord.run("tiny", set=changes, models=["ll-rnn"], runs=folder / "runs")


def folder_of(run, stage):
    return run.artefacts["ll-rnn", stage].folder


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_documents_are_numbered_as_the_source_has_them(this, split):
    named = [row["document"] for row in rows(folder_of(this, "corpus") / f"{split}.arrow")]
    numbers = read_sentences(folder_of(this, "encode"), split).documents
    same = [first == second for first, second in pairwise(named)]
    assert (numbers[1:] == numbers[:-1]).tolist() == same
    assert any(same) and not all(same)


def test_sentences_read_by_themselves_have_figures_of_their_own(this):
    scores = read_scores(folder_of(this, "evaluate"))
    values = scores.set_index(["split", "metric"])["value"]
    assert values["test", "perplexity"] != values["test", "perplexity without context"]
    single = values["test/short.txt", "bits per character"]
    assert single == pytest.approx(
        values["test/short.txt", "bits per character without context"], abs=1e-5
    )


def test_the_figures_of_a_split_are_those_of_its_sources_together(this):
    scores = read_scores(folder_of(this, "evaluate"))
    values = scores.set_index(["split", "metric"])["value"]
    for split in ("valid", "test"):
        parts = [f"{split}/long.txt", f"{split}/short.txt"]
        figures = pd.DataFrame({name: values[name] for name in (split, *parts)})
        tokens = figures.loc["words"] + figures.loc["sentences"]
        nats = figures.loc["nats per word"] * tokens
        characters = nats / np.log(2) / figures.loc["bits per character"]
        for counted in (tokens, nats, characters):
            assert counted[parts].sum() == pytest.approx(counted[split])
        assert (tokens[parts] > 0).all()


def test_a_source_is_read_as_often_as_its_weight_says(this):
    encoded = folder_of(this, "encode")
    text = weighted(read_sentences(encoded, "train"), encoded, {"long.txt": 2})
    parts = [row["part"] for row in rows(folder_of(this, "tokenise") / "train.arrow")]
    assert text.weights.tolist() == [2 if part == "long.txt" else 1 for part in parts]
