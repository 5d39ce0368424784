"""Write a model as one folder, in either encoding; unfold a compact one.

The weights of a compact folder are in half precision, and its matrices in int8 if that moves the
loss on validation text little enough. Words, readings and Φ are kept once and packed, the prior is
made of counts again, and unknown words are told apart by their endings.

Files keep the names that the stages gave them, so that one folder stands for the artefacts of all
stages; the weights are called as the Hugging Face hub expects. `config.json` says what the model is
made of and has the hash of every file.
"""

import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from accord.errors import AccordError, ExistsError
from accord.lexicon.chain import save
from accord.models.common.arrays import (
    Weights,
    load_array,
    packed,
    save_arrays,
    save_shards,
    save_weights,
)
from accord.models.common.files import WEIGHTS, load_json
from accord.models.common.registry import extension, imported, parted
from accord.models.common.weights import parameters_of
from accord.models.log import CURVE, PHASE_CURVES
from accord.models.model import LanguageModel
from accord.models.spelling.ngram import NGramSpelling
from accord.models.spelling.spelling import NEURAL, save_spelling, score_text
from accord.models.spelling.subwords import COUNTS, SPELLER, count_subwords
from accord.pipeline.base.artefact import (
    FORMAT,
    Artefact,
    Inputs,
    hash_of_file,
    read_json,
    write_json,
)
from accord.pipeline.base.messages import say
from accord.pipeline.base.names import (
    CHAIN,
    CONFIG,
    DESCRIBED,
    MADE_OF,
    MODEL,
    PRETRAINING,
    RECIPE,
    UNKNOWN_ID,
    WORDS,
    is_special,
)
from accord.pipeline.data.encoded import VALUES, read_forms, read_sentences
from accord.pipeline.data.unknown_words import load_chain, read_chain, save_chain
from accord.pipeline.data.vocabulary import Vocabulary
from accord.pipeline.evaluation.comparison import read_scores
from accord.pipeline.model.card import card, licences, plain_name
from accord.pipeline.model.compact_form import (
    LETTERS,
    PHI,
    PSI,
    CompactWords,
    save_features,
    save_letters,
)
from accord.pipeline.model.compact_lexicon import (
    COLUMNS,
    ENDINGS,
    encode_endings,
    guesser_of,
)
from accord.pipeline.model.encoding import (
    BACKGROUND,
    KINDS,
    PRIOR,
    VECTORS,
    CompactEncoding,
    FullEncoding,
)
from accord.pipeline.model.find import one
from accord.pipeline.model.network import load_trained
from accord.pipeline.model.parts import Parts
from accord.pipeline.model.readings import LEMMAS, READINGS, encode, encode_lemmas

MOST = 0.002  # of the loss on validation text, by which int8 may move it
FITS = ("none", "initialise")  # pretraining that leaves no model behind


class Rounded(NamedTuple):
    """The effect of rounding the weights on the loss on validation text, in nats per word."""

    before: float
    half: float
    int8: float

    @property
    def keeps_int8(self) -> bool:
        return abs(self.int8 / self.before - 1) < MOST


def write_compact(artefacts: Inputs, folder: Path) -> Rounded:
    """Write the files of a model beside its recipe and what else is small; measure the cost."""
    full = FullEncoding(artefacts)
    parts = Parts(full)
    model = _network(parts)
    words = _write_words(full, folder)
    save_features(full.phi, folder / PHI)
    if full.psi is not None:
        save_features(full.psi, folder / PSI)
    if len(words.unknown) > 1:
        guesser = guesser_of(load_chain(artefacts["analyse"]))
        save_arrays(folder / ENDINGS, encode_endings(guesser, words.unknown), packed=True)
    if isinstance(parts.spelling, NGramSpelling):
        save_letters(parts.spelling, folder / LETTERS)
    elif parts.spelling is not None:
        parts.spelling.save(folder / NEURAL)
    return _write_weights(parts, model, folder)


def _network(parts: Parts) -> LanguageModel:
    """The network; an error if it has no compact form."""
    about = parts.encoding.about
    found = {
        "encode.merges": (parts.speller is None, "words", "subwords"),
        "background.kind": (about["kind"] in KINDS, " or ".join(KINDS), about["kind"]),
        # Whose b is not made of counts alone.
        "train.start": (not (parts.artefacts["analyse"] / MADE_OF).exists(), "none", "a start"),
    }
    model = load_trained(parts.encoding)
    if isinstance(model, LanguageModel):
        recipe = model.recipe
        found["train.phases"] = (recipe.pretraining in FITS, " or ".join(FITS), "background")
        found["train.input"] = (recipe.input == "features", "features", recipe.input)
        found["train.condition"] = (recipe.condition == "none", "none", parted(recipe.condition)[0])
        kind = recipe.output_kind  # some read the forms of words
        found["train.output"] = (kind != "prefix-features", "no features of the prefix", kind)
    has_classes = (parts.artefacts["encode"] / "classes.npy").exists()
    for key, (fits, expected, got) in found.items():
        if not fits:
            raise AccordError(f"{key}: a small form expects {expected}, got {got}")
    is_backward = parts.encoding.recipe.text == "backward"
    if has_classes or is_backward or not isinstance(model, LanguageModel):
        raise AccordError(
            "train.output: a small form expects a network without classes, got another"
        )
    return model


def _write_words(full: FullEncoding, folder: Path) -> CompactWords:
    """Write words and readings, and check that the derived tables can be restored."""
    analysed, prior = full.artefacts["analyse"], full.artefacts["background"]
    types = pd.read_parquet(analysed / "types.parquet")
    analyses = pd.read_parquet(analysed / "analyses.parquet")
    arrays, sets = encode(analyses, len(types))
    words = CompactWords.encode(
        types["form"].tolist(),
        load_array(prior / "share.npy"),
        count=types["count"].to_numpy(),
        unknown=types.get("unknown", types["count"] * 0).to_numpy(),
        signature=full.phi.signature,
        read=np.zeros(0, np.int64) if full.psi is None else full.psi.signature,
        readings=sets,
    )
    same = words.mass(full.about["kind"], full.about["share"]) == full.mass()
    if [words.forms[place] for place in words.place] != types["form"].tolist() or not same.all():
        raise AccordError(
            f"{analysed}: expected ids that fall in count, and b that follows of them"
        )
    words.save(folder / WORDS)
    save_arrays(folder / READINGS, arrays, packed=True)
    save_arrays(folder / LEMMAS, encode_lemmas(analyses, words), packed=True)
    return words


def _write_weights(parts: Parts, model: LanguageModel, folder: Path) -> Rounded:
    """In int8 where that is good enough, said with the losses before and after.

    What is measured is the folder itself, read back.
    """
    vectors = parts.features.phi.vectors
    weights = {name: value.cpu().numpy() for name, value in parameters_of(model).items()}
    if vectors.shape[1]:
        weights[VECTORS] = vectors
    encoded = parts.artefacts["encode"]
    losses = [_loss(parts, encoded)]
    for int8 in (False, True):
        _replace_shards(packed(weights, int8), folder)
        losses.append(_loss(Parts(CompactEncoding(folder)), encoded))
    rounded = Rounded(*losses)
    if not rounded.keeps_int8:
        _replace_shards(packed(weights, int8=False), folder)
    say(
        f"validation: {rounded.before:.5f} nats a word; in half precision {rounded.half:.5f}, "
        f"with matrices in int8 {rounded.int8:.5f}: "
        f"{'int8 is kept' if rounded.keeps_int8 else 'half precision is kept'}"
    )
    return rounded


def _replace_shards(kept: Weights, folder: Path) -> None:
    for old in folder.glob("model-*.safetensors"):
        old.unlink()
    save_shards(kept, folder)


def _loss(parts: Parts, encoded: Path) -> float:
    """Nats a word of the validation text."""
    text = read_sentences(encoded, "valid"), read_forms(encoded, "valid")
    return -float(score_text(parts.model, parts.spelling, *text, UNKNOWN_ID)[0].mean())


# The files of each stage that the folder takes along: names or patterns.
EXPORTED = {
    "analyse": ("types.parquet", "analyses.parquet"),
    "featurise": ("phi.npz", "psi.npz", "letters.npy", DESCRIBED, "names.json"),
    "background": ("*",),
    "encode": (SPELLER, COUNTS, "classes.npy", VALUES),
    "train": (WEIGHTS, RECIPE, CURVE, *PHASE_CURVES.values()),
}
# Files that a model is written to in another form
CONVERTED = (".arpa", ".arpa.gz", ".fst.txt")
VECTORS_FILE, VECTORS_WRITER = ".vec", "accord.pipeline.ask.vectors:export_vectors"


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
    """Write a trained model of a finished run into one folder, which `load` reads anywhere.

    `compact` makes the folder small: weights in half precision or int8, all else packed. If `to`
    ends in `.arpa`, `.arpa.gz` or `.fst.txt`, the model is written as n-grams of this `order`. They
    are counted in the training text, or in sentences drawn from the model (`samples`). `prune`
    leaves out n-grams that hardly change the perplexity. With `states` the file is an automaton of
    at most so many clusters of hidden states. If `to` ends in `.vec`, the vectors of the `words`
    most frequent words are written, retrofitted to a lexicon with `retrofit`.
    """
    to = Path(to)
    if to.name.endswith(VECTORS_FILE):
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
        return extension("export.ngrams")(found.folders, to, **how)
    if any(value is not None for value in how.values()):
        raise AccordError(
            f"{to}: expected a file .arpa, .arpa.gz or .fst.txt, as --order, --samples, --prune "
            f"and --states are of n-grams and automata"
        )
    return _export_folder(found.folders, to, compact)


def _export_folder(artefacts: Inputs, folder: Path, compact: bool) -> Path:
    """Write a model's folder, whose name is the model's; one that is there has to be removed.

    A compact folder has what inference needs alone, in few bytes.
    """
    if folder.exists():
        raise ExistsError(f"{folder} is there already: choose another folder or remove it")
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for source in _small_files(artefacts) if compact else _files(artefacts):
        target = partial / (MODEL if source.name == WEIGHTS else source.name)
        if target.exists():
            raise AccordError(f"two files would be called {target.name}: {source} is one of them")
        shutil.copy(source, target)
    _take_lexicons(artefacts["analyse"], partial, compact)
    about = describe(artefacts, folder.name)
    if compact:
        about["rounding"] = write_compact(artefacts, partial)._asdict()
    (partial / "README.md").write_text(card(about), encoding="utf-8")
    hashes = {path.name: hash_of_file(path) for path in sorted(partial.iterdir())}
    hashes.pop("README.md")  # which is there to be written in
    write_json(partial / CONFIG, {"format": FORMAT, **about, "files": hashes})
    partial.rename(folder)
    return folder


def _small_files(artefacts: Inputs) -> list[Path]:
    """The files that a compact folder has as the stages wrote them."""
    files = [("train", RECIPE), ("featurise", "names.json"), ("background", BACKGROUND)]
    return [artefacts[stage] / name for stage, name in files]


def _take_lexicons(analysed: Path, folder: Path, compact: bool) -> None:
    """The lexicons, if classes of unknown words depend on them."""
    if not compact and len(Vocabulary.load(analysed).unknown) > 1:
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
    """The sources and scores of the model, without paths of this machine."""
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
    """The sources of the initial checkpoint, if there is one."""
    return load_json(analysed / MADE_OF, dict) if (analysed / MADE_OF).exists() else {}


def _params(artefacts: Inputs, stage: str) -> dict[str, Any]:
    return dict(Artefact.read(artefacts[stage]).meta["params"])


KEPT = (CHAIN, BACKGROUND, RECIPE, "names.json")  # files that both forms have


def unfold(folder: Path, out: Path) -> None:
    """Write a full exported model from a compact one.

    Lexicons are none of it: the chain names them, and they are looked for where data lie.
    """
    small, about = CompactEncoding(folder), read_json(folder / CONFIG)
    for name in KEPT:
        shutil.copy(folder / name, out / name)
    forms = list(small.words.forms)
    by_id = [forms[place] for place in small.words.place]
    types = pd.DataFrame({"form": by_id, "share": small.words.shares})
    types.to_parquet(out / "types.parquet")
    small.analyses(COLUMNS).to_parquet(out / "analyses.parquet")
    small.phi.save(out / "phi.npz")
    if small.psi is not None:
        small.psi.save(out / "psi.npz")
    np.save(out / PRIOR, small.mass())
    save_weights(small.weights(), out / MODEL)
    if (folder / NEURAL).exists():
        shutil.copy(folder / NEURAL, out / NEURAL)
    else:
        save_spelling(
            _learned(small.words, forms, about["params"]["background"]["spelling_order"]), out
        )
    files = {path.name: hash_of_file(path) for path in sorted(out.iterdir())}
    write_json(out / CONFIG, {**about, "files": files})


def _learned(words: CompactWords, forms: list[str], order: int) -> NGramSpelling:
    """Spelling as it was learned: from the words outside the lexicon that were seen once."""
    count, unknown = words.columns["count"], words.columns["unknown"]
    chosen = np.flatnonzero((count == 1) & (unknown > 0))
    if not len(chosen):
        chosen = np.flatnonzero([not is_special(form) for form in forms])
    kinds = np.maximum(unknown[chosen].astype(np.int64) - UNKNOWN_ID, 0).tolist()
    learned = [forms[place] for place in chosen]
    return NGramSpelling.learn(learned, kinds, len(words.unknown), order)
