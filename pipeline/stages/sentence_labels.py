"""The labels of sentences on their way from the source to numbers (corpus.labels)."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from accord.corpora.sentence import Sentence
from accord.pipeline.artefacts.arrow import batches
from accord.pipeline.display.nearest import nearest
from accord.pipeline.prepared.labels import LABELS
from accord.pipeline.sections import SOURCE


class Labels:
    """The labels that are asked for, of each sentence, and the names that any sentence has."""

    def __init__(self, names: Sequence[str]):
        self.names, self.found = names, {SOURCE: None}  # in the order in which they came

    @property
    def field(self) -> pa.Field:
        return pa.field(LABELS, pa.struct({name: pa.string() for name in self.names}))

    def of(self, part: str, sentence: Sentence) -> dict[str, str | None]:
        if not self.names:
            return {}
        own = {**dict(sentence.labels), SOURCE: part}
        self.found |= dict.fromkeys(own)
        return {name: own.get(name) for name in self.names}

    def check(self, sources: Sequence[str], training: Path) -> None:
        """Refuse a label that no sentence has from which it could be learned."""
        for name, values in label_values([training]).items():
            if not values:
                others = ": only others have one" if name in self.found else ""
                raise ValueError(
                    f"corpus.labels: no sentence of {', '.join(sources)} that is trained on has a "
                    f"label '{name}'{others or nearest(name, self.found)}"
                )


def label_values(tables: Iterable[Path]) -> dict[str, list[str]]:
    """The labels of each kind that some tables of sentences have, in the order of the alphabet."""
    found: dict[str, set[str]] = {}
    for batch in (batch for path in tables for batch in batches(path)):
        if LABELS not in batch.schema.names:
            return {}
        for name in (each.name for each in batch[LABELS].type):
            found.setdefault(name, set()).update(batch[LABELS].field(name).unique().to_pylist())
    return {name: sorted(values - {None}) for name, values in found.items()}


def label_numbers(batch: pa.RecordBatch, values: Mapping[str, Sequence[str]]) -> np.ndarray:
    """The number of each sentence's label of each kind, 0 where training has none such."""
    columns = []
    for name, known in values.items():
        place = pc.index_in(batch[LABELS].field(name), pa.array(known, pa.string()))
        columns.append(pc.fill_null(pc.add(place, 1), 0).to_numpy(zero_copy_only=False))
    return np.stack(columns, 1).astype(np.int16)
