"""A trained model as one folder that loads anywhere: what it computes with, and what it is.

Files keep the names that the stages gave them, so that one folder stands for the artefacts of all
stages; the weights are called as the Hugging Face hub expects. `config.json` says what the model is
made of and has the hash of every file.
"""

import shutil
from pathlib import Path
from typing import Any

from accord.lexicon.chain import save
from accord.models.common.files.json_file import load_json
from accord.models.common.registry import imported
from accord.models.spelling.subwords import COUNTS, SPELLER, count_subwords
from accord.models.training.curve import CURVE, PHASE_CURVES
from accord.models.training.files import WEIGHTS
from accord.pipeline.artefacts import fingerprint
from accord.pipeline.artefacts.artefact import FORMAT, Artefact, Inputs, write_json
from accord.pipeline.artefacts.model_files import MODEL, RECIPE
from accord.pipeline.evaluation.score_rows import read_scores
from accord.pipeline.prepared.labels import VALUES
from accord.pipeline.prepared.saved_chain import load_chain, read_chain, save_chain
from accord.pipeline.prepared.special_words import MADE_OF, PRETRAINING
from accord.pipeline.prepared.vocabulary import Vocabulary
from accord.pipeline.sharing.compact.export import write_compact
from accord.pipeline.sharing.exported import CONFIG
from accord.pipeline.sharing.model_card import card, licences, plain_name
from accord.pipeline.trained.resolve import one

# What the folder takes along of what each stage made: names or patterns of files.
EXPORTED = {
    "analyse": ("types.parquet", "analyses.parquet"),
    "featurise": ("phi.npz", "psi.npz", "letters.npy", "names.json"),
    "background": ("*",),
    "encode": (SPELLER, COUNTS, "classes.npy", VALUES),
    "train": (WEIGHTS, RECIPE, CURVE, *PHASE_CURVES.values()),
}
# Files that a model is written to in another form, and by which function.
CONVERTED = (".arpa", ".arpa.gz", ".fst.txt")
CONVERTER = "accord.pipeline.sharing.ngrams:export_ngrams"


def export(
    run: str | Path,
    model: str,
    to: str | Path,
    compact: bool = False,
    *,
    order: int | None = None,
    samples: int | None = None,
    prune: float | None = None,
    states: int | None = None,
) -> Path:
    """Write a trained model of a finished run into one folder that `load` takes anywhere.

    With `compact`, in few bytes: weights in half precision or int8, all else packed. To a file that
    ends in `.arpa`, `.arpa.gz` or `.fst.txt` it is written as n-grams, or with `states` as an
    automaton of its hidden states: `order`, `samples` and `prune` say how too
    (accord.pipeline.sharing.ngrams.Conversion).
    """
    found, to = one(run, model), Path(to)
    if found.kind != "run":
        raise ValueError(f"{run}: expected a run, whose models were measured; it is {found.kind}")
    found.check(*found.folders, "evaluate")
    how = {"order": order, "samples": samples, "prune": prune, "states": states}
    if to.name.endswith(CONVERTED):
        if compact:
            raise ValueError(f"{to}: expected a folder for a compact model, got a file of n-grams")
        return imported(CONVERTER)(found.folders, to, **how)
    if any(value is not None for value in how.values()):
        raise ValueError(
            f"{to}: expected a file .arpa, .arpa.gz or .fst.txt, as --order, --samples, --prune "
            f"and --states are of n-grams and automata"
        )
    return _export_folder(found.folders, to, compact)


def _export_folder(artefacts: Inputs, folder: Path, compact: bool) -> Path:
    """Write a model's folder, whose name is the model's; one that is there has to be removed.

    A compact folder has what inference needs alone, in few bytes.
    """
    if folder.exists():
        raise FileExistsError(f"{folder} is there already: choose another folder or remove it")
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for source in _small_files(artefacts) if compact else _files(artefacts):
        target = partial / (MODEL if source.name == WEIGHTS else source.name)
        if target.exists():
            raise ValueError(f"two files would be called {target.name}: {source} is one of them")
        shutil.copy(source, target)
    _take_lexicons(artefacts["analyse"], partial, compact)
    about = describe(artefacts, folder.name)
    if compact:
        about["rounding"] = write_compact(artefacts, partial)._asdict()
    (partial / "README.md").write_text(card(about), encoding="utf-8")
    hashes = {path.name: fingerprint.of_file(path) for path in sorted(partial.iterdir())}
    hashes.pop("README.md")  # which is there to be written in
    write_json(partial / CONFIG, {"format": FORMAT, **about, "files": hashes})
    partial.rename(folder)
    return folder


def _small_files(artefacts: Inputs) -> list[Path]:
    """What a compact folder has as the stages wrote it."""
    files = [("train", RECIPE), ("featurise", "names.json"), ("background", "about.json")]
    return [artefacts[stage] / name for stage, name in files]


def _take_lexicons(analysed: Path, folder: Path, compact: bool) -> None:
    """The lexicons themselves, where words that are not known are told apart by them."""
    if not compact and len(Vocabulary(analysed).unknown) > 1:
        save(load_chain(analysed), folder)
    chain = read_chain(analysed)
    save_chain(folder, **{**chain, "names": list(map(plain_name, chain["names"]))})


def _files(artefacts: Inputs) -> list[Path]:
    kept = []
    for stage, patterns in EXPORTED.items():
        names = Artefact.read(artefacts[stage]).digests(patterns)
        kept += [artefacts[stage] / name for name in sorted(names)]
    background = _params(artefacts, "background")
    if background["kind"] == "ngram":  # which is counted anew wherever it is loaded
        texts = ["train", PRETRAINING] if background["pretraining"] else ["train"]
        parts = ["ids.npy", "lengths.npy"]
        if count_subwords(artefacts["encode"]):
            parts += ["form.npy", "subwords.npz"]
        kept += [artefacts["encode"] / f"{text}.{part}" for text in texts for part in parts]
    return kept


def describe(artefacts: Inputs, name: str) -> dict[str, Any]:
    """What the model is made of and how well it does, without a path of this machine."""
    params = {stage: _params(artefacts, stage) for stage in artefacts}
    sources = [*params["corpus"].pop("source"), *(params["corpus"].pop("pretraining") or ())]
    lexicons = [*params["analyse"].pop("lexicon"), params["analyse"].pop("frequency")]
    params["analyse"].pop("suites")  # they judged it, and are no part of it
    found = licences(
        *([each for each in dict.fromkeys(names) if each] for names in (sources, lexicons))
    )
    start = _start(artefacts["analyse"])
    return {
        "model_type": "accord",
        "name": name,
        "language": "fr",
        "start": start.get("name"),
        **{
            kind: [*start.get(kind, ()), *(each for each in new if each not in start.get(kind, ()))]
            for kind, new in found.items()
        },
        "params": params,
        "scores": read_scores(artefacts["evaluate"]).to_dict("records"),
    }


def _start(analysed: Path) -> dict[str, Any]:
    """What the model is made of that training went on from, if there is one."""
    return load_json(analysed / MADE_OF, dict) if (analysed / MADE_OF).exists() else {}


def _params(artefacts: Inputs, stage: str) -> dict[str, Any]:
    return dict(Artefact.read(artefacts[stage]).meta["params"])
