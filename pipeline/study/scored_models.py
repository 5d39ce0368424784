"""Models of runs that have scored their splits, by the name RUN/MODEL."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np

from accord.errors import AccordError, NotFoundError
from accord.models.common.arrays import load_array
from accord.models.data import Sentences
from accord.pipeline.base.messages import short_names
from accord.pipeline.base.names import UNKNOWN_ID
from accord.pipeline.base.tables import without_seed
from accord.pipeline.data.encoded import (
    held_out,
    is_same_text,
    read_forms,
    read_sentences,
    read_sizes,
)
from accord.pipeline.model import find as resolve
from accord.pipeline.model.find import TrainedModel
from accord.pipeline.model.folder import ModelFolder, open_folder


@dataclass(frozen=True)
class Scored(TrainedModel):
    """A trained model that has scored its splits."""

    shown_in: Path | None = None  # the first run that has seeds of this model

    @property
    def splits(self) -> list[str]:
        """Return every test, `test` first, and validation."""
        return sorted(held_out(self.folders["encode"]), key=lambda split: split != "test")

    def log_p(self, split: str) -> np.ndarray:
        """Read log p of every word and end of a split, in nats."""
        return load_array(self.scores / f"{split}.log_p.npy").astype(np.float64)

    def sentences(self, split: str) -> Sentences:
        return read_sentences(self.folders["encode"], split)

    def distinguished(self, split: str) -> Sentences:
        """Read sentences with a distinct number for each word spelled by the character model."""
        sentences = self.sentences(split)
        words = self.opened.words
        if not words.unknown:
            return sentences
        is_spelled = np.isin(sentences.ids, range(UNKNOWN_ID, UNKNOWN_ID + len(words.unknown)))
        numbers = len(words) + read_forms(self.folders["encode"], split).positions
        return Sentences(np.where(is_spelled, numbers, sentences.ids), sentences.lengths)

    @property
    def words(self) -> int:
        """Return the size of the vocabulary."""
        return len(self.opened.words)

    @cached_property
    def opened(self) -> ModelFolder:
        return open_folder(self.folder)


def find(name: str) -> list[Scored]:
    """Return the model RUN/MODEL, or all models of the folder RUN."""
    models = resolve.find(name)
    for model in models:
        if model.kind != "run":
            raise NotFoundError(
                f"{name} is no run: expected one, or RUN/MODEL, whose models have scored their "
                f"splits; got a name of the kind {model.kind}"
            )
        model.check("evaluate")
    return [Scored(**vars(model), shown_in=model.place) for model in models]


def find_all(sources: Iterable[str]) -> list[Scored]:
    """Find the models of all sources; a model that two runs share counts once."""
    scored: dict[Path, Scored] = {}
    for source in sources:
        models = find(source)
        for model in models:
            shown_in = _first_run(model, models, scored)
            scored.setdefault(model.scores, replace(model, shown_in=shown_in))
    return list(scored.values())


def _first_run(model: Scored, run: Sequence[Scored], scored: Mapping[Path, Scored]) -> Path:
    """Return the first run with another seed of a model of this run, or this run itself."""
    shown = {(known.shown_in, known.name) for known in scored.values()}
    name = without_seed(model.name)
    for seed in run:
        known = scored.get(seed.scores)
        if (
            known
            and name == without_seed(seed.name) == without_seed(known.name)
            and (known.shown_in, model.name) not in shown
        ):
            return known.shown_in
    return model.place


def named(models: Sequence[Scored]) -> dict[str, Scored]:
    """Name models, with the shortest end of the run's path that distinguishes them.

    All seeds of a model have the same path before their names.
    """
    seeds_of = [(model.shown_in, without_seed(model.name)) for model in models]
    different = list(dict.fromkeys(seeds_of))
    names = short_names([(*run.absolute().parts, name) for run, name in different])
    shortest = dict(zip(different, names, strict=True))
    return {
        shortest[key] + model.name.removeprefix(key[1]): model
        for key, model in zip(seeds_of, models, strict=True)
    }


def is_scored(place: str) -> bool:
    """Return whether this names trained models, not a configuration to train."""
    return resolve.is_run(Path(place)) or resolve.is_run(Path(place).parent)


def check_same_text(models: Sequence[Scored]) -> None:
    """Reject models that did not score the same words."""
    if difference := difference_in_text(models):
        raise AccordError(difference)


def difference_in_text(models: Sequence[Scored]) -> str | None:
    """Name the first split of which models did not score the same words, in a sentence."""
    first, *others = models
    for model, split in product(others, first.splits):
        ours, theirs = (scored.folders["encode"] for scored in (first, model))
        if not is_same_text(ours, theirs, split):
            return (
                f"{model.place.name}/{model.name} and {first.place.name}/{first.name} did not "
                f"score the same words of {split}: {_sizes_differ(ours, theirs, split)}"
            )
    return None


def _sizes_differ(ours: Path, theirs: Path, split: str) -> str:
    expected, got = (read_sizes(folder).get(split, {}) for folder in (ours, theirs))
    if expected == got:
        return f"both have {expected}, but other sentences, or others in capitals"
    return f"expected {expected}, got {got}"
