"""Several sources as one corpus."""

import pytest

from corpora.parts import part_names, read_parts


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
