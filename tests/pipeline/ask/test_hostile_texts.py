"""Whatever a person types is read in time that grows as its length, not as the square of it."""

import pytest
from operations import grows_as_its_size

from accord import load
from accord.corpora.detokenise import detokenise, spans
from accord.corpora.segment import segment
from accord.corpora.tokenise import tokenised
from accord.pipeline.ask.explain import without_gap
from accord.pipeline.ask.reader import Reader
from accord.pipeline.ask.scorer import Scorer
from accord.pipeline.cli.options import GAP_INSIDE


def words(text: str) -> tuple[str, ...]:
    return next(tokenised([text]))


READERS = {
    "words": words,
    "sentences": segment,
    "spans": lambda text: spans(text, words(text)),
    "written": lambda text: detokenise(words(text)),
    "gap": without_gap,
    "gap inside": GAP_INSIDE.search,
}
REPEATED = [" ", "a", "1", ".", "…", "'", "-", "(", "\u0301", "\u200d", "@", "a.", "l'", ". ", "« "]


@pytest.mark.parametrize("unit", REPEATED)
@pytest.mark.parametrize("reader", READERS)
def test_a_text_of_one_thing_repeated_takes_time_that_grows_as_its_length(reader, unit):
    def read(size: int) -> None:
        READERS[reader](f"la{unit * size}fin")

    assert grows_as_its_size(read, 2_000)


@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        ("les chiens ... \n", "les chiens"),
        ("les chiens…", "les chiens…"),
        ("et … …", "et …"),
        ("…", ""),
    ],
)
def test_one_gap_at_the_end_is_taken_off_with_the_blanks_around_it(text, beginning):
    assert without_gap(text) == beginning


def test_no_sentences_have_no_scores(tiny_run):
    assert load(tiny_run.folder).score_all([]) == []


@pytest.mark.parametrize("asked", [Scorer.score, Scorer.words, lambda s, t: [*Reader(s).read([t])]])
def test_a_text_that_is_not_utf_8_is_refused(asked):
    latin = b"il va \xe0 paris .".decode(errors="surrogateescape")  # as arguments are read
    with pytest.raises(ValueError, match=r"expected text in UTF-8, found half .* behind 'il va '"):
        asked(load(), latin)
