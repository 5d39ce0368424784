"""Copy a model's folder with its scores, sources and card; round its weights if asked.

Rounded weights are in half precision, and matrices in int8 if that moves the loss on validation
text little enough.
"""

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, cast

import pandas as pd
import yaml

from accord.corpora.formats import HUB
from accord.corpora.sources import CORPORA
from accord.errors import AccordError, ExistsError
from accord.lexicon.analysis import BUILT_IN
from accord.lexicon.analysis import find as find_lexicon
from accord.models.common.arrays import load_model, load_weights, packed, save_shards
from accord.models.common.files import WEIGHTS, load_json
from accord.models.common.registry import extension, imported, parted
from accord.models.parts import BACKGROUNDS
from accord.models.spelling import score_text
from accord.pipeline.base.artefact import Artefact
from accord.pipeline.base.messages import say
from accord.pipeline.base.names import MADE_OF, UNKNOWN_ID
from accord.pipeline.base.tables import markdown
from accord.pipeline.data.encoded import HeldOut, read_held_out
from accord.pipeline.model.comparison import read_scores
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
    trained = one(run, model)
    if trained.kind != "run":
        raise AccordError(f"{run}: expected a measured run; it is of the kind {trained.kind}")
    trained.check(*trained.folders, "evaluate")
    how = {"order": order, "samples": samples, "prune": prune, "states": states}
    if to.name.endswith(CONVERTED):
        if compact:
            raise AccordError(f"{to}: expected a folder for a compact model, got a file of n-grams")
        return extension("export.ngrams")(trained, to, **how)
    if any(value is not None for value in how.values()):
        raise AccordError(
            f"{to}: expected a file .arpa, .arpa.gz or .fst.txt, as --order, --samples, --prune "
            f"and --states are of n-grams and automata"
        )
    return _export_folder(trained, to, compact)


def _export_folder(model: TrainedModel, folder: Path, compact: bool) -> Path:
    """Write a model's folder, whose name is the model's; one that is there has to be removed."""
    if folder.exists():
        raise ExistsError(f"{folder} is there already: choose another folder or remove it")
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    source = cast("Path", model.folder)  # a run has one
    opened = open_folder(source)
    for path in model_files(source):
        shutil.copy(path, partial / path.name)
    about = describe(model, folder.name)
    if compact:
        encoded = model.folders["encode"]
        about["rounding"] = _round_weights(opened, partial, read_held_out(encoded, "valid"))
    (partial / "README.md").write_text(card(about), encoding="utf-8")
    write_config(about, partial)
    partial.rename(folder)
    return folder


def describe(model: TrainedModel, name: str) -> dict[str, Any]:
    """Return the configuration with the sources and scores of a model of a run, without paths."""
    config, made = ModelFolder(cast("Path", model.folder)).config, model.folders
    params = {stage: dict(Artefact.read(made[stage]).meta["params"]) for stage in made}
    params["train"] = {**config["params"]["train"], "device": "auto"}
    corpora = [*params["corpus"].pop("source"), *(params["corpus"].pop("pretraining") or ())]
    lexicons = [*params["analyse"].pop("lexicon"), params["analyse"].pop("frequency")]
    params["analyse"].pop("suites")  # they judged it, and are no part of it
    kind = config["background"]["kind"]
    if files := BACKGROUNDS.files(kind):  # kept by their names, without the paths of this machine
        kind = {key: Path(value).name if value in files else value for key, value in kind.items()}
    params["background"]["kind"] = kind
    path = made["analyse"] / MADE_OF
    start = load_json(path, dict) if path.exists() else {}
    return {
        **{key: value for key, value in config.items() if key != "files"},
        "name": name,
        "language": "fr",
        "lookup": {**config["lookup"], "names": [*map(plain_name, config["lookup"]["names"])]},
        "background": {**config["background"], "kind": kind},
        "start": start.get("name"),
        "corpora": _licences(start.get("corpora", ()), corpora, CORPORA.get),
        "lexicons": _licences(start.get("lexicons", ()), lexicons, find_lexicon),
        "params": params,
        "scores": read_scores(made["evaluate"]).to_dict("records"),
    }


def _round_weights(model: ModelFolder, folder: Path, valid: HeldOut) -> dict[str, float]:
    """Round the weights of a folder, with matrices in int8 if that is good enough.

    Return the nats per word on validation text, with the rounded weights as they are read back.
    """
    weights = load_model(folder)
    (folder / WEIGHTS).unlink()
    vectors = folder / VECTORS_FILE
    if vectors.exists():
        weights |= load_weights(vectors)
        vectors.unlink()

    def rounded(int8: bool) -> float:
        for path in folder.glob(SHARDS):
            path.unlink()
        save_shards(packed(weights, int8), folder)
        return _loss(ModelFolder(folder, model.config), valid)

    whole, half, int8 = _loss(model, valid), rounded(int8=False), rounded(int8=True)
    is_int8 = abs(int8 / whole - 1) < MOST
    if not is_int8:
        rounded(int8=False)
    say(
        f"validation: {whole:.5f} nats a word; in half precision {half:.5f}, with matrices in int8 "
        f"{int8:.5f}: {'int8' if is_int8 else 'half precision'} is kept"
    )
    return {"before": whole, "half": half, "int8": int8}


def _loss(model: ModelFolder, text: HeldOut) -> float:
    scored = score_text(model.model, model.spelling, text.sentences, text.text, UNKNOWN_ID)
    return -float(scored[0].mean())


# The card

# Licences as the Hugging Face hub calls them.
ON_THE_HUB = {
    "MIT": "mit",
    "LGPL-LR": "lgpl-lr",
    "CC BY-SA 3.0": "cc-by-sa-3.0",
    "CC BY-SA 4.0": "cc-by-sa-4.0",
    "CC BY-NC-SA 3.0": "cc-by-nc-sa-3.0",
}
UNKNOWN = "its owner's"
SIGNS = re.compile(r"[\[\]|`]")  # links, pictures, cells and code of Markdown
WITHOUT_DATA = {"closed": "MIT", "guesser": "that of the lexicons it learned from"}
# Licences that leave the choice of another one to a work that is made from the text.
PERMISSIVE = ("public domain", "open data of the DILA")
SHOWN = (
    *("perplexity", "nats per word", "bits per character", "bits per character without context"),
    *("words", "accuracy", "ties"),
)

CARD = """---
{header}---

# {name}

A language model for French, trained with Accord: {kind}. It gives every word of a sentence its \
probability, given the words before it.

```python
from accord import load

model = load("{name}")  # this folder; or "owner/{name}", its id on the Hugging Face hub
for word in model.score("La petite fille mange une pomme."):
    print(f"{{word.form:10}} {{word.log_p:7.3f}}")
```

## Scores

{scores}

{protocol} Each sentence end counts as a word.{rounding}

## Licences

{made_of}

{weights} The folder also holds what the lexicons say of words{counts}. Their licences hold for \
that part. `config.json` says how the model was trained.

## Limits

The model has read {texts} and nothing else. Other kinds of text surprise it more than the scores \
above say. It repeats how those texts speak of people and things, right or wrong. It reads \
{reads}{lowercase}. Words that no lexicon lists, names above all, are analysed by their \
endings and spelled by a character model. A probable sentence need not be true.

## How to cite

Cite Accord (`CITATION.cff` in its repository), the texts and lexicons above, and the paper of \
the model: M. Dymetman and C. Xiao, *Log-Linear RNNs: Towards Recurrent Neural Networks with \
Flexible Prior Knowledge*, 2016, arXiv 1607.02467.
"""
ROUNDING = (
    " The scores were measured before the weights were rounded. On validation text the model had "
    "{before:.4f} nats per word then, in half precision {half:.4f}, with matrices in int8 "
    "{int8:.4f}."
)
PROTOCOLS = {
    "open": "Every string has a probability: a character model spells unknown words.",
    "closed": "The vocabulary is closed: the words of the whole corpus, the test's included.",
    "paper": "The vocabulary, φ and b know the test: the setting of the LL-RNN paper.",
}


Licence = dict[str, str]  # of a text or lexicon: its name and licence


def _licences(
    of_start: Sequence[Licence], sources: Sequence[str | None], find: Callable[[str], Any]
) -> list[Licence]:
    """Return the names and licences of the initial checkpoint's sources and of further ones."""
    added = []
    for name in filter(None, dict.fromkeys(sources)):
        licence = WITHOUT_DATA.get(name) or getattr(find(name), "licence", UNKNOWN)
        added.append({"name": plain_name(name), "licence": str(licence)})
    return [*of_start, *(source for source in added if source not in of_start)]


def plain_name(source: str) -> str:
    """Return the name of a corpus or lexicon, without the folders of this machine."""
    known = source in CORPORA or source in BUILT_IN or source.startswith(HUB)
    return source.removeprefix(HUB) if known else Path(source).name


def card(about: Mapping[str, Any]) -> str:
    """Write the card, with the header that the hub reads."""
    parts = [*about["corpora"], *about["lexicons"]]
    of_texts = {corpus["licence"] for corpus in about["corpora"]}
    binding = of_texts.difference(PERMISSIVE) or of_texts
    of_weights = None if UNKNOWN in binding or len(binding) > 1 else next(iter(binding))
    hub_licence = ON_THE_HUB.get(of_weights or "")
    names = [corpus["name"] for corpus in about["corpora"]]
    header = {
        "language": about["language"],
        "license": hub_licence or "other",
        **({} if hub_licence else {"license_name": "those-of-its-data"}),
        "datasets": names,
        "library_name": "accord",
        "tags": ["language-modeling", "morphology"],
    }
    params, texts = about["params"], [*map(inert, names)]
    table = pd.DataFrame(parts).map(inert)
    table.insert(0, "", ["text"] * len(about["corpora"]) + ["lexicon"] * len(about["lexicons"]))
    return CARD.format(
        header=yaml.safe_dump(header, sort_keys=False),
        name=inert(about["name"]),
        kind=f"encoder {params['train']['encoder']}, output {parted(params['train']['output'])[0]}"
        + (f", fine-tuned from the model {inert(about['start'])}" if about["start"] else ""),
        scores=_scores(about["scores"]),
        texts=" and ".join(filter(None, (", ".join(texts[:-1]), texts[-1]))),
        reads="a text of several sentences as one"
        if params["train"].get("text") == "documents"
        else "each sentence by itself",
        lowercase=", in lower case" if params.get("tokenise", {}).get("lowercase") else "",
        weights=f"The weights are under {inert(of_weights)}, as the texts are or allow."
        if of_weights
        else "The weights are under the licences of its texts.",
        rounding=ROUNDING.format(**about["rounding"]) if about.get("rounding") else "",
        protocol=PROTOCOLS[params["analyse"]["protocol"]],
        made_of=markdown(table),
        counts=", and its training text as numbers, as its n-grams are counted from it"
        if params["background"]["kind"] == "ngram"
        else "",
    )


def inert(text: str) -> str:
    """Escape a name for Markdown: no element of HTML, no link or picture, no other cell."""
    return SIGNS.sub(r"\\\g<0>", escape(" ".join(text.split()), quote=False))


def _scores(rows: Sequence[Mapping[str, Any]]) -> str:
    table = pd.DataFrame(rows)
    table = table[table["metric"].isin(SHOWN) & (table["split"] != "train")]
    wide = table.pivot(index="split", columns="metric", values="value")
    wide = wide[[name for name in SHOWN if name in wide]]
    wide = wide.map(lambda value: f"{value:,.0f}" if value >= 1_000 else f"{value:.4g}")
    return markdown(wide.replace("nan", "").reset_index().map(inert))
