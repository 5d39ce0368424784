"""Copy a model's folder with its scores, sources and card; round its weights if asked.

Rounded weights are in half precision, and matrices in int8 if that moves the loss on validation
text little enough.
"""

import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from accord.errors import AccordError, ExistsError
from accord.models.common.arrays import load_model, load_weights, packed, save_shards
from accord.models.common.files import WEIGHTS, load_json
from accord.models.common.registry import extension, imported
from accord.models.spelling.spelling import score_text
from accord.pipeline.base.artefact import Artefact, Inputs
from accord.pipeline.base.messages import say
from accord.pipeline.base.names import MADE_OF, UNKNOWN_ID
from accord.pipeline.data.encoded import read_forms, read_sentences
from accord.pipeline.evaluation.comparison import read_scores
from accord.pipeline.model.card import card, licences, plain_name
from accord.pipeline.model.find import TrainedModel, one
from accord.pipeline.model.folder import (
    SHARDS,
    VECTORS_FILE,
    ModelFolder,
    model_files,
    open_folder,
    write_config,
)

MOST = 0.002  # of the loss on validation text, by which int8 may move it
# Files that a model is written to in another form.
CONVERTED = (".arpa", ".arpa.gz", ".fst.txt")
OF_VECTORS, VECTORS_WRITER = ".vec", "accord.pipeline.ask.vectors:export_vectors"


def export(
    run: str | Path,
    model: str | None,
    to: str | Path,
    compact: bool = False,
    *,
    order: int | None = None,
    samples: int | None = None,
    prune: float | None = None,
    states: int | None = None,
    words: int | None = None,
    retrofit: str | None = None,
) -> Path:
    """Copy the folder of a trained model of a finished run, which `load` reads anywhere.

    `compact` rounds the weights to half precision or int8. If `to`
    ends in `.arpa`, `.arpa.gz` or `.fst.txt`, the model is written as n-grams of this `order`. They
    are counted in the training text, or in sentences drawn from the model (`samples`). `prune`
    leaves out n-grams that hardly change the perplexity. With `states` the file is an automaton of
    at most so many clusters of hidden states. If `to` ends in `.vec`, the vectors of the `words`
    most frequent words are written, retrofitted to a lexicon with `retrofit`.
    """
    to = Path(to)
    if to.name.endswith(OF_VECTORS):
        return imported(VECTORS_WRITER)(run, model, to, words, retrofit)
    if words is not None or retrofit is not None:
        raise AccordError(f"{to}: expected a file .vec, as --words and --retrofit are of vectors")
    found = one(run, model)
    if found.kind != "run":
        raise AccordError(f"{run}: expected a measured run; it is of the kind {found.kind}")
    found.check(*found.folders, "evaluate")
    how = {"order": order, "samples": samples, "prune": prune, "states": states}
    if to.name.endswith(CONVERTED):
        if compact:
            raise AccordError(f"{to}: expected a folder for a compact model, got a file of n-grams")
        return extension("export.ngrams")(found, to, **how)
    if any(value is not None for value in how.values()):
        raise AccordError(
            f"{to}: expected a file .arpa, .arpa.gz or .fst.txt, as --order, --samples, --prune "
            f"and --states are of n-grams and automata"
        )
    return _export_folder(found, to, compact)


def _export_folder(model: TrainedModel, folder: Path, compact: bool) -> Path:
    """Write a model's folder, whose name is the model's; one that is there has to be removed."""
    if folder.exists():
        raise ExistsError(f"{folder} is there already: choose another folder or remove it")
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    opened = open_folder(model.folder)
    for path in model_files(model.folder):
        shutil.copy(path, partial / path.name)
    about = describe(model, folder.name)
    if compact:
        about["rounding"] = _round_weights(opened, partial, model.folders["encode"])._asdict()
    (partial / "README.md").write_text(card(about), encoding="utf-8")
    write_config(about, partial)
    partial.rename(folder)
    return folder


def describe(model: TrainedModel, name: str) -> dict[str, Any]:
    """Return the configuration with the sources and scores of a model of a run, without paths."""
    config, made = ModelFolder(model.folder).config, model.folders
    params = {stage: dict(Artefact.read(made[stage]).meta["params"]) for stage in made}
    params["train"] = {**config["params"]["train"], "device": "auto"}
    sources = [*params["corpus"].pop("source"), *(params["corpus"].pop("pretraining") or ())]
    lexicons = [*params["analyse"].pop("lexicon"), params["analyse"].pop("frequency")]
    params["analyse"].pop("suites")  # they judged it, and are no part of it
    own = licences(
        *([each for each in dict.fromkeys(names) if each] for names in (sources, lexicons))
    )
    start = _start(made)
    lookup = {**config["lookup"], "names": list(map(plain_name, config["lookup"]["names"]))}
    return {
        **{key: value for key, value in config.items() if key != "files"},
        "name": name,
        "language": "fr",
        "lookup": lookup,
        "start": start.get("name"),
        **{
            kind: [*start.get(kind, ()), *(each for each in new if each not in start.get(kind, ()))]
            for kind, new in own.items()
        },
        "params": params,
        "scores": read_scores(made["evaluate"]).to_dict("records"),
    }


def _start(made: Inputs) -> dict[str, Any]:
    """Return the sources of the initial checkpoint, if there is one."""
    path = made["analyse"] / MADE_OF
    return load_json(path, dict) if path.exists() else {}


class Rounded(NamedTuple):
    """The effect of rounding the weights on the loss on validation text, in nats per word."""

    before: float
    half: float
    int8: float

    @property
    def keeps_int8(self) -> bool:
        return abs(self.int8 / self.before - 1) < MOST


def _round_weights(model: ModelFolder, folder: Path, encoded: Path) -> Rounded:
    """Round the weights of a folder, with matrices in int8 if that is good enough.

    The loss is measured with the rounded weights as they are read back.
    """
    weights = load_model(folder)
    (folder / WEIGHTS).unlink()
    vectors = folder / VECTORS_FILE
    if vectors.exists():
        weights |= load_weights(vectors)
        vectors.unlink()
    losses = [_loss(model, encoded)]
    for int8 in (False, True):
        _replace_shards(packed(weights, int8), folder)
        losses.append(_loss(ModelFolder(folder, model.config), encoded))
    rounded = Rounded(*losses)
    if not rounded.keeps_int8:
        _replace_shards(packed(weights, int8=False), folder)
    say(
        f"validation: {rounded.before:.5f} nats a word; in half precision {rounded.half:.5f}, "
        f"with matrices in int8 {rounded.int8:.5f}: "
        f"{'int8 is kept' if rounded.keeps_int8 else 'half precision is kept'}"
    )
    return rounded


def _replace_shards(weights: dict[str, np.ndarray], folder: Path) -> None:
    for path in folder.glob(SHARDS):
        path.unlink()
    save_shards(weights, folder)


def _loss(model: ModelFolder, encoded: Path) -> float:
    """Return the nats per word of the validation text."""
    text = read_sentences(encoded, "valid"), read_forms(encoded, "valid")
    return -float(score_text(model.model, model.spelling, *text, UNKNOWN_ID)[0].mean())
