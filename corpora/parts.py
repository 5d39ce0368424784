"""Several sources read as one corpus, of which each is a part with a name."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from corpora.sentence import Sentence
from corpora.sources import Folder, read


def read_parts(
    sources: Sequence[str], *, folder: Folder | None = None, limit: int | None = None
) -> Iterator[tuple[str, Sentence]]:
    """The sentences of all sources, each with the name of its part; see `read`.

    Sources that have splits of their own come first.
    """
    names = dict(zip(sources, part_names(sources), strict=True))

    def is_to_split(source: str) -> bool:
        return next(read(source, folder=folder, limit=1)).split is None

    for source in sorted(sources, key=is_to_split) if len(sources) > 1 else sources:
        for sentence in read(source, folder=folder, limit=limit):
            yield names[source], sentence


def part_names(sources: Sequence[str]) -> list[str]:
    """What each source is called: its name, or the end of its path that no other has."""
    ends = [[Path(*Path(each).parts[-n:]).as_posix() for n in range(1, 99)] for each in sources]
    counted = Counter(end for each in ends for end in {*each})
    return [next((end for end in each if counted[end] == 1), each[-1]) for each in ends]
