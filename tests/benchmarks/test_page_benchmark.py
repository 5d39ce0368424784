"""The page is measured as `accord page` serves it."""

from benchmarks.page import measure_waits


def test_the_bench_waits_for_the_page_and_for_each_sentence(tiny_run):
    waits = measure_waits([tiny_run.folder], ["Les chiens dorment.", "Le chat dort."])
    assert 0 < waits.page < waits.answer
    assert len(waits.sentences) == 2
