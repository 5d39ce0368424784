"""Texts of several sizes: each begins as the next, and none has what it is tested on."""

from benchmarks import amounts

PHRASES = [f"La phrase numéro {number} dit encore autre chose." for number in range(3000)]


def read(folder, split):
    return (folder / f"{split}.txt").read_text(encoding="utf-8")


def test_sizes_are_nested_and_tests_are_of_other_documents(tmp_path, monkeypatch):
    source = tmp_path / "source.txt"
    documents = ["\n".join(PHRASES[first : first + 5]) for first in range(0, len(PHRASES), 5)]
    source.write_text("\n\n".join(documents), encoding="utf-8")
    monkeypatch.setattr(amounts, "SHARES", {str(source): 0.5})
    monkeypatch.setattr(amounts, "HELD_OUT_WORDS", 200)
    monkeypatch.setattr(amounts, "NOVELS", str(source))
    amounts.write([400, 2000], tmp_path / "texts")
    small, large = (tmp_path / "texts" / size for size in ("400", "2000"))
    assert read(large, "train").startswith(read(small, "train"))
    for split in ("dev", "test"):
        assert read(small, split) == read(large, split) != ""
    words = {size: len(read(size, "train").split()) for size in (small, large)}
    passage = 5 * len(PHRASES[0].split())
    assert 400 <= words[small] < 400 + passage + 5
    assert words[large] <= 0.6 * sum(len(each.split()) for each in documents)
    given = {
        sentence: place for place, text in enumerate(documents) for sentence in text.split("\n")
    }
    of_split = {
        split: {given[line] for line in read(large, split).splitlines() if line}
        for split in ("train", "dev", "test")
    }
    assert not of_split["train"] & (of_split["dev"] | of_split["test"])
    assert not of_split["dev"] & of_split["test"]
    unread = {given[line] for line in (tmp_path / "texts" / "pairs.txt").read_text().splitlines()}
    assert len(unread) == amounts.PAIRED
    assert not unread & (of_split["train"] | of_split["dev"])
    assert {*read(tmp_path / "texts" / "novels", "dev").split()} == {"Bonjour."}
