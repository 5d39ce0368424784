"""The figures that Dymetman & Xiao published on UD French, and ours beside them.

Marc Dymetman and Chunyang Xiao (2016): Log-Linear RNNs: Towards Recurrent Neural Networks with
Flexible Prior Knowledge. arXiv 1607.02467, Tables 2 and 4. Here stand only the figures that we
could verify, which leaves out Table 1 and Table 4's other rows.
"""

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.artefacts.arrow import rows, splits
from pipeline.display.tables import markdown
from pipeline.evaluation.score_rows import read_scores
from pipeline.runner.finished import Finished

TESTS = {"test": "test1", "dev": "test2"}  # the release's name and the paper's
BOUNDARIES = 3  # symbols that the paper adds to each sentence

# Of release 1.3. Its words and contractions are the release's own statistics; with three
# boundaries a sentence they come to the number of tokens in the paper's Table 2.
CORPUS = {
    "sentences": 16_448,
    "words": 401_960,
    "contracted rows": 11_765,
    "surface words": None,
    "tokens": 463_069,
}
SENTENCES = {"train": 13_826, "valid": 728, "test1": 298, "test2": 1_596}

# Table 4: nats per token on test1 and test2; e to their power is the perplexity, 433 and 161.
NATS = {
    "rnn": {"test1": 6.07, "test2": 6.15},
    "ll-rnn-2500": {"test1": 5.08, "test2": 5.07},
}

DIFFERENCES = """\
- Release 1.4 stands for 1.3: the same sentences, with slightly other words and contractions.
- φ is the union of each form's gold analyses in a later release of the same treebank, dev and
  test included; the paper's was the union of those of its own release.
- The paper's count of tokens has three boundary symbols a sentence, ours one end. Two of three can
  be foreseen, so an average over such tokens is lower: "per token" are our nats over words and
  three boundaries a sentence.
- A dash stands where no figure of the paper is known to Accord."""


def tables(run: Path) -> str:
    """The paper's Tables 2 and 4 beside a run of the preset `paper`, as Markdown."""
    finished = Finished.read(run)
    corpus = next(iter(finished.of_stage("corpus").values()))
    protocols = {sections["analyse"].protocol for sections in finished.sections.values()}
    if protocols != {"paper"} or not {*TESTS} <= {*splits(corpus)}:
        raise ValueError(
            f"{run}: expected a run of the preset 'paper', with its protocol and the splits "
            f"{' and '.join(TESTS)}; found the protocol {', '.join(sorted(protocols))} and the "
            f"splits {', '.join(splits(corpus))}"
        )
    parts = [
        "The corpus (Table 2):",
        markdown(corpus_table(corpus)),
        "Nats per token (Table 4), in brackets the perplexity:",
        markdown(results_table(finished)),
        DIFFERENCES,
    ]
    return "\n\n".join(parts) + "\n"


def corpus_table(corpus: Path) -> pd.DataFrame:
    """Sizes of the corpus and its parts: the paper's release 1.3 and the run's."""
    kinds: Counter[str] = Counter()
    sentences = {}
    for split, path in splits(corpus).items():
        kept = [Counter(row["kinds"]) for row in rows(path)]
        sentences[TESTS.get(split, split)] = len(kept)
        kinds.update(sum(kept, Counter()))
    words, contracted = kinds["word"] + kinds["part"], kinds["contracted"]
    total = sum(sentences.values())
    ours = {
        "sentences": total,
        "words": words,
        "contracted rows": contracted,
        "surface words": kinds["word"] + contracted,
        "tokens": words + contracted + BOUNDARIES * total,
    }
    paper = CORPUS | {f"sentences of {part}": count for part, count in SENTENCES.items()}
    ours |= {f"sentences of {part}": sentences.get(part) for part in SENTENCES}
    shown = [(size, _count(paper[size]), _count(ours[size])) for size in paper]
    return pd.DataFrame(shown, columns=["", "paper", "ours"])


def results_table(finished: Finished) -> pd.DataFrame:
    """Nats per word of every model on both tests, beside the paper's where we have them."""
    found = []
    for model, folder in finished.of_stage("evaluate").items():
        scores = read_scores(folder).set_index(["split", "metric"])["value"]
        row = {"model": model}
        for split, name in TESTS.items():
            nats, words = scores[split, "nats per word"], scores[split, "words"]
            ends = scores[split, "sentences"]
            per_token = nats * (words + ends) / (words + BOUNDARIES * ends)
            row[f"{name}: paper"] = _nats(NATS.get(model, {}).get(name))
            row[f"{name}: ours"] = _nats(nats)
            row[f"{name}: ours per token"] = _nats(per_token)
        found.append(row)
    return pd.DataFrame(found)


def _nats(nats: float | None) -> str:
    return "–" if nats is None else f"{nats:.2f} ({np.exp(nats):,.0f})"


def _count(count: int | None) -> str:
    return "–" if count is None else f"{count:,}"
