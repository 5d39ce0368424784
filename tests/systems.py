"""The table of docs/other-systems.md: every system of the field that Accord has.

Meaning and file of a part come from the parts' tables; its source stands here. A test fails when a
part has no source, so that no system is without a row.
"""

from collections.abc import Iterator
from pathlib import Path

from accord.models import parts
from accord.models.common.registry import Registry
from accord.zoo.outputs import EXPERTS, PREFIX_FEATURES

PAGE = Path(__file__).parent.parent / "docs" / "other-systems.md"
BEGIN, END = "<!-- systems: made by `python -m tests.documents --write` -->\n", "<!-- end -->\n"
BAR = "\\|"  # in a cell of a table
TITLES = {
    "encoder": "Encoders",
    "output": "Outputs",
    "expert": "Experts of `output: expert`",
    "feature of the prefix": "Features of the prefix",
    "smoothing": "n-grams: smoothing",
    "history": "n-grams: histories",
    "background": "Backgrounds",
    "input": "Inputs",
    "condition": "Conditions",
    "phase": "Phases of a training",
    "solver": "Solvers",
    "optimiser": "Optimisers",
    "schedule": "Learning rates",
    "loss": "Terms of the loss",
}
# How a configuration chooses a part of each kind.
CHOSEN_BY = {
    "encoder": "train.encoder={}",
    "output": "train.output={}",
    "expert": "train.output={{kind: expert, expert: {}}}",
    "feature of the prefix": "train.output={{kind: prefix-features, features: {}}}",
    "smoothing": "background.smoothing={}",
    "history": "background.history={}",
    "background": "background.kind={}",
    "input": "train.input={}",
    "condition": "train.condition={}",
    "phase": "train.phases={{{}: {{}}}}",
    "solver": "train.solver={}",
    "optimiser": "train.optimiser={}",
    "schedule": "train.schedule={}",
    "loss": "train.losses={{{}: 0.1}}",
}
SOURCES = {
    "encoder": {
        "cascade": "survey §7",
        "cbow": "book §15.1",
        "dilated": "book ch. 13",
        "subsampling": "survey §6.4",
        "hierarchical": "Hwang & Sung 2017",
        "jordan": "survey; Jordan 1986",
        "linear": "paper; book ch. 2",
        "mogrifier": "Melis et al. 2020",
        "elman": "survey; book §15.2",
        "gru": "book §15.3",
        "lstm": "survey §8; book §15.3",
        "irnn": "book §15.4",
        "lstm-window": "survey",
        "reservoir": "survey",
        "scrn": "book §15.4",
        "transformer": "Vaswani et al. 2017",
        "window": "survey; book §9.4",
    },
    "output": {
        "adaptive": "Grave et al. 2017",
        "background": "paper",
        "classes": "survey; book §9.4",
        "tree": "survey; Le et al. 2011",
        "log-linear": "paper §2",
        "expert": "paper",
        "prefix-features": "paper §2.3",
        "sampled-expectations": "paper §2.3",
        "sampled": "book §9.4",
        "noise-contrastive": "book §9.4",
        "softmax": "survey; book §9.4",
        "self-normalised": "book §9.4",
    },
    "expert": {"copy": "paper"},
    "feature of the prefix": {
        "agreement": "paper §2.3",
        "knowledge": "paper",
        "position": "paper §2.3",
    },
    "smoothing": {
        "add-alpha": "book §9.3",
        "jelinek-mercer": "survey; book §9.3",
        "kneser-ney": "survey; book §9.3",
        "witten-bell": "Witten & Bell 1991",
    },
    "history": {
        "classes": "survey; Brown et al. 1992",
        "factored": "Bilmes & Kirchhoff 2003",
        "forest": "survey; Xu & Jelinek 2004",
        "skip": "Goodman 2001",
        "words": "survey; book §9.3",
    },
    "background": {
        "unigram": "paper",
        "uniform": "paper",
        "ngram": "paper §4",
        "arpa": "paper §4",
        "labelled": "paper §4",
        "characters": "paper §4",
    },
    "input": {
        "features": "paper §2; book ch. 8",
        "words": "survey; book §8.1",
        "letters-cnn": "Kim et al. 2016",
        "letters-lstm": "Ling et al. 2015",
    },
    "condition": {
        "none": "paper",
        "input": "book §17.1",
        "crossed": "paper §4",
        "attended": "paper §2.1",
    },
    "phase": {"pretraining": "book ch. 20", "growth": "survey §7", "boosting": "survey §10.1"},
    "solver": {
        "gradient": "survey; book §2.8",
        "least-squares": "survey",
        "evolution": "survey; Schmidhuber et al. 2007",
        "cascade": "survey §7",
        "kalman": "survey §6.5",
    },
    "optimiser": {
        "adamw": "book §5.2",
        "rmsprop": "book §5.2",
        "sgd": "survey; book §2.8",
        "alap": "survey §5.10",
        "muon": "Liu et al. 2025",
    },
    "schedule": {
        "plateau": "survey §5.10",
        "linear": "survey §5.10",
        "inverse": "survey §5.10; book §5.2",
    },
    "loss": {
        "past_decode": "Brahma 2018",
        "activation": "Merity et al. 2017",
        "temporal": "Merity et al. 2017",
        "adaptor": "paper",
        "features": "book ch. 20",
        "fraternal": "Zołna et al. 2018",
    },
}
# Systems that are no part of a table: name, source, file, command.
OTHERS = [
    ("Your own features of the prefix", "paper §2.3", "zoo/outputs.py",
     "--set train.output={kind: prefix-features, features: agree.py:features}"),
    ("Small numbers that fall", "paper §3", "pipeline/data/templates.py",
     "--set featurise.templates=[+number-falling]"),
    ("Lists of topics in b(C, x)", "paper §4", "zoo/backgrounds.py",
     "--set background.kind={kind: labelled, topics: topics.tsv}"),
    ("Reinflection: C is a lemma and its features", "paper §2.1", "zoo/reinflection.py",
     "python -m accord.zoo.reinflection lefff"),
    ("Models that read backwards", "survey §8", "models/inference/torch_model.py",
     "--set train.text=backward"),
    ("Both directions, pseudo-likelihood", "survey §8", "models/inference/torch_model.py",
     "accord combine FORWARD BACKWARD --bidirectional"),
    ("Both directions in rescoring and correction", "survey §8", "pipeline/ask/correct.py",
     "accord rescore --backward, accord correct --backward"),
    ("State carried across sentences", "survey §5.13", "models/data.py",
     "--set train.text=documents"),
    ("Dynamic evaluation", "survey", "zoo/memory.py", "accord score --dynamic 0.1"),
    ("Cache of recent words", "survey", "zoo/memory.py", "accord combine --cache"),
    ("Nearest neighbours (kNN-LM)", "Khandelwal et al. 2020", "zoo/memory.py",
     "accord combine --neighbours"),
    ("Mixtures and ensembles", "survey", "pipeline/study/combine.py", "accord combine"),
    ("Bagging", "survey §10.1", "models/data.py", "--set train.bagging=true"),
    ("Word errors and ranks of competing words", "survey §3", "zoo/lattices.py",
     "accord rescore"),
    ("Perplexity, bits per character", "survey §3; book §9.2", "pipeline/model/metrics.py",
     "accord score, accord run"),
    ("n-best lists and lattices", "survey", "zoo/lattices.py", "accord rescore --make"),
    ("A network as n-grams or an automaton", "survey", "zoo/conversions.py",
     "accord export --to x.arpa"),
    ("Weights set to zero", "survey", "zoo/learning.py", "accord compare --pruned 80"),
    ("Letters and pieces instead of words", "book §9.4", "models/spelling/spelling.py",
     "--set encode.merges=0"),
    ("Feature hashing", "book §13.2", "pipeline/data/templates.py",
     "--set featurise.templates=[hashed, pos]"),
    ("Published word vectors", "book ch. 10", "pipeline/data/word_vectors.py",
     "--set featurise.vectors={source: spacy}"),
    ("Word vectors out", "book ch. 11", "pipeline/ask/vectors.py",
     "accord export --to words.vec"),
    ("Retrofitting to a lexicon", "book ch. 11", "pipeline/ask/vectors.py",
     "accord export --to words.vec --retrofit lemmas"),
    ("Analogies, odd one out, neighbours", "book ch. 11", "pipeline/ask/vectors.py",
     "accord vectors"),
    ("Generation by sampling and beam search", "book §9.5, ch. 17",
     "pipeline/ask/generate.py", "accord generate"),
    ("Dropout of units, words' features and recurrent weights", "book §15.5",
     "models/encoder.py", "--set train.weight_dropout=0.5"),
    ("Distillation", "Hinton et al. 2015", "models/regularisers.py",
     "--set train.teachers={models: [RUN/MODEL]}"),
]  # fmt: skip
OUT_OF_SCOPE = {
    "Structured history of dependencies (survey)": "not built yet: the stage `encode` keeps no "
    "heads, and text without a treebank has none",
    "Recursive networks over trees (book ch. 18)": "a tree of the sentence must be known before "
    "its words are predicted",
    "Structured output: tagging, parsing (book ch. 19)": "other tasks than language modelling; "
    "spaCy and Stanza have them",
    "Document classification, inference (book ch. 7, 12, 16)": "other tasks than language "
    "modelling",
    "Acoustic models (survey)": "recognisers bring their own scores as n-best lists or lattices",
}


def registries() -> dict[str, Registry]:
    """Return every registry of parts, by kind."""
    own = [registry for registry in vars(parts).values() if isinstance(registry, Registry)]
    return {registry.kind: registry for registry in (*own, EXPERTS, PREFIX_FEATURES)}


def without_row() -> list[str]:
    """The parts that have no source here, and sources of parts that are gone."""
    lacking = []
    for kind, registry in registries().items():
        known = SOURCES.get(kind, {})
        lacking += [f"{kind} {name}" for name in {*registry} ^ {*known}]
    return sorted(lacking)


def _rows() -> Iterator[str]:
    for kind, registry in registries().items():
        yield from (f"### {TITLES[kind]}", "")
        yield from (
            "| system | source | meaning | file | `--set` |",
            "| --- | --- | --- | --- | --- |",
        )
        for name in registry:
            part = registry.part(name)
            module = (
                registry.place(name).partition(":")[0].removeprefix("accord.").replace(".", "/")
            )
            chosen = CHOSEN_BY[kind].format(name)
            meaning = part.meaning.replace("|", BAR)
            cells = (
                f"`{name}`",
                SOURCES[kind].get(name, ""),
                meaning,
                f"`{module.replace('.', '/')}.py`",
            )
            yield f"| {' | '.join(cells)} | `{chosen}` |"
        yield ""
    yield from ("### Systems that are settings or commands", "")
    yield from ("| system | source | file | command |", "| --- | --- | --- | --- |")
    for name, source, file, command in OTHERS:
        yield f"| {name} | {source} | `{file}` | `{command}` |"
    yield from ("", "### Not in Accord", "", "| system | reason |", "| --- | --- |")
    yield from (f"| {name} | {reason} |" for name, reason in OUT_OF_SCOPE.items())


def page() -> str:
    """The page with its table written anew."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    table = "\n".join(_rows())
    return f"{before}{BEGIN}\n{table}\n\n{END}{after}"
