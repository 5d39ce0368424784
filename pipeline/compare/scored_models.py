"""Models that have scored their splits, in a run or in the folder of a sweep, as RUN/MODEL."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from models.common.arrays import load_array
from models.common.batching import Sentences
from models.spelling.open_vocabulary import load_spelling
from pipeline.artefacts.artefact import MANIFEST
from pipeline.evaluation.measure import FIGURES
from pipeline.prepared.encoded import held_out, read_sentences, read_sizes
from pipeline.prepared.encoded_forms import read_forms
from pipeline.prepared.special_words import UNKNOWN_ID
from pipeline.runner.finished import Finished
from pipeline.runner.sweep import JOBS, read_jobs
from pipeline.stage import Inputs


@dataclass(frozen=True)
class Scored:
    """A model, what it was made from, and the folder of its figures and log-probabilities."""

    name: str
    run: Path
    protocol: str
    inputs: Inputs
    folder: Path

    @property
    def splits(self) -> list[str]:
        """Every test, the one called so first, and validation."""
        return sorted(held_out(self.inputs["encode"]), key=lambda split: split != "test")

    def log_p(self, split: str) -> np.ndarray:
        """Of every word and end of a split, in nats."""
        return load_array(self.folder / f"{split}.log_p.npy").astype(np.float64)

    def sentences(self, split: str) -> Sentences:
        return read_sentences(self.inputs["encode"], split)

    def told_apart(self, split: str) -> Sentences:
        """The sentences with a number of its own for each word that is only spelled."""
        sentences = self.sentences(split)
        spelling = load_spelling(self.inputs["background"])
        if spelling is None:
            return sentences
        is_spelled = np.isin(sentences.ids, range(UNKNOWN_ID, UNKNOWN_ID + spelling.classes))
        numbers = self.words + read_forms(self.inputs["encode"], split).positions
        return Sentences(np.where(is_spelled, numbers, sentences.ids), sentences.lengths)

    @property
    def words(self) -> int:
        """How many words the vocabulary has."""
        return len(load_array(self.inputs["background"] / "b.npy", mapped=True))


def find(place: str) -> list[Scored]:
    """The model RUN/MODEL, or all models of RUN: a run's folder, or one that a sweep trained in."""
    path = Path(place)
    if _holds_models(path):
        return list(_models(path).values())
    if not is_scored(place):
        raise FileNotFoundError(
            f"{place} is no run: expected a folder with {MANIFEST} or {JOBS}, or RUN/MODEL"
        )
    models = _models(path.parent)
    if path.name not in models:
        raise ValueError(
            f"{path.parent}: expected one of the models {', '.join(models)}, got {path.name}"
        )
    return [models[path.name]]


def find_all(positions: Iterable[str]) -> list[Scored]:
    """The models of all positions; what two runs share, having made it from the same, is one."""
    found: dict[Path, Scored] = {}
    for place in positions:
        for model in find(place):
            found.setdefault(model.folder, model)
    return list(found.values())


def named(models: Sequence[Scored]) -> dict[str, Scored]:
    """Models by name, with as much of their runs' paths before it as tells them apart."""
    paths = [(*model.run.absolute().parts, model.name) for model in models]
    names = [["/".join(path[-length:]) for length in range(1, len(path) + 1)] for path in paths]
    count = Counter(name for of_model in names for name in of_model)
    shortest = [next(name for name in of_model if count[name] == 1) for of_model in names]
    return dict(zip(shortest, models, strict=True))


def is_scored(place: str) -> bool:
    """Whether this names models that were made before, not a configuration of some to make."""
    return _holds_models(Path(place)) or _holds_models(Path(place).parent)


def _holds_models(folder: Path) -> bool:
    return (folder / MANIFEST).exists() or (folder / JOBS).exists()


def _models(folder: Path) -> dict[str, Scored]:
    if (folder / MANIFEST).exists():
        finished = Finished.read(folder)
        scores = finished.of_stage("evaluate")
        return {
            name: Scored(
                name,
                folder,
                finished.sections[name]["analyse"].protocol,
                finished.artefacts[name],
                scores[name],
            )
            for name in scores
        }
    models = {}
    for name, job in read_jobs(folder).items():
        trained = folder / "trained" / name
        if (trained / FIGURES).exists():
            inputs = {stage: folder / artefact for stage, artefact in job["inputs"].items()}
            inputs["train"] = trained
            models[name] = Scored(name, folder, job["protocol"], inputs, trained)
    return models


def check_same_text(models: Sequence[Scored]) -> None:
    """Refuse models that did not score the same words."""
    if difference := difference_in_text(models):
        raise ValueError(difference)


def difference_in_text(models: Sequence[Scored]) -> str | None:
    """The first split of which models did not score the same words, in a sentence."""
    first = models[0]
    for model in models[1:]:
        for split in first.splits:
            ours, theirs = (_shape(each, split) for each in (first, model))
            if ours != theirs:
                return (
                    f"{model.run.name}/{model.name} and {first.run.name}/{first.name} did not "
                    f"score the same words of {split}: expected {ours[0]}, got {theirs[0]}"
                )
    return None


def _shape(model: Scored, split: str) -> tuple[dict, list[int]]:
    sizes = read_sizes(model.inputs["encode"])
    if split not in sizes:
        return {}, []
    return sizes[split], model.sentences(split).lengths.tolist()
