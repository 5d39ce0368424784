"""The card of an exported model: what it is, its scores, and the licences of what it is made of."""

import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from accord.corpora.formats import HUB
from accord.corpora.sources import CORPORA
from accord.lexicon.chain import BUILT_IN, find
from accord.models.common.registry import parted
from accord.pipeline.base.tables import markdown

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
    "perplexity",
    "nats per word",
    "bits per character",
    "bits per character without context",
    "words",
    "accuracy",
    "ties",
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
PROTOCOLS = {
    "open": "Every string has a probability: a character model spells unknown words.",
    "closed": "The vocabulary is closed: the words of the whole corpus, the test's included.",
    "paper": "The vocabulary, φ and b know the test: the setting of the LL-RNN paper.",
}


def licences(sources: Sequence[str], lexicons: Sequence[str]) -> dict[str, list[dict[str, str]]]:
    """The texts and lexicons of a model by name and licence; a path gives its last name only."""
    return {
        "corpora": [{"name": plain_name(each), "licence": _of_corpus(each)} for each in sources],
        "lexicons": [{"name": plain_name(each), "licence": _of_lexicon(each)} for each in lexicons],
    }


def plain_name(source: str) -> str:
    """What a corpus or lexicon is called, without the folders of this machine."""
    known = source in CORPORA or source in BUILT_IN or source.startswith(HUB)
    return source.removeprefix(HUB) if known else Path(source).name


def _of_corpus(source: str) -> str:
    return CORPORA[source].licence if source in CORPORA else UNKNOWN


def _of_lexicon(name: str) -> str:
    return WITHOUT_DATA.get(name) or getattr(find(name), "licence", UNKNOWN)


def card(about: Mapping[str, Any]) -> str:
    """The card, with the header that the hub reads."""
    parts = [*about["corpora"], *about["lexicons"]]
    of_texts = {each["licence"] for each in about["corpora"]}
    binding = of_texts.difference(PERMISSIVE) or of_texts
    of_weights = None if UNKNOWN in binding or len(binding) > 1 else next(iter(binding))
    one = ON_THE_HUB.get(of_weights or "")
    header = {
        "language": about["language"],
        "license": one or "other",
        **({} if one else {"license_name": "those-of-its-data"}),
        "datasets": [each["name"] for each in about["corpora"]],
        "library_name": "accord",
        "tags": ["language-modeling", "morphology"],
    }
    params = about["params"]
    table = pd.DataFrame(parts).map(inert)
    table.insert(0, "", ["text"] * len(about["corpora"]) + ["lexicon"] * len(about["lexicons"]))
    return CARD.format(
        header=yaml.safe_dump(header, sort_keys=False),
        name=inert(about["name"]),
        kind=f"encoder {params['train']['encoder']}, output {parted(params['train']['output'])[0]}"
        + (f", fine-tuned from the model {inert(about['start'])}" if about["start"] else ""),
        scores=_scores(about["scores"]),
        texts=_in_words([inert(each["name"]) for each in about["corpora"]]),
        reads="a text of several sentences as one"
        if params["train"].get("text") == "documents"
        else "each sentence by itself",
        lowercase=", in lower case" if params.get("tokenise", {}).get("lowercase") else "",
        weights=f"The weights are under {inert(of_weights)}, as the texts are or allow."
        if of_weights
        else "The weights are under the licences of its texts.",
        rounding=_rounding(about.get("rounding")),
        protocol=PROTOCOLS[params["analyse"]["protocol"]],
        made_of=markdown(table),
        counts=", and its training text as numbers, as its n-grams are counted from it"
        if params["background"]["kind"] == "ngram"
        else "",
    )


def inert(text: str) -> str:
    """A name as Markdown shows it: no element of HTML, no link or picture, no other cell."""
    return SIGNS.sub(r"\\\g<0>", escape(" ".join(text.split()), quote=False))


def _rounding(losses: Mapping[str, float] | None) -> str:
    """The rounding loss of a compact model; empty for others."""
    if not losses:
        return ""
    return (
        " The scores were measured before the weights were rounded. On validation text the "
        "model had {before:.4f} nats per word then, in half precision {half:.4f}, with matrices "
        "in int8 {int8:.4f}.".format(**losses)
    )


def _in_words(names: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.4g}"


def _scores(rows: Sequence[Mapping[str, Any]]) -> str:
    table = pd.DataFrame(rows)
    table = table[table["metric"].isin(SHOWN) & (table["split"] != "train")]
    wide = table.pivot(index="split", columns="metric", values="value")
    wide = wide[[name for name in SHOWN if name in wide]].map(_number)
    return markdown(wide.replace("nan", "").reset_index().map(inert))
