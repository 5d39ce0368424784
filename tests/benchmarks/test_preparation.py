"""The text with which the memory of preparing a corpus is measured, and the table."""

from collections import Counter

from benchmarks.preparation import PreparationCost, compared, generate


def test_a_generated_text_has_words_that_never_end(tmp_path):
    words = Counter()
    for amount in (20_000, 200_000):
        path = tmp_path / f"{amount}.txt"
        generate(path, amount, "tiny")
        counts = Counter(path.read_text(encoding="utf-8").replace(".", " .").split())
        assert counts.total() >= amount
        assert len(counts) > 3 * len(words), "types keep coming, as in a real text"
        words = counts


def test_the_table_sets_the_peaks_of_both_texts_side_by_side():
    costs = [PreparationCost("corpus", 10, 100.0, 1.0), PreparationCost("corpus", 100, 120.0, 9.0)]
    (row,) = compared(costs).to_dict("records")
    assert row["ratio of MiB"] == "1.20"
