"""The tables of the LL-RNN paper, ours beside them, from a run of the preset `paper`."""

from pathlib import Path

import numpy as np
import pandas as pd

from accord.pipeline.artefacts.arrow import splits
from accord.pipeline.artefacts.artefact import FinishedRun
from accord.pipeline.compare.paper.data import corpus_table, sentences_table, tags_table
from accord.pipeline.compare.paper.figures import BEST, BOUNDARIES, NATS, RNN, STRICT, TESTS
from accord.pipeline.display.seeds import by_seed, mean_and_spread
from accord.pipeline.display.tables import markdown
from accord.pipeline.evaluation.score_rows import read_epochs, read_scores

DIFFERENCES = f"""\
- Release 1.4 stands for 1.3: the same sentences, with slightly other words and contractions.
- φ is the union of each form's gold analyses in a later release of the same treebank, dev and
  test included, as 1.4 has none of its training text; the paper's was the union of those of its
  own release. The later one has neither NIL nor Degree=Cmp nor Gender=Neut.
- The paper's count of tokens has three boundary symbols a sentence, and it does not say whether
  its averages do. Our models predict one end a sentence: "one end" are nats over words and ends;
  "three boundaries" the same nats over words and three a sentence, two of which can be foreseen;
  "none" those of the words alone.
- Training nats are those of the best epoch, while it was trained, over words and ends.
- "A sequence length fixed at 8": the state is carried from one window of 8 to the next, and a test
  sentence is read as a whole; models called {STRICT} see the eight words before each word and
  nothing else, in training and on the tests."""


def tables(run: Path) -> str:
    """The paper's Tables 1 to 4 beside a run of the preset `paper`, as Markdown."""
    finished = FinishedRun.read(run)
    corpus = next(iter(finished.of_stage("corpus").values()))
    protocols = {sections["analyse"]["protocol"] for sections in finished.params.values()}
    if protocols != {"paper"} or not {*TESTS} <= {*splits(corpus)}:
        raise ValueError(
            f"{run}: expected a run of the preset 'paper', with its protocol and the splits "
            f"{' and '.join(TESTS)}; found the protocol {', '.join(sorted(protocols))} and the "
            f"splits {', '.join(splits(corpus))}"
        )
    parts = [
        "Table 1, sentences:",
        markdown(sentences_table(corpus)),
        "Table 2, the whole corpus:",
        markdown(corpus_table(corpus, next(iter(finished.of_stage("tokenise").values())))),
        "Table 3, the tags of a word:",
        markdown(tags_table(finished.of_stage("featurise").values())),
        "Table 4, nats:",
        markdown(results_table(finished)),
        *factors(finished),
        DIFFERENCES,
    ]
    return "\n\n".join(parts) + "\n"


def results_table(finished: FinishedRun) -> pd.DataFrame:
    """Nats of every model in training and on both tests, by each denominator."""
    found = []
    for model, figures in _by_model(finished).items():
        published = NATS.get(model.removesuffix(STRICT), {})
        row = {"model": model}
        for column in figures.columns:
            part = column.partition(":")[0]
            row.setdefault(f"{part}: paper", f"{published[part]:.2f}" if published else "–")
            row[column] = mean_and_spread(figures[column].tolist(), 2)
        found.append(row)
    return pd.DataFrame(found)


def factors(finished: FinishedRun) -> list[str]:
    """How many times the RNN's perplexity on test1 is that of the best LL-RNN."""
    said = [f"Perplexity of the RNN over that of the LL-RNN (2500) on test1: paper {_factor(NATS)}"]
    models = _by_model(finished)
    for ending in ("", STRICT):
        if {RNN + ending, BEST + ending} <= models.keys():
            ours = {m: {"test1": models[m + ending]["test1: one end"].mean()} for m in (RNN, BEST)}
            said.append(f"ours{ending} {_factor(ours)}")
    return [", ".join(said) + "."]


def _by_model(finished: FinishedRun) -> dict[str, pd.DataFrame]:
    """Nats of each model, a row for each of its seeds."""
    trained, evaluated = finished.of_stage("train"), finished.of_stage("evaluate")
    return {
        model: pd.DataFrame([_nats(trained[seed], evaluated[seed]) for seed in seeds])
        for model, seeds in by_seed(evaluated).items()
    }


def _nats(trained: Path, evaluated: Path) -> dict[str, float]:
    curve = read_epochs(trained)
    figures = {"training: one end": curve["train_nats"][curve["valid_nats"].idxmin()]}
    scores = read_scores(evaluated).set_index(["split", "metric"])["value"]
    for split, part in TESTS.items():
        nats, words = scores[split, "nats per word"], scores[split, "words"]
        ends = scores[split, "sentences"]
        figures[f"{part}: one end"] = nats
        boundaries = nats * (words + ends) / (words + BOUNDARIES * ends)
        figures[f"{part}: three boundaries"] = boundaries
        figures[f"{part}: none"] = scores[split, "nats per word without ends"]
    return figures


def _factor(nats: dict[str, dict[str, float]]) -> str:
    rnn, best = (np.exp(nats[model]["test1"]) for model in (RNN, BEST))
    return f"{rnn:.0f} / {best:.0f} = {rnn / best:.2f}"
