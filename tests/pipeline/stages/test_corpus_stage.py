"""Sentences and their splits: none lost, none twice, whatever the source."""

import pytest

from pipeline.artefacts.arrow import rows, splits
from pipeline.stages import corpus


def made(out, **params) -> dict[str, list[str]]:
    """The texts of each split."""
    out.mkdir()
    corpus.compute(corpus.Params(**params), {}, out)
    assert {path.suffix for path in out.iterdir()} == {".arrow"}
    return {split: [row["text"] for row in rows(path)] for split, path in splits(out).items()}


def write(folder, **texts: list[str]) -> str:
    folder.mkdir()
    for name, lines in texts.items():
        (folder / f"{name.replace('_', '-')}.txt").write_text("\n".join(lines))
    return str(folder)


def phrases(name: str, count: int) -> list[str]:
    return [f"Phrase {number} de {name}." for number in range(count)]


def test_a_text_is_shuffled_without_what_differs_in_case_alone(tmp_path):
    lines = phrases("texte", 100)
    source = write(tmp_path / "texts", one=[*lines, *map(str.upper, lines)])
    parts = made(tmp_path / "out", source=source, valid=0.1, test=5)
    assert {split: len(part) for split, part in parts.items()} == {
        "train": 85,
        "valid": 10,
        "test": 5,
    }
    everything = [*parts["train"], *parts["valid"], *parts["test"]]
    assert sorted(everything) == sorted(lines)
    assert everything != lines


def test_given_splits_are_kept_also_where_several_files_make_one(tmp_path):
    texts = {name: phrases(name, 10) for name in ("a_train", "a_test", "b_train", "b_test")}
    parts = made(tmp_path / "out", source=write(tmp_path / "texts", **texts), valid=0.2)
    assert parts["test"] == texts["a_test"] + texts["b_test"]
    assert len(parts["valid"]) == 4
    train = texts["a_train"] + texts["b_train"]
    assert sorted(parts["train"] + parts["valid"]) == sorted(train)


@pytest.mark.parametrize("name", ["dev", "valid"])
def test_the_sources_own_validation_is_taken_or_stays_beside_what_is_drawn(tmp_path, name):
    texts = {split: phrases(split, 10) for split in ("train", name, "test")}
    source = write(tmp_path / "texts", **texts)
    own = made(tmp_path / "own", source=source, valid=0)
    assert own == {"train": texts["train"], "valid": texts[name], "test": texts["test"]}
    drawn = made(tmp_path / "drawn", source=source, valid=3)
    assert drawn["dev"] == texts[name]
    assert sorted(drawn["train"] + drawn["valid"]) == sorted(texts["train"])


def test_a_limit_is_drawn_at_random_also_beside_the_sources_own_validation(tmp_path):
    texts = {split: phrases(split, 100) for split in ("train", "dev", "test")}
    source = write(tmp_path / "texts", **texts)
    parts = made(tmp_path / "one", source=source, valid=0, limit=20)
    assert len(set(parts["train"])) == 20
    assert set(parts["train"]) < set(texts["train"])
    assert set(parts["train"]) != set(texts["train"][:20])
    assert (parts["valid"], parts["test"]) == (texts["dev"], texts["test"])
    other = made(tmp_path / "other", source=source, valid=0, limit=20, seed=2)
    assert set(other["train"]) != set(parts["train"])


def test_too_few_sentences_are_said(tmp_path):
    source = write(tmp_path / "texts", one=["Une seule."])
    with pytest.raises(ValueError, match="no sentence for the split 'valid': it has 1 in all"):
        made(tmp_path / "out", source=source)
