"""Data sets of the hub, read from folders of the hub's own form: README and parquet files."""

import pytest

from accord.corpora.formats import hub_address, load_hub
from accord.corpora.sources import files, read
from accord.corpora.text import words

datasets = pytest.importorskip("datasets")

OLD_TREE = {  # every row among the tokens, as in universal-dependencies/universal_dependencies
    "idx": "fr-1",
    "text": "Il parle du chat",
    "tokens": ["Il", "parle", "du", "de", "le", "chat"],
    "upos": ["PRON", "VERB", "_", "ADP", "DET", "NOUN"],
    "head": ["2", "0", "None", "5", "5", "2"],
}
NEW_TREE = {  # contractions apart
    "sent_id": "fr-1",
    "text": "Il parle du chat",
    "tokens": ["Il", "parle", "de", "le", "chat"],
    "head": [2, 0, 5, 5, 2],
    "mwt": [{"id": "3-4", "form": "du"}],
}
README = """\
---
configs:
- config_name: {config}
  data_files:
{splits}
---
"""


@pytest.fixture
def repository(tmp_path):
    """Write splits of examples as a data set repository and give its address."""

    def write(splits: dict[str, list[dict]], config: str = "default") -> str:
        lines = []
        for split, examples in splits.items():
            datasets.Dataset.from_list(examples).to_parquet(tmp_path / config / f"{split}.parquet")
            lines.append(f"  - split: {split}\n    path: {config}/{split}.parquet")
        readme = README.format(config=config, splits="\n".join(lines))
        (tmp_path / "README.md").write_text(readme)
        return f"hub:{tmp_path}"

    return write


@pytest.mark.parametrize("tree", [OLD_TREE, NEW_TREE], ids=["old form", "new form"])
def test_a_treebank_of_the_hub_keeps_its_contractions(repository, tree):
    address = repository({"train": [tree], "validation": [tree], "test": [tree]}, "fr_x")
    train, valid, test = read(f"{address}:fr_x")
    assert [train.split, valid.split, test.split] == ["train", "valid", "test"]
    assert (train.id, train.text) == ("fr-1", "Il parle du chat")
    assert words(train.rows, "surface") == ["Il", "parle", "du", "chat"]
    assert words(train.rows, "syntactic") == ["Il", "parle", "de", "le", "chat"]


def test_a_text_column_gives_a_sentence_a_line_and_one_split_is_left_open(repository):
    address = repository({"train": [{"text": "Un.\n\nDeux.", "résumé": "Trois."}]})
    assert [(s.text, s.split) for s in read(address)] == [("Un.", None), ("Deux.", None)]
    assert [s.text for s in read(f"{address}#résumé")] == ["Trois."]
    assert len({s.id for s in read(address)}) == 2
    assert files(address) == []


def test_a_named_column_wins_over_the_tokens(repository):
    (sentence,) = read(repository({"train": [OLD_TREE]}) + "#text")
    assert (sentence.text, sentence.rows) == ("Il parle du chat", None)


def test_reading_streams(repository):
    address = repository({"train": [{"text": f"Phrase {n}."} for n in range(5000)]})
    splits = load_hub(hub_address(address))
    assert isinstance(splits["train"], datasets.IterableDataset)
    assert next(iter(read(address))).text == "Phrase 0."


def test_a_data_set_on_disk_is_a_source_with_its_splits_and_documents(tmp_path):
    texts = {"train": ["Il dort.", "Elle mange."], "validation": ["Il part."], "test": ["Oui."]}
    splits = {
        split: datasets.Dataset.from_dict({"phrase": of_split, "document": ["d"] * len(of_split)})
        for split, of_split in texts.items()
    }
    datasets.DatasetDict(splits).save_to_disk(str(tmp_path / "saved"))
    address = f"{tmp_path / 'saved'}#phrase"
    sentences = list(read(address))
    assert [s.text for s in sentences] == [text for of_split in texts.values() for text in of_split]
    assert [s.split for s in sentences] == ["train", "train", "valid", "test"]
    assert {s.document for s in sentences} == {"d"}
    assert {path.suffix for path in files(address)} == {".arrow", ".json"}
    splits["train"].save_to_disk(str(tmp_path / "one"))
    assert [s.split for s in read(f"{tmp_path / 'one'}#phrase")] == [None, None]
