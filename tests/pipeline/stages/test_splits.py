"""Documents are drawn whole, and no split has many more or fewer sentences than it should."""

from array import array

from hypothesis import given
from hypothesis import strategies as st

from accord.pipeline.config.sections import CorpusParams
from accord.pipeline.stages.corpus import split_by_document, split_by_sentence

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
