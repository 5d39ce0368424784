"""The table of docs/other-systems.md: every system of the field that Accord has.

Meaning and file of a part come from the parts' tables; its source stands in data/systems.csv.
A test fails when a part has no source, so that no system is without a row.
"""

import csv
from collections.abc import Iterator
from pathlib import Path

from accord.models import parts
from accord.models.common.registry import Registry
from accord.zoo.outputs import EXPERTS, PREFIX_FEATURES

PAGE = Path(__file__).parent.parent / "docs" / "other-systems.md"
BEGIN, END = "<!-- systems: made by `python -m tests.documents --write` -->\n", "<!-- end -->\n"
BAR = "\\|"  # in a cell of a table
# Of each kind of part its title, and how a configuration chooses one.
KINDS = {
    "encoder": ("Encoders", "train.encoder={}"),
    "output": ("Outputs", "train.output={}"),
    "expert": ("Experts of `output: expert`", "train.output={{kind: expert, expert: {}}}"),
    "feature of the prefix": (
        "Features of the prefix",
        "train.output={{kind: prefix-features, features: {}}}",
    ),
    "smoothing": ("n-grams: smoothing", "background.smoothing={}"),
    "history": ("n-grams: histories", "background.history={}"),
    "background": ("Backgrounds", "background.kind={}"),
    "input": ("Inputs", "train.input={}"),
    "condition": ("Conditions", "train.condition={}"),
    "phase": ("Phases of a training", "train.phases={{{}: {{}}}}"),
    "solver": ("Solvers", "train.solver={}"),
    "optimiser": ("Optimisers", "train.optimiser={}"),
    "schedule": ("Learning rates", "train.schedule={}"),
    "loss": ("Terms of the loss", "train.losses={{{}: 0.1}}"),
}
SOURCES: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}
with (Path(__file__).parent / "data" / "systems.csv").open(encoding="utf-8") as file:
    for row in csv.DictReader(file):
        SOURCES[row["kind"]][row["name"]] = row["source"]
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
    ("Letters and pieces instead of words", "book §9.4", "models/spelling.py",
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
        title, chosen = KINDS[kind]
        yield from (f"### {title}", "")
        yield from (
            "| system | source | meaning | file | `--set` |",
            "| --- | --- | --- | --- | --- |",
        )
        for name in registry:
            part = registry.part(name)
            module = (
                registry.place(name).partition(":")[0].removeprefix("accord.").replace(".", "/")
            )
            meaning = part.meaning.replace("|", BAR)
            cells = (
                f"`{name}`",
                SOURCES[kind].get(name, ""),
                meaning,
                f"`{module.replace('.', '/')}.py`",
            )
            yield f"| {' | '.join(cells)} | `{chosen.format(name)}` |"
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
