"""Runs in one table, with the differences that are real; the paper's tables next to ours.

Marc Dymetman and Chunyang Xiao (2016): Log-Linear RNNs: Towards Recurrent Neural Networks with
Flexible Prior Knowledge. arXiv 1607.02467, Tables 1 to 4.

Table 5 shows each word with its features in φ of the LL-RNN, for the words of both models: TOPFORM
for one of the M forms with a feature of their own, @notTop for another, then the tags.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from accord.errors import AccordError
from accord.models.common.files import write_whole
from accord.pipeline.ask.generate import Generator, NewSentence
from accord.pipeline.ask.scorer import Scorer, load
from accord.pipeline.base.arrow import open_table, rows, splits, word_counts
from accord.pipeline.base.artefact import FinishedRun
from accord.pipeline.base.figures import perplexity_against_time, save
from accord.pipeline.base.names import NOT_TOP
from accord.pipeline.base.tables import by_seed, markdown, mean_and_spread, write_table
from accord.pipeline.model import comparison
from accord.pipeline.model.find import is_run
from accord.pipeline.model.words import IDENTITY, NamedFeatures
from accord.pipeline.run.run import run

COLUMNS: list[comparison.Column] = [
    ("perplexity", "test", "perplexity", 1),
    ("bits/char", "test", "bits per character", 3),
    ("agreement", "suite", "accuracy", 3),
    ("ties", "suite", "ties", 0),
    ("parameters", "train", "parameters", 0),
    ("s to best epoch", "train", "seconds to the best epoch", 0),
    ("words/s scored", "one test", "words scored per second", 0),
]


def find_or_run(
    sources: Sequence[str], *, set: Sequence[str] = (), seeds: int = 1, runs: Path
) -> list[comparison.Scored]:
    """Find the models of runs; any other name is a configuration, which is run first."""

    def folder_of_run(source: str) -> str:
        is_folder = "/" in source and not source.endswith((".yaml", ".yml"))
        if is_folder or is_run(Path(source)) or is_run(Path(source).parent):
            return source
        return str(run(source, set=set, seeds=seeds, runs=runs).folder)

    return comparison.find_all(map(folder_of_run, sources))


def gather(models: Sequence[comparison.Scored]) -> pd.DataFrame:
    """Read the scores of all models with their protocols; equal names get the run's name too."""
    by_name = comparison.named(models)
    scores = comparison.of_models({name: model.scores for name, model in by_name.items()})
    return scores.assign(protocol=scores["model"].map(lambda name: by_name[name].protocol))


def table(scores: pd.DataFrame) -> pd.DataFrame:
    """Return one row per model, its seeds together."""
    shown = comparison.comparison_table(scores, COLUMNS)
    protocol = scores.drop_duplicates("model").set_index("model")["protocol"]
    seeds = by_seed(scores["model"].unique()).values()
    shown.insert(1, "seeds", [len(members) for members in seeds])
    shown.insert(1, "protocol", [protocol[members[0]] for members in seeds])
    return shown


def write(scores: pd.DataFrame, shown: pd.DataFrame, folder: Path) -> None:
    """Write the table as Markdown and CSV, all its scores, and the figure of training time."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "table.md", f"{markdown(shown)}\n".encode())
    write_table(shown, folder / "table.csv")
    write_table(scores, folder / "scores.csv")
    save(perplexity_against_time(scores, comparison.test_splits(scores)[0]), folder / "time")


def compare(scored: Sequence[comparison.Scored], against: str | None = None) -> pd.DataFrame:
    """Test each model against one of them, the first by default.

    The seeds of a model are taken together, by their mean losses.
    """
    comparison.check_same_text(scored)
    models = comparison.named(scored)
    names = [*by_seed(models)]
    if against and against not in names:
        raise AccordError(f"--against: expected one of {', '.join(names)}; got {against}")
    evaluated = {name: model.scores for name, model in models.items()}
    encoded = {name: model.folders["encode"] for name, model in models.items()}
    tests = [split for split in scored[0].splits if split != "valid"]
    compared = comparison.compare_models(evaluated, encoded, tests, against)
    rows = [
        {"model": model.model, "split": model.split, "perplexity": f"{model.perplexity:,.1f}"}
        | (model.difference.shown if model.difference else {})
        for model in sorted(compared, key=lambda model: names.index(model.model))
    ]
    return pd.DataFrame(rows).fillna("–")


TESTS = {"test": "test1", "dev": "test2"}  # the release's name and the paper's
BOUNDARIES = 3  # symbols that the paper adds to each sentence

# Table 1: sentences of each part.
SENTENCES = {"train": 13_826, "valid": 728, "test1": 298, "test2": 1_596}

# Table 2. Words and contracted rows are the statistics of release 1.3; with three boundaries a
# sentence they sum to the paper's number of tokens.
CORPUS = {
    "sentences": 16_448,
    "words": 401_960,
    "contracted rows": 11_765,
    "tokens": 463_069,
    "mean sentence length": 28.15,
    "types": 42_894,
    "tokens per type": 10.80,
}

# Table 3: the 52 binary tags of a word. Release 1.3 wrote CCONJ as CONJ.
TAGS = {
    "pos": "ADJ ADP ADV AUX CCONJ DET INTJ NIL NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X _",
    "Case": "Abl Acc Nom Voc",
    "Definite": "Def Ind",
    "Degree": "Cmp",
    "Gender": "Fem Masc Neut",
    "Mood": "Cnd Imp Ind Sub",
    "Number": "Plur Sing",
    "Person": "1 2 3",
    "PronType": "Dem Ind Int Neg Prs Rel",
    "Reflex": "Yes",
    "Tense": "Fut Imp Past Pres",
    "VerbForm": "Fin Inf Part",
}

# Table 4: nats per token; e to their power is the perplexity, of the tests' best 433 and 161.
NATS = {
    "rnn": {"training": 4.17, "test1": 6.07, "test2": 6.15},
    "ll-rnn-10000": {"training": 4.68, "test1": 5.17, "test2": 5.17},
    "ll-rnn-5000": {"training": 4.33, "test1": 5.13, "test2": 5.12},
    "ll-rnn-3000": {"training": 4.65, "test1": 5.11, "test2": 5.09},
    "ll-rnn-2500": {"training": 4.74, "test1": 5.08, "test2": 5.07},
    "ll-rnn-2000": {"training": 4.77, "test1": 5.11, "test2": 5.10},
    "ll-rnn-1000": {"training": 4.84, "test1": 5.13, "test2": 5.13},
    "ll-rnn-500": {"training": 4.93, "test1": 5.20, "test2": 5.18},
    "ll-rnn-10": {"training": 5.30, "test1": 5.45, "test2": 5.44},
}
RNN, BEST = "rnn", "ll-rnn-2500"  # whose perplexities on test1 the paper compares
STRICT = "-strict"  # ends the name of a model that sees eight words and nothing else


def sentences_table(corpus: Path) -> pd.DataFrame:
    """Count the sentences of each part; validation is drawn from the training sentences."""
    tables = splits(corpus).items()
    ours = {TESTS.get(split, split): open_table(path).num_rows for split, path in tables}
    shown = {part: [f"{count:,}", f"{ours[part]:,}"] for part, count in SENTENCES.items()}
    return pd.DataFrame({"": ["paper", "ours"], **shown})


def corpus_table(corpus: Path, tokenised: Path) -> pd.DataFrame:
    """Return the sizes of the corpus: the paper's release 1.3 and the run's."""
    kinds: Counter[str] = Counter()
    sentences = 0
    for path in splits(corpus).values():
        for row in rows(path):
            kinds.update(row["kinds"])
            sentences += 1
    types = len(set().union(*map(word_counts, splits(tokenised).values())))
    words, contracted = kinds["word"] + kinds["part"], kinds["contracted"]
    tokens = words + contracted + BOUNDARIES * sentences
    ours = (sentences, words, contracted, tokens, tokens / sentences, types, tokens / types)
    columns = [
        [f"{n:,}" if isinstance(n, int) else f"{n:,.2f}" for n in column]
        for column in (CORPUS.values(), ours)
    ]
    return pd.DataFrame({"": [*CORPUS], "paper": columns[0], "ours": columns[1]})


def tags_table(featurised: Iterable[Path]) -> pd.DataFrame:
    """Return the paper's tags that the φ of the run has, those that it lacks, and others."""
    names = {name for folder in featurised for name in NamedFeatures.load(folder).names}
    ours = {name for name in names if not name.startswith(("form=", "@"))}
    tags = {kind: {f"{kind}={value}" for value in values.split()} for kind, values in TAGS.items()}
    table = [  # the paper's and ours
        (kind, paper, {name for name in ours if name.startswith(f"{kind}=")})
        for kind, paper in tags.items()
    ]
    others = {name for name in ours if name.partition("=")[0] not in TAGS}
    table += [("others", set(), others), ("all", set().union(*tags.values()), ours)]
    shown = [
        (name, len(paper), len(our), _listed(paper - our), _listed(our - paper))
        for name, paper, our in table
        if paper or our
    ]
    return pd.DataFrame(shown, columns=["", "paper", "ours", "lacking", "besides"])


def _listed(names: set[str]) -> str:
    return " ".join(sorted(names)) or "–"


def drawn_sentences(run: Path, count: int) -> str:
    """Draw sentences from each of the two models; return them as Markdown."""
    scorers = {model: load(run, model) for model in (BEST, RNN)}
    features = scorers[BEST].parts.features
    parts = []
    for model, scorer in scorers.items():
        sentences = Generator(scorer).sample(count)
        shown = "\n".join(line for s in sentences for line in _lines(s, scorer, features))
        parts.append(f"Table 5, {count} sentences of {model}:\n\n{shown}")
    return "\n\n".join(parts) + "\n"


def _lines(sentence: NewSentence, scorer: Scorer, features: NamedFeatures) -> Iterator[str]:
    """Yield a sentence, and below it each word with TOPFORM or @notTop and its tags."""
    yield f"- {sentence.text}" + ("" if sentence.ended else " […]")
    for word in sentence.words:
        row = scorer.vocabulary.known[word.form]
        is_top = any(features.names[number].startswith(IDENTITY) for number in features.row(row))
        tags = [name.partition("=")[2].lower() for name in features.grammar(row)]
        yield f"    - {word.form}: {', '.join(['TOPFORM' if is_top else NOT_TOP, *tags])}"


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


def paper_tables(run: Path) -> str:
    """Return the paper's Tables 1 to 4 next to a run of the preset `paper`, as Markdown."""
    finished = FinishedRun.read(run)
    corpus = next(iter(finished.of_stage("corpus").values()))
    protocols = {sections["analyse"]["protocol"] for sections in finished.params.values()}
    if protocols != {"paper"} or not {*TESTS} <= {*splits(corpus)}:
        raise AccordError(
            f"{run}: expected a run of the preset 'paper', with its protocol and the splits "
            f"{' and '.join(TESTS)}; found the protocol {', '.join(sorted(protocols))} and the "
            f"splits {', '.join(splits(corpus))}"
        )
    nats = _nats_by_model(finished)
    parts = [
        "Table 1, sentences:",
        markdown(sentences_table(corpus)),
        "Table 2, the whole corpus:",
        markdown(corpus_table(corpus, next(iter(finished.of_stage("tokenise").values())))),
        "Table 3, the tags of a word:",
        markdown(tags_table(finished.of_stage("featurise").values())),
        "Table 4, nats:",
        markdown(results_table(nats)),
        _factors(nats),
        DIFFERENCES,
    ]
    return "\n\n".join(parts) + "\n"


def results_table(nats: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the nats of every model in training and on both tests, by each denominator."""
    rows = []
    for model, figures in nats.items():
        published = NATS.get(model.removesuffix(STRICT), {})
        row = {"model": model}
        for column in figures.columns:
            part = column.partition(":")[0]
            row.setdefault(f"{part}: paper", f"{published[part]:.2f}" if published else "–")
            row[column] = mean_and_spread(figures[column].tolist(), 2)
        rows.append(row)
    return pd.DataFrame(rows)


def _factors(nats: Mapping[str, pd.DataFrame]) -> str:
    """Say how many times the RNN's perplexity on test1 is that of the best LL-RNN."""
    of_test1 = {"paper": [NATS[model]["test1"] for model in (RNN, BEST)]}
    for ending in ("", STRICT):
        if {RNN + ending, BEST + ending} <= nats.keys():
            ours = [nats[model + ending]["test1: one end"].mean() for model in (RNN, BEST)]
            of_test1[f"ours{ending}"] = ours
    shown = []
    for name, both in of_test1.items():
        rnn, best = np.exp(both)
        shown.append(f"{name} {rnn:.0f} / {best:.0f} = {rnn / best:.2f}")
    return f"Perplexity of the RNN over that of the LL-RNN (2500) on test1: {', '.join(shown)}."


def _nats_by_model(finished: FinishedRun) -> dict[str, pd.DataFrame]:
    """Return the nats of each model, a row for each of its seeds."""
    trained, evaluated = finished.of_stage("train"), finished.of_stage("evaluate")
    return {
        model: pd.DataFrame([_nats(trained[seed], evaluated[seed]) for seed in seeds])
        for model, seeds in by_seed(evaluated).items()
    }


def _nats(trained: Path, evaluated: Path) -> dict[str, float]:
    curve = comparison.read_epochs(trained)
    nats = {"training: one end": curve["train_nats"][curve["valid_nats"].idxmin()]}
    scores = comparison.read_scores(evaluated).set_index(["split", "metric"])["value"]
    for split, part in TESTS.items():
        with_ends, words = scores[split, "nats per word"], scores[split, "words"]
        ends = scores[split, "sentences"]
        nats[f"{part}: one end"] = with_ends
        nats[f"{part}: three boundaries"] = with_ends * (words + ends) / (words + BOUNDARIES * ends)
        nats[f"{part}: none"] = scores[split, "nats per word without ends"]
    return nats
