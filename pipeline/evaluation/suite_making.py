"""Agreement suites of one's own: in real sentences one word is flipped, the rest is kept.

Beside the files in CLAMS's form stands `pairs.csv`, a row for each pair in the order in which the
suite is read: its construction, the distance of the two words that agree, and the attractors.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd

from accord import corpora
from accord.lexicon import Lexicon
from accord.lexicon.paradigm import Paradigms
from accord.pipeline.data.folders import folder_of
from accord.pipeline.evaluation import text_agreement, tree_agreement
from accord.pipeline.evaluation.agreeing import Agreeing, Made, broken
from accord.pipeline.evaluation.suite import TABLE


def make_suite(source: str, lexicon: Lexicon, folder: Path) -> pd.DataFrame:
    """Write the suite of a treebank or a text; returns the table of its pairs."""
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(
            f"{folder} is not empty: expected a new folder, as what else lies there would be read "
            f"as a part of the suite"
        )
    paradigms = Paradigms(lexicon)
    made = (broken(agreeing, paradigms) for agreeing in _agreeing_words(source, lexicon))
    found = list(dict.fromkeys(each for each in made if each))
    if not found:
        raise ValueError(
            f"{source}: found no agreement to break; expected trees with heads and features, or "
            f"sentences whose words the lexicon knows"
        )
    return write_suite(found, folder)


def _agreeing_words(source: str, lexicon: Lexicon) -> Iterator[Agreeing]:
    if trees := corpora.trees(source, folder=folder_of):
        for tree in trees:
            yield from tree_agreement.agreeing_words(tree)
        return
    for _, words in corpora.read_words(source, folder=folder_of):
        yield from text_agreement.agreeing_words(words, lexicon)


def write_suite(made: Iterable[Made], folder: Path) -> pd.DataFrame:
    """One file for each construction, and the table of all pairs in the order of the files."""
    by_construction = defaultdict(list)
    for each in made:
        by_construction[each.pair.construction].append(each)
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in sorted(by_construction):
        lines = [f"True\t{m.pair.good}\nFalse\t{m.pair.bad}\n" for m in by_construction[name]]
        (folder / f"{name}.txt").write_text("".join(lines), encoding="utf-8")
        rows += [(name, m.distance, m.attractors) for m in by_construction[name]]
    table = pd.DataFrame(rows, columns=["construction", "distance", "attractors"])
    table.to_csv(folder / TABLE, index=False)
    return table
